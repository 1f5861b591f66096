// Knows the files of a folder that have several names (hard links). The system reports a change
// only in the folder of the name by which it was made, so these files are checked each time.
import type { Stats } from 'node:fs';
import type { RawPath } from './listing.ts';

type Names<Folder> = ReadonlyMap<Folder, ReadonlySet<RawPath>>;

export class LinkedFiles<Folder> {
  #names = new Map<Folder, Set<RawPath>>();
  #before: Names<Folder> | null = null;
  #hasNew = false;

  /** A name that is new is one of a file whose other names, which are older, were not looked at. */
  get hasNew(): boolean {
    return this.#hasNew;
  }

  /** Begins a look at everything. */
  restart(): void {
    [this.#names, this.#before, this.#hasNew] = [new Map(), null, false];
  }

  /** Begins a look at changes alone, and returns the names that are to be looked at besides. */
  lookAgain(): Names<Folder> {
    [this.#before, this.#names, this.#hasNew] = [this.#names, new Map(), false];
    return this.#before;
  }

  note(folder: Folder, name: RawPath, stats: Stats): void {
    if (stats.nlink < 2 || !stats.isFile()) return;
    const names = this.#names.get(folder) ?? new Set();
    this.#names.set(folder, names.add(name));
    if (this.#before && this.#before.get(folder)?.has(name) !== true) this.#hasNew = true;
  }
}
