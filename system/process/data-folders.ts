// Knows the folders in which Perdure keeps this user's data: keys, tokens and transcripts, which no
// agent may read, whichever of them its own session uses. Those that were opened are in a register
// that agents cannot write; others are known by what lies in them.
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  opendirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../text.ts';
import { foldersUp, isInside, realOf, temporaryFolders, type Places } from './places.ts';

/** All of them are in each data folder from its beginning. */
const MARKS = ['data.json', 'members', 'lock'];
/**
 * Marks a data folder that was opened where the register cannot be written: by a command of an
 * agent, whose own it is.
 */
const UNREGISTERED = 'unregistered';
/** The newest count: each costs a command about a millisecond, for its mount. */
const MOST_FOLDERS = 100;
/** Entries that are looked at in one folder. */
const MOST_ENTRIES = 1_000;

/** Notes that a data folder is in use. `register` is a folder of links, one for each. */
export function recordDataFolder(register: string, root: string): void {
  const unregistered = join(root, UNREGISTERED);
  try {
    recordLink(register, realOf(root) ?? root);
    rmSync(unregistered, { force: true });
  } catch (error) {
    if (!['EROFS', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '')) throw error;
    if (!isRegistered(register, root)) writeFileSync(unregistered, '', { mode: 0o600 });
  }
}

const linkOf = (register: string, root: string): string =>
  join(register, createHash('sha256').update(root).digest('hex').slice(0, 32));

const isRegistered = (register: string, root: string): boolean =>
  realOf(linkOf(register, realOf(root) ?? root)) !== null;

function recordLink(register: string, root: string): void {
  const link = linkOf(register, root);
  const now = Date.now() / 1_000;
  try {
    return lutimesSync(link, now, now);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  mkdirSync(register, { recursive: true, mode: 0o700 });
  for (const path of listLinks(register)) if (!existsSync(path)) rmSync(path, { force: true });
  try {
    symlinkSync(root, link);
  } catch (error) {
    // Another process was faster.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

/**
 * Returns the real paths of the data folders that exist: those of the register, the usual one, and
 * those that lie directly in a temporary folder, in one of `roots`, or beside one that is or was
 * known: people rename and copy folders where they are.
 */
export function listDataFolders({ data }: Places, roots: readonly string[] = []): readonly string[] {
  const registered = listNewestLinks(data.register);
  const parents = [...data.usual, ...registered.map(targetOf)].map((path) => dirname(path));
  const folders = new Set([...temporaryFolders(), ...roots, ...parents]);
  const around = [...folders].flatMap(listMarkedIn).slice(0, MOST_FOLDERS);
  return [...new Set([...data.usual, ...registered, ...around].map(realOf).filter((path) => path !== null))];
}

/** Returns where a link of the register leads, or led. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch (error) {
    // Another process has removed it meanwhile.
    if (['ENOENT', 'EINVAL'].includes(codeOf(error) ?? '')) return link;
    throw error;
  }
}

/**
 * Returns the data folder that a real path lies in, or null; one that holds `workspace` is none.
 */
export function findDataFolder(path: string, workspace: string): string | null {
  return foldersUp(path).find((folder) => isDataFolder(folder) && !isInside(folder, workspace)) ?? null;
}

export function isDataFolder(path: string): boolean {
  return hasMarks((name) => existsSync(join(path, name)));
}

/** Tells the same by what a folder has. */
export const hasMarks = (has: (name: string) => boolean): boolean => MARKS.every(has) && !has(UNREGISTERED);

/** Tells whether an entry of that name may make a folder a data folder, or end that. */
export const isMark = (name: string): boolean => name === UNREGISTERED || MARKS.includes(name);

function listNewestLinks(register: string): readonly string[] {
  const links = listLinks(register);
  if (links.length <= MOST_FOLDERS) return links;
  const ages = new Map(links.map((path) => [path, lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0]));
  return links.toSorted((a, b) => (ages.get(b) ?? 0) - (ages.get(a) ?? 0)).slice(0, MOST_FOLDERS);
}

function listLinks(register: string): readonly string[] {
  try {
    return readdirSync(register).map((name) => join(register, name));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

function listMarkedIn(folder: string): readonly string[] {
  const found: string[] = [];
  try {
    const opened = opendirSync(folder, { bufferSize: MOST_ENTRIES });
    try {
      for (let count = 0, entry = opened.readSync(); entry !== null && count < MOST_ENTRIES; count++) {
        if (entry.isDirectory() && isDataFolder(join(folder, entry.name))) found.push(join(folder, entry.name));
        entry = opened.readSync();
      }
    } finally {
      opened.closeSync();
    }
  } catch {
    // A folder that cannot be listed is not listed by commands either.
  }
  return found;
}
