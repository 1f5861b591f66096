// Tells whether a sandbox that was built before shows what one with the same arguments would show
// if it were built now. It is looked at from outside, through the root of its first process.
import { lstatSync, readFileSync, type BigIntStats } from 'node:fs';
import { join } from 'node:path';
import { childrenOf } from './proc.ts';

/** How many words follow an option of bubblewrap; those that are not here have none. */
const WORDS: Readonly<Record<string, number>> = {
  '--bind': 2,
  '--ro-bind': 2,
  '--symlink': 2,
  '--tmpfs': 1,
  '--dev': 1,
  '--proc': 1,
  '--remount-ro': 1,
  '--chdir': 1,
  '--cap-add': 1,
  '--cap-drop': 1,
  '--seccomp': 1,
};

type SandboxView = {
  /** By its path: what is shown there, or null for something that is not from outside. */
  readonly places: ReadonlyMap<string, string | null>;
  readonly dir: string;
};

/** Returns the mounts of this machine as the kernel lists them; null where it does not. */
export function readHostMounts(): string | null {
  try {
    return readMounts('self');
  } catch {
    return null;
  }
}

const readMounts = (process: number | 'self'): string => readFileSync(`/proc/${process}/mountinfo`, 'utf8');

/**
 * Returns the paths at which something is mounted. One whose folder was moved has another path by
 * then.
 */
function listMountPoints(mounts: string): ReadonlySet<string> {
  const written = mounts.split('\n').map((line) => line.split(' ')[4] ?? '');
  return new Set(
    written.map((path) => path.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(parseInt(code, 8)))),
  );
}

/** Some kernels do not tell which processes another one has started. */
export function canLookInside(): boolean {
  try {
    return childrenOf(process.pid) !== null;
  } catch {
    return false;
  }
}

/**
 * `leader` is the pid of the sandbox's own process, and `sandboxArgs` its arguments, up to the command. A
 * sandbox that is not built yet, or that cannot be looked into, counts as another.
 */
export function showsSameNow(sandboxArgs: readonly string[], leader: number): boolean {
  const view = readArguments(sandboxArgs);
  try {
    const [first, ...others] = childrenOf(leader) ?? [];
    if (view === null || first === undefined || others.length > 0) return false;
    const root = `/proc/${first}/root`;
    if (!isSame(lookAt(`/proc/${first}/cwd/.`), lookAt(view.dir))) return false;
    const mounted = listMountPoints(readMounts(first));
    return [...view.places].every(([path, from]) => {
      if (!mounted.has(path)) return false;
      const inside = lookAt(join(root, path));
      return from === null ? inside.dev !== lookAt(path).dev : isSame(inside, lookAt(from));
    });
  } catch {
    return false;
  }
}

/** Returns null for arguments that it does not know. */
function readArguments(sandboxArgs: readonly string[]): SandboxView | null {
  const places = new Map<string, string | null>();
  let dir: string | undefined;
  for (let at = 1; at < sandboxArgs.length;) {
    const option = sandboxArgs[at] ?? '';
    if (!option.startsWith('--')) return null;
    const words = sandboxArgs.slice(at + 1, at + 1 + (WORDS[option] ?? 0));
    const [one = '', other = ''] = words;
    if (option === '--bind' || option === '--ro-bind') places.set(other, one);
    else if (['--tmpfs', '--dev', '--proc'].includes(option)) places.set(one, null);
    else if (option === '--chdir') dir = one;
    at += 1 + words.length;
  }
  return dir === undefined ? null : { places, dir };
}

const lookAt = (path: string): BigIntStats => lstatSync(path, { bigint: true });

const isSame = (one: BigIntStats, other: BigIntStats): boolean => one.dev === other.dev && one.ino === other.ino;
