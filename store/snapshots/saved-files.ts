// Saves what is known of the files of a folder for the next process, and moves the ref of the
// shadow repository to a new commit, locked as git locks it: no commit of a session is lost when
// two processes capture at once.
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../system/text.ts';
import { parseStored } from '../values/store.ts';
import type { IndexedFolder } from './folder-index.ts';
import { syncData } from './git-objects.ts';
import type { RawPath } from './listing.ts';

/** A snapshot, the tree of its files, its commit, and its note on permissions. */
export type LastSnapshot = {
  readonly id: string;
  readonly files: string;
  readonly commit: string;
  /** Absent as earlier versions have saved it. */
  readonly modes?: string;
  /** What decides what is captured, but for `.gitignore` files; absent in the same way. */
  readonly deciding?: string;
};

export type SavedFile = readonly [
  path: RawPath,
  mode: string,
  size: number,
  mtimeMs: number,
  ctimeMs: number,
  ino: number,
  readAt: number,
  id: string,
  /** Absent as earlier versions have saved it: the file is read once more. */
  permissions?: number,
];
type Saved = { readonly last: LastSnapshot; readonly isPacked?: boolean; readonly files: readonly SavedFile[] };

export function collectFiles({ files, folders }: IndexedFolder, path: RawPath, into: SavedFile[]): void {
  for (const [name, { mode, size, mtimeMs, ctimeMs, ino, readAt, id, permissions }] of files)
    into.push([`${path}${name}`, mode, size, mtimeMs, ctimeMs, ino, readAt, id, permissions]);
  for (const [name, child] of folders) collectFiles(child, `${path}${name}/`, into);
}

/** Returns null for what is missing or damaged. */
export function readSaved(path: string): Saved | null {
  const text = readText(path);
  if (text === null) return null;
  const end = text.indexOf('\n');
  const body = text.slice(end + 1);
  const isWhole = createHash('sha256').update(body).digest('hex') === text.slice(0, end);
  return isWhole ? (parseStored(Buffer.from(body)) as Saved | null) : null;
}

export function replaceSavedFile(path: string, content: string | Buffer): void {
  writeFileSync(`${path}.new`, content, 'latin1');
  renameSync(`${path}.new`, path);
}

export function readText(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * A lock is held while a commit is written. One that was seen for so long was left by a process
 * that was killed; a process that was only slow finds that it was taken, and begins again.
 * Milliseconds.
 */
const LEFT_MS = 3_000;
const POLL_MS = 10;

/**
 * Moves the ref whose file is `path` to the commit that `commitAfter` returns, a child of the one
 * that the ref names, or of none. It is called anew where the lock was taken meanwhile.
 */
export async function moveRef(path: string, commitAfter: (parent: string | null) => Promise<string>): Promise<string> {
  for (;;) {
    const lock = await takeLock(`${path}.lock`);
    try {
      const commit = await commitAfter(readText(path)?.trim() ?? null);
      writeFileSync(lock, `${commit}\n`);
      await syncData(lock);
      if (isAt(lock, `${path}.lock`)) {
        renameSync(`${path}.lock`, path);
        return commit;
      }
    } catch (error) {
      if (isAt(lock, `${path}.lock`)) rmSync(`${path}.lock`, { force: true });
      throw error;
    } finally {
      closeSync(lock);
    }
  }
}

async function takeLock(path: string): Promise<number> {
  for (let [lastHolder, waitedMs] = ['', 0]; ; waitedMs += POLL_MS) {
    try {
      return openSync(path, 'wx', 0o600);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const { ino = 0, birthtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const holder = `${ino} ${birthtimeMs}`;
    if (holder !== lastHolder) [lastHolder, waitedMs] = [holder, 0];
    if (waitedMs >= LEFT_MS) rmSync(path, { force: true });
    await sleep(POLL_MS);
  }
}

function isAt(descriptor: number, path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino;
}
