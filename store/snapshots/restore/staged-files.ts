// Makes the temporary files of many files at once, empty and with the attributes of those that they
// are to replace: starting a program for each would take longer than all the rest of a restore.
// They lie in a folder of their own until they are used.
import { closeSync, constants, fstatSync, mkdirSync, openSync, renameSync, rmdirSync } from 'node:fs';
import { copyInto, runCp } from '../../../system/process/keep-attributes.ts';
import { codeOf } from '../../../system/text.ts';
import type { RawPath } from '../listing.ts';
import { type FoldersBeneath, removeFile } from './folders-beneath.ts';

/** Files that are open at once. */
const MOST_OPEN = 64;

type Staged = { readonly path: RawPath; readonly dev: number; readonly ino: number };

export class StagedFiles {
  readonly #folders: FoldersBeneath;
  /** Reaches the folder of its own: a rename names two folders that are open at once. */
  readonly #own: FoldersBeneath;
  readonly #folder: RawPath;
  readonly #onMade: (path: RawPath) => void;
  readonly #staged = new Map<RawPath, Staged>();
  #waiting: readonly RawPath[] = [];

  /** `folder` is the name of the folder for them, which is made when it is needed. */
  constructor(
    { folders, own }: { readonly folders: FoldersBeneath; readonly own: FoldersBeneath },
    folder: RawPath,
    onMade: (path: RawPath) => void,
  ) {
    this.#folders = folders;
    this.#own = own;
    this.#folder = folder;
    this.#onMade = onMade;
  }

  /** Tells which files are to be replaced, in the order in which they will be asked for. */
  expect(paths: readonly RawPath[]): void {
    this.#waiting = paths;
  }

  /**
   * Puts the temporary file for a file in its place, and tells whether it is there: one that could
   * not be made before, or is for another file than now, is not.
   */
  async take(path: RawPath, { dev, ino }: Pick<Staged, 'dev' | 'ino'>, to: RawPath): Promise<boolean> {
    if (!this.#staged.has(path)) await this.#stage(this.#waiting.indexOf(path));
    const staged = this.#staged.get(path);
    this.#staged.delete(path);
    if (staged?.ino !== ino || staged.dev !== dev) return false;
    try {
      renameSync(this.#own.entry(staged.path), this.#folders.entry(to));
      return true;
    } catch (error) {
      // A disk of its own may be mounted there.
      if (codeOf(error) === 'EXDEV') return false;
      throw error;
    }
  }

  /** Removes what was not used. */
  clear(): void {
    clearStaged(this.#own, this.#folder);
  }

  async #stage(from: number): Promise<void> {
    if (from < 0) return;
    const paths = this.#waiting.slice(from, from + MOST_OPEN);
    this.#waiting = this.#waiting.slice(from + MOST_OPEN);
    const open = paths.flatMap((path) => this.#open(path) ?? []);
    try {
      if (open.length === 0 || !this.#make()) return;
      clearFolder(this.#own, this.#folder);
      const others = open.map(({ fd }) => fd);
      const names = await copyInto(runCp('cp', process.env), this.#own.fdOf(this.#folder), others);
      for (const [at, { path, fd }] of open.entries()) {
        const { dev, ino } = fstatSync(fd);
        const name = names?.[at];
        if (name !== undefined) this.#staged.set(path, { path: `${this.#folder}/${name}`, dev, ino });
      }
    } finally {
      for (const { fd } of open) closeSync(fd);
    }
  }

  /** Returns null for an entry that isn't a file, or may not be read. */
  #open(path: RawPath): { readonly path: RawPath; readonly fd: number } | null {
    if (this.#folders.look(path)?.isFile() !== true) return null;
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    try {
      return { path, fd: openSync(this.#folders.entry(path), flags) };
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      return null;
    }
  }

  /** Tells whether the folder is there: in one that may not be written none can be. */
  #make(): boolean {
    if (this.#own.has(this.#folder)) return true;
    this.#onMade(this.#folder);
    try {
      mkdirSync(this.#own.entry(this.#folder), 0o700);
      return true;
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      return false;
    }
  }
}

/** Removes the folder with all that lies in it. */
export function clearStaged(folders: FoldersBeneath, folder: RawPath): void {
  if (!folders.has(folder)) return;
  clearFolder(folders, folder);
  rmdirSync(folders.entry(folder));
}

function clearFolder(folders: FoldersBeneath, folder: RawPath): void {
  for (const path of folders.list(folder)) removeFile(folders, path);
}
