// Remembers the empty folders that others have made (T7): a rewind leaves them, and the snapshot that
// is taken after it has them, as it has those of the session.
import { join } from 'node:path';
import { parseFolders } from '../empty-folders.ts';
import type { RawPath } from '../listing.ts';
import { readText, replaceFile } from '../saved-files.ts';

type EmptyFolders = {
  /** Those that the session knows, those that are there, and those that are to be there. */
  readonly known: readonly RawPath[];
  readonly now: readonly RawPath[];
  readonly toBe: readonly RawPath[];
};

export class OthersFolders {
  readonly #path: string;
  readonly #folders: ReadonlySet<RawPath>;

  /** `own` is the session's own folder for the one that goes back. */
  constructor(own: string) {
    this.#path = join(own, 'others-folders');
    this.#folders = new Set(parseFolders(readText(this.#path) ?? ''));
  }

  has(folder: RawPath): boolean {
    return this.#folders.has(folder);
  }

  /** Adds those that came after the session last looked, and forgets those that are gone. */
  note({ known, now, toBe }: EmptyFolders): void {
    const own = new Set([...known, ...toBe]);
    const others = now.filter((folder) => this.#folders.has(folder) || !own.has(folder));
    const isSame = others.length === this.#folders.size && others.every((folder) => this.#folders.has(folder));
    if (!isSame) replaceFile(this.#path, others.join('\0'));
  }
}
