// One process as Linux shows it in /proc/PID/stat, read synchronously: it is memory, not a disk.
import { existsSync, readFileSync } from 'node:fs';

export type ProcStat = {
  /** One letter: R, S, D, Z (zombie), X, … */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly threads: number;
  /** Clock ticks since boot. With the pid it names a process for ever within a boot. */
  readonly startTime: string;
};

/** Elsewhere than on Linux nothing is known of a process this way. */
export const hasProc = existsSync('/proc/self/stat');

/** Null when there is no such process. A zombie is there. */
export function procStat(pid: number): ProcStat | null {
  const stat = readProc(`/proc/${pid}/stat`)?.toString('latin1');
  if (stat === undefined) return null;
  // The second field is a file name in parentheses and may hold anything, so count from the last one.
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

/** Undefined when the process is gone or belongs to someone else. */
export function readProc(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' || code === 'EPERM') return undefined;
    throw error;
  }
}
