// How bytes reach the disk. Invariants:
// 1 A file gets its name only after its bytes are flushed: what is found under a name was whole when it was written.
// 2 A write is acknowledged only after the folder with the name is flushed.
// 3 A record's name appears only after every blob of its step is acknowledged.
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import type { Files } from './files.ts';
import type { Folders } from './folders.ts';
import { settle } from './settle.ts';
import { isErrno } from './store-errors.ts';

/** Flushed bytes without a name. */
export type Staged<T> = {
  /** Gives them their name, durably. */
  place(): Promise<T>;
  /** Removes what is left in the temp folder; always call it. */
  discard(): void;
};

export type FileWrites = {
  /** Replaces what is under `path`: for values that can only be the same bytes, or damaged. */
  stageBlob(path: string, bytes: Uint8Array): Promise<Staged<void>>;
  /** `place` tells whether `path` was free; what was there stays. */
  stageRecord(path: string, bytes: Uint8Array): Promise<Staged<boolean>>;
};

export function createFileWrites(files: Files, folders: Folders, tempFolder: string): FileWrites {
  const stage = async (path: string, bytes: Uint8Array): Promise<string> => {
    const temp = `${tempFolder}/${process.pid}-${randomUUID()}`;
    try {
      const descriptor = await files.write(temp, bytes);
      try {
        await settle([files.flush(descriptor), folders.ensure(dirname(path))]);
      } finally {
        files.close(descriptor);
      }
      return temp;
    } catch (error) {
      removeTemp(files, temp);
      throw error;
    }
  };

  return {
    stageBlob: async (path, bytes) => {
      const temp = await stage(path, bytes);
      let placed = false;
      const place = async (): Promise<void> => {
        files.rename(temp, path);
        placed = true;
        await files.flushFolder(dirname(path));
      };
      return { place, discard: () => (placed ? undefined : removeTemp(files, temp)) };
    },
    stageRecord: async (path, bytes) => {
      const temp = await stage(path, bytes);
      const place = async (): Promise<boolean> => {
        const free = linked(files, temp, path);
        if (free) await files.flushFolder(dirname(path));
        return free;
      };
      return { place, discard: () => removeTemp(files, temp) };
    },
  };
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
