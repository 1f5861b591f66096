// Syncs what a restore writes to disk before it ends, as with `write`: many files at once, because
// waiting for one after the other would take several times as long as all the rest.
import { closeSync, fsyncSync } from 'node:fs';
import { codeOf } from '../../../system/text.ts';
import { syncData } from '../git-objects.ts';
import type { RawPath } from '../listing.ts';
import type { FoldersBeneath } from './folders-beneath.ts';

/** Files that are open at once. */
const MOST_OPEN = 64;
/** Some file systems sync no folders. */
const UNABLE: readonly (string | undefined)[] = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES', 'EPERM'];

export class UnsyncedFiles {
  #open: number[] = [];

  /** Takes over an open file. Rejects with the system's error for any of those before. */
  async add(fd: number): Promise<void> {
    this.#open.push(fd);
    if (this.#open.length >= MOST_OPEN) await this.sync();
  }

  /** Waits for the disk, and closes the files. Rejects with the system's error. */
  async sync(): Promise<void> {
    const synced = await Promise.allSettled(this.#open.map((fd) => syncData(fd)));
    this.close();
    for (const one of synced) if (one.status === 'rejected') throw one.reason;
  }

  /** Closes the files without waiting for the disk. */
  close(): void {
    for (const fd of this.#open.splice(0)) closeSync(fd);
  }
}

/** Waits for the names in these folders, as far as they are there. Throws the system's error. */
export function syncFolders(folders: FoldersBeneath, paths: Iterable<RawPath>): void {
  for (const path of new Set(paths)) {
    if (!folders.has(path)) continue;
    try {
      fsyncSync(folders.fdOf(path));
    } catch (error) {
      if (!UNABLE.includes(codeOf(error))) throw error;
    }
  }
}
