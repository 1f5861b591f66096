// Reads the living processes of this machine from Linux's /proc, synchronously: it is memory, not a
// disk. Elsewhere nothing is known of a process.
import { readdirSync, existsSync, readFileSync } from 'node:fs';

export type ProcessInfo = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks since boot. With the pid it identifies a process until the next boot. */
  readonly startTime: string;
};

/** Returns null when the process is gone or a zombie: `kill(pid, 0)` succeeds on zombies. */
export function processInfo(pid: number): ProcessInfo | null {
  const stat = procStat(pid);
  if (stat === null || stat.state === 'Z' || stat.state === 'X') return null;
  const { parent, group, session, startTime } = stat;
  return { pid, parent, group, session, startTime };
}

export function allProcesses(): ProcessInfo[] {
  if (!hasProc) return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => processInfo(Number(pid))).filter((info) => info !== null);
}

/**
 * Reads the value of `name` in the environment a process was started with. Undefined when it was
 * not set, or may not be read.
 */
export function readStartVariable(pid: number, name: string): string | undefined {
  const entries = readProc(`/proc/${pid}/environ`)?.toString().split('\0');
  return entries?.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
}

/**
 * Tells whether `entry` ("NAME=value") is in the environment a process was started with. Returns
 * false when that may not be read.
 */
export function wasStartedWith(pid: number, entry: string): boolean {
  const environment = readProc(`/proc/${pid}/environ`);
  return environment !== undefined && Buffer.concat([Buffer.of(0), environment]).includes(`\0${entry}\0`);
}

/** One process as Linux shows it in /proc/PID/stat. */
type ProcStat = {
  /** One letter: R, S, D, Z (zombie), X, … */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly threads: number;
  /** Clock ticks since boot. With the pid it names a process for ever within a boot. */
  readonly startTime: string;
};

/** False on systems other than Linux, where nothing is known of a process this way. */
export const hasProc = existsSync('/proc/self/stat');

/** Returns null when the process is gone. A zombie is not gone. */
export function procStat(pid: number): ProcStat | null {
  const stat = readProc(`/proc/${pid}/stat`)?.toString('latin1');
  if (stat === undefined) return null;
  // The second field is a file name in parentheses and may hold anything, so count from the last
  // one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, group, session] = fields;
  return {
    state,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    threads: Number(fields[17]),
    startTime: fields[19] ?? '',
  };
}

/** Returns the first 15 bytes of the name of what a process runs; null when it is gone. */
export function programName(pid: number): string | null {
  return readProc(`/proc/${pid}/comm`)?.toString().trim() ?? null;
}

/** Returns the children that a process has by itself; null where the system does not tell them. */
export function childrenOf(pid: number): readonly number[] | null {
  const pids = readProc(`/proc/${pid}/task/${pid}/children`)?.toString().trim();
  return pids === undefined ? null : pids.split(' ').filter(Boolean).map(Number);
}

/** Returns undefined when the process is gone or belongs to someone else. */
function readProc(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return undefined;
    throw error;
  }
}
