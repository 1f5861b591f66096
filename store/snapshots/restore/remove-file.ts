// Removes a file below a folder, and follows no link on the way to it.
import { unlinkSync } from 'node:fs';
import { codeOf } from '../../../system/text.ts';
import type { RawPath } from '../listing.ts';
import type { FoldersBeneath } from './folders-beneath.ts';

/** Removes a file, where it is there. */
export function removeFile(folders: FoldersBeneath, path: RawPath): void {
  if (folders.look(path) === null) return;
  try {
    unlinkSync(folders.entry(path));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
