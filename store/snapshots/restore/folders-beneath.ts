// Reaches what lies below a folder without following a link: each folder on the way is opened in
// the one above it, and names are looked up in the open folder. Whoever swaps a folder for a link
// meanwhile leads nothing elsewhere.
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import { hasProc } from '../../../system/process/proc.ts';
import { codeOf } from '../../../system/text.ts';
import { syncData } from '../git-objects.ts';
import { bytesOf, type RawPath, showPath } from '../listing.ts';

const FOLDER = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;
const ABSENT: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'ELOOP'];

/** Says that something was put in the place of a folder while it was used. */
export class SwappedProblem extends Error {
  override readonly name = 'SwappedProblem';

  constructor(path: RawPath) {
    super(`${path === '' ? 'the folder' : showPath(path)} was replaced by something else while files were written`);
  }
}

type OpenFolder = { readonly path: RawPath; readonly fd: number };

export class FoldersBeneath {
  readonly #root: Buffer;
  /** The root, and the folders on the way to the one that was asked for last. */
  readonly #open: OpenFolder[];

  /** `root` is an absolute real path. Throws the system's error. */
  constructor(root: string) {
    this.#root = Buffer.from(root === '/' ? '' : root);
    this.#open = [{ path: '', fd: openSync(root, FOLDER) }];
    this.requireAt('');
  }

  close(): void {
    for (const { fd } of this.#open.splice(0)) closeSync(fd);
  }

  /** Tells whether a folder is there; a link to one doesn't count. */
  has(path: RawPath): boolean {
    try {
      this.#enter(path);
      return true;
    } catch (error) {
      if (ABSENT.includes(codeOf(error))) return false;
      throw error;
    }
  }

  /** Returns the descriptor of a folder. Throws the system's error. */
  fdOf(path: RawPath): number {
    return this.#enter(path).fd;
  }

  /** Lists a folder; nothing where it is not there. */
  list(path: RawPath): readonly RawPath[] {
    if (!this.has(path)) return [];
    this.requireAt(path);
    const place = hasProc ? bytesOf(`/proc/self/fd/${this.fdOf(path)}`) : this.#placeOf(path);
    return readdirSync(place, 'latin1').map((name) => (path === '' ? name : `${path}/${name}`));
  }

  /** Returns the state of an entry; null without one. */
  look(path: RawPath): Stats | null {
    return this.has(folderOf(path)) ? (lstatSync(this.entry(path), { throwIfNoEntry: false }) ?? null) : null;
  }

  /**
   * Makes the folders on the way to a folder, and it, where they are missing; `onMade` is called
   * with each that was, and its descriptor. Throws the system's error.
   */
  make(path: RawPath, beforeMade: (path: RawPath) => void, onMade: (path: RawPath, fd: number) => void): void {
    // One that was opened is looked at again when an entry of it is used.
    if (this.#last().path === path) return;
    for (let end = path.indexOf('/'); ; end = path.indexOf('/', end + 1)) {
      const at = end < 0 ? path : path.slice(0, end);
      if (at !== '' && !this.has(at)) {
        beforeMade(at);
        mkdirSync(this.entry(at));
        onMade(at, this.#enter(at).fd);
      }
      if (end < 0) return;
    }
  }

  /**
   * Names an entry so that the name holds even if a folder is renamed or replaced. Throws where its
   * folder is not there, or no longer in its place.
   */
  entry(path: RawPath): Buffer {
    const { path: folder, fd } = this.#enter(folderOf(path));
    this.requireAt(folder);
    const name = path.slice(path.lastIndexOf('/') + 1);
    return hasProc ? bytesOf(`/proc/self/fd/${fd}/${name}`) : this.#placeOf(path);
  }

  /** Throws SwappedProblem for the open folder when it is no longer at its path. */
  requireAt(path: RawPath): void {
    const { fd } = this.#open.find((folder) => folder.path === path) ?? this.#enter(path);
    if (!this.#isAt(path, fd)) throw new SwappedProblem(path);
  }

  #isAt(path: RawPath, fd: number): boolean {
    if (hasProc) return readlinkSync(`/proc/self/fd/${fd}`, 'buffer').equals(this.#placeOf(path));
    const there = lstatSync(this.#placeOf(path), { throwIfNoEntry: false });
    const { dev, ino } = fstatSync(fd);
    return there?.isDirectory() === true && there.dev === dev && there.ino === ino;
  }

  #placeOf(path: RawPath): Buffer {
    const isTop = path === '' && this.#root.length > 0;
    return isTop ? this.#root : Buffer.concat([this.#root, bytesOf(`/${path}`)]);
  }

  #enter(path: RawPath): OpenFolder {
    const isOnTheWay = (folder: OpenFolder): boolean =>
      folder.path === '' || folder.path === path || path.startsWith(`${folder.path}/`);
    while (!isOnTheWay(this.#last())) closeSync((this.#open.pop() as OpenFolder).fd);
    while (this.#last().path !== path) {
      const above = this.#last();
      const end = path.indexOf('/', above.path === '' ? 0 : above.path.length + 1);
      const next = end < 0 ? path : path.slice(0, end);
      const name = next.slice(next.lastIndexOf('/') + 1);
      if (!hasProc) this.requireAt(above.path);
      const place = hasProc ? bytesOf(`/proc/self/fd/${above.fd}/${name}`) : this.#placeOf(next);
      this.#open.push({ path: next, fd: openSync(place, FOLDER) });
    }
    return this.#last();
  }

  #last(): OpenFolder {
    return this.#open.at(-1) as OpenFolder;
  }
}

export const folderOf = (path: RawPath): RawPath => path.slice(0, Math.max(0, path.lastIndexOf('/')));

// Removes a file below a folder, and follows no link on the way to it.
/** Removes a file, where it is there. */
export function removeFile(folders: FoldersBeneath, path: RawPath): void {
  if (folders.look(path) === null) return;
  try {
    unlinkSync(folders.entry(path));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

// Syncs what a restore writes to disk before it ends, as with `write`: many files at once, because
// waiting for one after the other would take several times as long as all the rest.
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
