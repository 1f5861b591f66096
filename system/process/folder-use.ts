// Finds the programs that use a folder: those that have files of it open, and those that work in
// it. Linux tells that in /proc, of the programs of this user; elsewhere nothing is found. What
// cannot be read is passed over.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { basename } from 'node:path';
import { CALL_VARIABLE } from './environment.ts';
import { isInside, pathOfBuiltFile, realOf } from './places.ts';
import { hasProc, readStartVariable } from './proc.ts';

export type FolderUse = {
  readonly pid: number;
  /** The name of the program, as it was started. */
  readonly name: string;
  /** What Perdure has marked it with: a call, or a command in the background. */
  readonly mark?: string;
  /** The folder, or one below it, is where the program works. */
  readonly worksThere: boolean;
  readonly files: readonly OpenFile[];
};

/** `path` is relative to the folder, its bytes as latin1. */
type OpenFile = { readonly path: string; readonly writes: boolean };

/** A look takes no longer, in milliseconds: programs that are left then are passed over. */
const LONGEST_LOOK = 500;

/** A shell waits in a folder for whoever types into it. */
const SHELLS: ReadonlySet<string> = new Set(['bash', 'dash', 'fish', 'ksh', 'sh', 'tmux', 'zsh']);

/** `root` is an absolute real path. Perdure's own programs are left out. */
export async function findFolderUse(root: string): Promise<readonly FolderUse[]> {
  const until = Date.now() + LONGEST_LOOK;
  const uses: FolderUse[] = [];
  for (const pid of hasProc ? listPids() : []) {
    if (Date.now() > until) break;
    if (pid === process.pid) continue;
    const use = findUseBy(pid, Buffer.from(root).toString('latin1'));
    if (use !== null) uses.push(use);
    await yieldToOthers();
  }
  return uses;
}

const listPids = (): readonly number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

function findUseBy(pid: number, root: string): FolderUse | null {
  const cwd = readLink(`/proc/${pid}/cwd`);
  const worksThere = cwd === root || cwd?.startsWith(`${root}/`) === true;
  const files = listOpenFiles(pid, root);
  if (!worksThere && files.length === 0) return null;
  const argv = readText(`/proc/${pid}/cmdline`)?.split('\0') ?? [];
  const name = basename(argv[0]?.split(' ')[0] ?? '').replace(/^-/, '');
  if (name === '' || isOwn(argv) || (files.length === 0 && SHELLS.has(name))) return null;
  const mark = readStartVariable(pid, CALL_VARIABLE);
  return { pid, name, worksThere, files, ...(mark !== undefined && { mark }) };
}

/** Tells whether a program is a command or a process of this package. */
function isOwn(argv: readonly string[]): boolean {
  const own = realOf(pathOfBuiltFile('..'));
  return own !== null && argv.slice(0, 3).some((word) => word.startsWith('/') && isInside(own, realOf(word) ?? word));
}

function listOpenFiles(pid: number, root: string): readonly OpenFile[] {
  const files = new Map<string, boolean>();
  for (const name of listNames(`/proc/${pid}/fd`)) {
    const place = readLink(`/proc/${pid}/fd/${name}`);
    if (place?.startsWith(`${root}/`) !== true) continue;
    const path = place.slice(root.length + 1);
    files.set(path, files.get(path) === true || isWriting(pid, name));
  }
  return [...files].map(([path, writes]) => ({ path, writes }));
}

/** The last two bits of the flags, which are octal, are 0 for a file that is only read. */
function isWriting(pid: number, file: string): boolean {
  const flags = /^flags:\s*([0-7]+)$/m.exec(readText(`/proc/${pid}/fdinfo/${file}`) ?? '')?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & 3) !== 0;
}

/** A program may end meanwhile, or be another user's. */
function unlessUnreadable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

const readLink = (path: string): string | null =>
  unlessUnreadable(() => readlinkSync(path, 'buffer').toString('latin1'));
const readText = (path: string): string | null => unlessUnreadable(() => readFileSync(path, 'latin1'));
const listNames = (path: string): readonly string[] => unlessUnreadable(() => readdirSync(path)) ?? [];
