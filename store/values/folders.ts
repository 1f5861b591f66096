// Makes each folder of the store once, durably, and remembers it: its name is on disk before
// anything in it is acknowledged.
import { dirname } from 'node:path';
import type { Files } from './file-io.ts';

export type Folders = {
  /** Makes the folder `path`, which lies under the root, durably. */
  ensure(path: string): Promise<void>;
};

/**
 * The most folders that are remembered: sessions come and go, and forgetting a folder costs one
 * flush.
 */
const REMEMBERED = 10_000;

export function createFolders(files: Files, root: string): Folders {
  const known = new Map<string, Promise<void>>();

  const make = async (path: string): Promise<void> => {
    const parent = dirname(path);
    await ensure(parent);
    files.makeFolder(path);
    await files.flushFolder(parent);
  };

  const ensure = (path: string): Promise<void> => {
    if (path === root) return Promise.resolve();
    const before = known.get(path);
    if (before) return before;
    if (known.size >= REMEMBERED) known.clear();
    const pending = make(path).catch((error: unknown) => {
      known.delete(path);
      throw error;
    });
    known.set(path, pending);
    return pending;
  };

  return { ensure };
}
