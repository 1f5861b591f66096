// Saves what is known of the files of a folder for the next process.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { codeOf } from '../../system/text.ts';
import { parseStored } from '../values/store.ts';
import type { IndexedFolder } from './folder-index.ts';
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
