// Finds the programs that Perdure itself starts outside the sandbox, and keeps their absolute
// paths. An agent can write into many a folder of PATH (`node_modules/.bin`, `~/bin`): a program
// there is the agent's, and would run as the user, without a sandbox.
import { accessSync, constants, statSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, isAbsolute, join, sep, basename } from 'node:path';
import { isInside, realOf, pathOfBuiltFile } from './places.ts';
import { helperEnvironment, type Environment, CALL_VARIABLE } from './environment.ts';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { hasProc, readStartVariable } from './proc.ts';

export type Programs = {
  /**
   * Returns an absolute path. For a missing program it is one where the program could be, so that
   * starting it says what is missing.
   */
  at(name: string): string;
  /** The folders of PATH that no agent writes, in its order, and then those of the system. */
  readonly folders: readonly string[];
  /**
   * Builds the environment for one of these programs, without any key or token. `network` adds what
   * a download or a build needs.
   */
  environment(needs?: 'nothing' | 'network'): Record<string, string>;
};

const SYSTEM = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/**
 * Programs in `writable` folders count as an agent's. The system's own folders are trusted wherever
 * they lie.
 */
export function findPrograms(env: Environment, writable: readonly string[] = listAgentFolders(env)): Programs {
  const system = SYSTEM.filter((folder) => realOf(folder) !== null);
  // npm puts the `node_modules/.bin` of a project and of all its parents into PATH, also those that
  // do not exist yet.
  const trusted = pathOutside(env, writable).filter((folder) => !folder.split(sep).includes('node_modules'));
  const folders = [...new Set([...trusted, ...system])];
  const found = new Map<string, string>();
  return {
    folders,
    at(name) {
      const known = found.get(name);
      if (known !== undefined) return known;
      // Look into the system's folders first: what a PATH puts before them is for people and their
      // shells.
      const path = [...system, ...folders].map((folder) => join(folder, name)).find(isExecutable);
      if (path !== undefined) found.set(name, path);
      return path ?? join(SYSTEM[0] as string, name);
    },
    environment: (needs = 'nothing') => helperEnvironment(env, folders.join(delimiter), needs),
  };
}

/**
 * Returns the folders of a PATH that lie outside others, links followed, without those that depend
 * on where a program is started.
 */
export function pathOutside(env: Environment, others: readonly string[]): readonly string[] {
  const closed = others.flatMap((folder) => [folder, realOf(folder) ?? folder]);
  return (env['PATH'] ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .filter((folder) => ![folder, realOf(folder) ?? folder].some((at) => closed.some((other) => isInside(other, at))));
}

export const worldWritableFolders = (): readonly string[] => ['/tmp', '/var/tmp', tmpdir()];

/** Returns the folders in which a session's workspace may be, and those that all commands share. */
function listAgentFolders(env: Environment): readonly string[] {
  const home = env['HOME'] || homedir();
  return [home, env['XDG_CACHE_HOME'], process.cwd(), ...worldWritableFolders()].filter(
    // A service starts in the root, which is never a workspace.
    (folder): folder is string => folder !== undefined && isAbsolute(folder) && folder !== sep,
  );
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export type FolderUse = {
  readonly pid: number;
  /** The name of the program, as it was started. */
  readonly name: string;
  /** Perdure's mark of it: a call, or a command in the background. */
  readonly mark?: string;
  /** The folder, or one below it, is where the program works. */
  readonly worksThere: boolean;
  readonly files: readonly OpenFile[];
};

/** `path` is relative to the folder, its bytes as latin1. */
type OpenFile = { readonly path: string; readonly writes: boolean };

/** A look takes no longer, in milliseconds: programs that are left then are passed over. */
const LONGEST_LOOK = 500;

/** Shells wait in a folder for input. */
const SHELLS: ReadonlySet<string> = new Set(['bash', 'dash', 'fish', 'ksh', 'sh', 'tmux', 'zsh']);

/**
 * Finds the programs that have files of a folder open, or work in it. Linux tells that in /proc, of
 * the programs of this user; elsewhere nothing is found, and what cannot be read is passed over.
 * `root` is an absolute real path. Perdure's own programs are left out.
 */
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
