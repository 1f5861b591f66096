// Orders what a restore does to a folder (T7): a file that stands where a folder is to be goes
// first, and the other deletions come last, so that a file which moved is never in neither place.
import { foldersOf, type RawPath } from '../listing.ts';

export type RestoreLists = {
  readonly written: readonly RawPath[];
  readonly deleted: readonly RawPath[];
  /** Folders without files, as they are now and as they are to be, without a slash at the end. */
  readonly emptyNow: readonly RawPath[];
  readonly emptyThen: readonly RawPath[];
};

/** All lists are in the order in which they are worked off. */
export type RestoreOrder = {
  readonly first: readonly RawPath[];
  /** Folders where a file is to be, and those below them: they must be empty by then. */
  readonly emptied: readonly RawPath[];
  readonly written: readonly RawPath[];
  readonly last: readonly RawPath[];
  /** Folders that go if nothing lies in them any longer. */
  readonly left: readonly RawPath[];
  readonly made: readonly RawPath[];
  /** Where nothing but a folder, or a file that goes, may be before anything is written. */
  readonly ways: readonly RawPath[];
};

export function orderRestore({ written, deleted, emptyNow, emptyThen }: RestoreLists): RestoreOrder {
  const filesToBe = new Set(written);
  const isBelowFile = (path: RawPath): boolean => foldersOf(path).some((folder) => filesToBe.has(folder));
  const newFolders = emptyThen.filter((folder) => !filesToBe.has(folder) && !isBelowFile(folder)).toSorted();
  const foldersToBe = new Set([...written, ...newFolders].flatMap(foldersOf));
  for (const folder of newFolders) foldersToBe.add(folder);
  const isFirst = (path: RawPath): boolean => foldersToBe.has(path) || isBelowFile(path);
  const around = new Set(deleted.flatMap(foldersOf));
  for (const folder of emptyNow) for (const path of [folder, ...foldersOf(folder)]) around.add(path);
  const goes = deepestFirst([...around].filter((folder) => !foldersToBe.has(folder)));
  const isReplaced = (folder: RawPath): boolean => filesToBe.has(folder) || isBelowFile(folder);
  return {
    first: deleted.filter(isFirst),
    emptied: goes.filter(isReplaced),
    written: written.toSorted(),
    last: deleted.filter((path) => !isFirst(path)),
    left: goes.filter((folder) => !isReplaced(folder)),
    made: newFolders,
    ways: [...foldersToBe].toSorted(),
  };
}

const depthOf = (path: RawPath): number => path.split('/').length;

const deepestFirst = (folders: readonly RawPath[]): readonly RawPath[] =>
  folders.toSorted((a, b) => depthOf(b) - depthOf(a));
