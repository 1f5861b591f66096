// Processes as Linux shows them in /proc, read synchronously: it is memory, not a disk. Elsewhere nothing is known of a process.
import { existsSync, readdirSync, readFileSync } from 'node:fs';

export type ProcessInfo = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks since boot. With the pid it names a process for ever within a boot. */
  readonly startTime: string;
};

export const hasProc = existsSync('/proc/self/stat');

/** Null when there is no such process, or only a zombie of it: `kill(pid, 0)` succeeds on zombies. */
export function processInfo(pid: number): ProcessInfo | null {
  const stat = readProc(`/proc/${pid}/stat`)?.toString('latin1');
  if (stat === undefined) return null;
  // The name, in parentheses, may hold anything, also parentheses and spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group, session] = fields;
  if (state === 'Z' || state === 'X') return null;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTime: fields[19] ?? '',
  };
}

export function allProcesses(): ProcessInfo[] {
  if (!hasProc) return [];
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => processInfo(Number(pid))).filter((info) => info !== null);
}

/** Whether `entry` ("NAME=value") is in the environment a process was started with. False when that may not be read. */
export function startedWith(pid: number, entry: string): boolean {
  const environment = readProc(`/proc/${pid}/environ`);
  return environment !== undefined && Buffer.concat([Buffer.of(0), environment]).includes(`\0${entry}\0`);
}

/** Undefined when the process is gone or belongs to someone else. */
function readProc(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return undefined;
    throw error;
  }
}
