// A folder in which files are looked at, written and deleted by the names that snapshots have. Each
// step goes through an open folder, so that no link leads out of it, whatever is swapped meanwhile.
import { constants, type Stats } from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
} from 'node:fs/promises';
import { isBelow } from '../../../store/snapshots/read-notes.ts';
import { startObjectHash } from '../../../store/snapshots/git-objects.ts';
import { bytesOf, foldersOf, type RawPath } from '../../../store/snapshots/listing.ts';
import { ownTemporaryName, writerOf } from '../../../store/snapshots/restore/temporary-names.ts';
import { type PermissionsNote, permissionsAt } from '../../../store/snapshots/snapshot-notes.ts';
import { startTimeOf } from '../../../system/process/identity.ts';
import { hasProc } from '../../../system/process/proc.ts';
import type { Programs } from '../../../system/process/programs.ts';
import { codeOf } from '../../../system/text.ts';
import { copyBy, isReplacingRefused, keepAttributes, runCp } from '../../../system/process/keep-attributes.ts';

export const LINK_MODE = '120000';
const PROGRAM = '100755';

/** A file with the hash of its content as git has it, or a link with that of its target. */
export type CheckoutFile = { readonly mode: string; readonly blob: string; readonly isText: boolean };

/** `blocked`: a link or a file is in the way, or a folder in its place. */
export type Look = (CheckoutFile & { readonly stats: Stats }) | null | 'blocked';

/** The outcome of a change: `changed_here` is a file that differs from when it was looked at. */
export type Change = 'done' | 'changed_here' | 'blocked';

type NewFile = {
  readonly path: RawPath;
  readonly mode: string;
  readonly content: Buffer;
  /** The file as it was looked at; null where there was none. */
  readonly before: Stats | null;
  /** New files and folders are no more open than it says; absent: as the umask has them. */
  readonly permissions?: PermissionsNote | undefined;
};

const NEVER_FOLLOW = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | NEVER_FOLLOW;
/** Something else is in the place of a folder or a file. */
const IN_THE_WAY: readonly (string | undefined)[] = ['ENOTDIR', 'ELOOP', 'EISDIR', 'ENOTEMPTY', 'EEXIST'];

/** Folders on the way are made. */
type Making = Pick<NewFile, 'permissions'>;

type OpenFolder = { readonly handle: FileHandle; readonly path: Buffer };

export class CheckoutFolder {
  readonly #root: string;
  readonly #programs: Programs;
  /** Folders in which nothing is left of a process that was killed. */
  readonly #cleared = new Set<string>();

  /** `root` is an absolute real path. */
  constructor(root: string, programs: Programs) {
    this.#root = root;
    this.#programs = programs;
  }

  /** Looks at a file. `deleted` are paths about to go: they block nothing. */
  async look(path: RawPath, deleted: ReadonlySet<RawPath>): Promise<Look> {
    if (!isBelow(path)) return 'blocked';
    try {
      return await this.#inFolderOf(path, false, (entry) => lookAt(entry));
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENOENT') return null;
      if (!IN_THE_WAY.includes(code)) throw error;
      const isLeaving = deleted.has(path) || foldersOf(path).some((above) => deleted.has(above));
      return isLeaving || [...deleted].some((other) => other.startsWith(`${path}/`)) ? null : 'blocked';
    }
  }

  /** Reads a file that was looked at; null once it's something else. */
  async read(path: RawPath): Promise<Buffer | null> {
    try {
      return await this.#inFolderOf(path, false, (entry) =>
        withFile(entry, constants.O_RDONLY, (file) => file.readFile()),
      );
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || IN_THE_WAY.includes(codeOf(error))) return null;
      throw error;
    }
  }

  /** Deletes a file, and the folders that it leaves empty. */
  async remove(path: RawPath, before: Stats): Promise<Change> {
    const change = await this.#change(path, false, async (entry) => {
      if (!isUnchanged(await lookOnce(entry), before)) return 'changed_here';
      await unlink(entry);
      return 'done';
    });
    if (change !== 'done') return change;
    for (const folder of foldersOf(path)) {
      const isGone = await this.#inFolderOf(folder, false, (entry) => rmdir(entry)).then(
        () => true,
        () => false,
      );
      if (!isGone) break;
    }
    return 'done';
  }

  /**
   * Writes a file whole or not at all. One that takes the place of another keeps what `write` keeps
   * of it: owner, group, access list and extended attributes, and the mode but for its being a
   * program.
   */
  async write(file: NewFile): Promise<Change> {
    const { path, mode, content, before, permissions } = file;
    return await this.#change(path, { permissions }, async (entry, folder) => {
      await this.#clearLeft(folder);
      const temporary = entryIn(folder, Buffer.from(ownTemporaryName('apply')));
      try {
        const isLike = mode === LINK_MODE || (await this.#fill(temporary, { ...file, entry }));
        if (mode === LINK_MODE) await symlink(content, temporary);
        if (!isUnchanged(await lookOnce(entry), before)) return 'changed_here';
        if (isLike) {
          await rename(temporary, entry);
          return 'done';
        }
      } catch (error) {
        if (before?.isFile() !== true || mode === LINK_MODE || !isReplacingRefused(error)) throw error;
      } finally {
        await rm(temporary, { force: true });
      }
      return await overwrite(entry, { mode, content, before: before as Stats });
    });
  }

  /** Removes what an earlier process was writing in a folder when it was killed. */
  async #clearLeft(folder: OpenFolder): Promise<void> {
    const path = folder.path.toString('latin1');
    if (this.#cleared.has(path)) return;
    this.#cleared.add(path);
    for (const name of await readdir(entryIn(folder, Buffer.from('.')), 'latin1')) {
      const writer = writerOf(name);
      if (writer !== null && startTimeOf(writer) === null)
        await rm(entryIn(folder, Buffer.from(name)), { force: true });
    }
  }

  /** Tells whether the new file has the attributes of the one whose place it takes. */
  async #fill(
    temporary: Buffer,
    { entry, path, mode, content, before, permissions }: NewFile & { readonly entry: Buffer },
  ): Promise<boolean> {
    const isReplacing = before?.isFile() === true;
    const usual = mode === PROGRAM ? 0o777 : 0o666;
    const first = (permissions && permissionsAt(permissions, path, mode)) ?? usual;
    const to = await open(temporary, 'wx', isReplacing ? 0o600 : first);
    try {
      await to.writeFile(content);
      if (!isReplacing) return true;
      const isLike = await withFile(entry, constants.O_RDONLY, async (from) => {
        const copyAll = copyBy(runCp(this.#programs.at('cp'), this.#programs.environment()));
        return await keepAttributes(copyAll, { from: from.fd, had: before, to: to.fd });
      });
      if (isLike) await to.chmod(modeLike(before, mode));
      return isLike;
    } finally {
      await to.close();
    }
  }

  async #change(
    path: RawPath,
    makes: Making | false,
    act: (entry: Buffer, folder: OpenFolder) => Promise<Change>,
  ): Promise<Change> {
    try {
      return await this.#inFolderOf(path, makes, act);
    } catch (error) {
      if (IN_THE_WAY.includes(codeOf(error))) return 'blocked';
      if (codeOf(error) === 'ENOENT') return 'changed_here';
      throw error;
    }
  }

  /** Opens the folders to a path one inside the other, and passes the path's name in the last. */
  async #inFolderOf<T>(
    path: RawPath,
    makes: Making | false,
    act: (entry: Buffer, folder: OpenFolder) => Promise<T>,
  ): Promise<T> {
    const above = foldersOf(path).toReversed();
    const names = path.split('/').map(bytesOf);
    let folder: OpenFolder = { handle: await open(this.#root, FOLDER), path: Buffer.from(this.#root) };
    try {
      for (const [at, name] of names.slice(0, -1).entries()) {
        const entry = entryIn(folder, name);
        if (makes) await makeFolder(entry, makes, above[at] ?? '');
        const below = { handle: await open(entry, FOLDER), path: joinPath(folder.path, name) };
        await folder.handle.close();
        folder = below;
      }
      return await act(entryIn(folder, names.at(-1) as Buffer), folder);
    } finally {
      await folder.handle.close();
    }
  }
}

const joinPath = (folder: Buffer, name: Buffer): Buffer => Buffer.concat([folder, Buffer.from('/'), name]);

/** Names an entry so that it stays in this folder. Without /proc, its path must do. */
const entryIn = ({ handle, path }: OpenFolder, name: Buffer): Buffer =>
  joinPath(hasProc ? Buffer.from(`/proc/self/fd/${handle.fd}`) : path, name);

/** Its owner may write there: files are yet to be put into it. */
async function makeFolder(entry: Buffer, { permissions }: Making, path: RawPath): Promise<void> {
  const mode = (permissions && permissionsAt(permissions, path, 'folder')) ?? 0o777;
  await mkdir(entry, (mode & 0o777) | 0o700).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
}

async function withFile<T>(entry: Buffer, flags: number, act: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(entry, flags | NEVER_FOLLOW);
  try {
    return await act(file);
  } finally {
    await file.close();
  }
}

async function lookOnce(entry: Buffer): Promise<Stats | null> {
  return await lstat(entry).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
}

async function lookAt(entry: Buffer): Promise<Look> {
  const stats = await lstat(entry);
  if (stats.isSymbolicLink()) {
    const target = await readlink(entry, 'buffer');
    return {
      mode: LINK_MODE,
      blob: startObjectHash('blob', target.length).update(target).digest('hex'),
      isText: false,
      stats,
    };
  }
  // The caller decides about a folder as about what is in the way.
  if (stats.isDirectory()) throw Object.assign(new Error('a folder is in its place'), { code: 'EISDIR' });
  if (!stats.isFile()) return 'blocked';
  return await withFile(entry, constants.O_RDONLY, async (file) => {
    const hash = startObjectHash('blob', stats.size);
    let isText = true;
    for await (const bytes of file.createReadStream({ autoClose: false })) {
      hash.update(bytes as Buffer);
      isText &&= !(bytes as Buffer).includes(0);
    }
    return { mode: (stats.mode & 0o100) === 0 ? '100644' : PROGRAM, blob: hash.digest('hex'), isText, stats };
  });
}

function isUnchanged(now: Stats | null, then: Stats | null): boolean {
  if (now === null || then === null) return now === then;
  return now.ino === then.ino && now.dev === then.dev && now.size === then.size && now.mtimeMs === then.mtimeMs;
}

/** Who may read it may run it. */
function modeLike({ mode }: Stats, wanted: string): number {
  const own = mode & 0o7777;
  if (wanted === PROGRAM) return (own & 0o100) === 0 ? own | ((own & 0o444) >> 2) : own;
  return own & ~0o111;
}

/** Writes in place, which keeps the file and its attributes. */
async function overwrite(
  entry: Buffer,
  { mode, content, before }: Omit<NewFile, 'path' | 'before'> & { readonly before: Stats },
): Promise<Change> {
  return await withFile(entry, constants.O_WRONLY, async (file) => {
    if (!isUnchanged(await file.stat(), before)) return 'changed_here';
    await file.writeFile(content);
    await file.truncate(content.length);
    const [had, wanted] = [before.mode & 0o7777, modeLike(before, mode)];
    if (had !== wanted) await file.chmod(wanted);
    return 'done';
  });
}
