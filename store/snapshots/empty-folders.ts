// The empty folders of a snapshot. Another machine may have written the list: only names below the
// folder count.
import { namesIn, type RawPath } from './listing.ts';

/** Parses a list of folders, and returns them without a slash at the end. */
export function parseFolders(list: string): readonly RawPath[] {
  return namesIn(list)
    .map((folder) => (folder.endsWith('/') ? folder.slice(0, -1) : folder))
    .filter(isBelow);
}

/** Tells whether a path lies below the folder that it begins in, and in no repository's own one. */
export function isBelow(path: RawPath): boolean {
  return path.split('/').every((part) => !['', '.', '..', '.git'].includes(part.toLowerCase()));
}
