// How bytes reach the disk: two waits, whatever is written. Invariants:
// 1 A file gets a name only after its bytes are flushed: what is found under a name was whole when it was written.
// 2 A write is acknowledged only after the folders with its names are flushed.
// 3 A step is one file under the names of its record and of its values: no record is ever without their bytes, whichever names
//   a power cut spares. Who finds the record sees to the other names before it answers.
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import type { Files } from './files.ts';
import type { Folders } from './folders.ts';
import { settle } from './settle.ts';
import { isErrno } from './store-errors.ts';

export type FileWrites = {
  /** Flushes `bytes`; `name` then gives the temp file names among `paths`, which are durable when this resolves to true. */
  write(
    paths: readonly string[],
    bytes: Uint8Array,
    name: (temp: string) => Promise<boolean> | boolean,
  ): Promise<boolean>;
  /** The names in the folders of `paths` are durable. */
  flushNames(paths: readonly string[]): Promise<void>;
  /** Gives `from` the name `path`; false when it is taken. */
  link(from: string, path: string): boolean;
  /** Gives `from` the name `path`, also when it is taken. */
  replace(from: string, path: string): void;
};

export function createFileWrites(files: Files, folders: Folders, tempFolder: string): FileWrites {
  const newTemp = (): string => `${tempFolder}/${process.pid}-${randomUUID()}`;

  const stage = async (temp: string, bytes: Uint8Array, inFolders: readonly string[]): Promise<void> => {
    const descriptor = await files.write(temp, bytes);
    try {
      await settle([files.flush(descriptor), ...inFolders.map((folder) => folders.ensure(folder))]);
    } finally {
      files.close(descriptor);
    }
  };

  const flushNames = async (paths: readonly string[]): Promise<void> => {
    await settle(foldersOf(paths).map((folder) => files.flushFolder(folder)));
  };

  return {
    write: async (paths, bytes, name) => {
      const temp = newTemp();
      try {
        await stage(temp, bytes, foldersOf(paths));
        if (!(await name(temp))) return false;
        await flushNames(paths);
        return true;
      } finally {
        removeTemp(files, temp);
      }
    },
    flushNames,
    link: (from, path) => linked(files, from, path),
    replace: (from, path) => {
      const temp = newTemp();
      files.link(from, temp);
      try {
        files.rename(temp, path);
      } catch (error) {
        removeTemp(files, temp);
        throw error;
      }
    },
  };
}

function foldersOf(paths: readonly string[]): string[] {
  return [...new Set(paths.map((path) => dirname(path)))];
}

function linked(files: Files, from: string, to: string): boolean {
  try {
    files.link(from, to);
    return true;
  } catch (error) {
    if (isErrno(error) && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Best effort: a temp file left behind is removed when it is a day old. */
function removeTemp(files: Files, temp: string): void {
  try {
    files.unlink(temp);
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}
