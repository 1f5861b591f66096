// Kills a process at a state that it could leave while it is looked at: it stands still for each
// look.
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { until } from './until.ts';

export async function killWhen(child: ChildProcess, holds: () => boolean): Promise<void> {
  await until(async () => {
    child.kill('SIGSTOP');
    await until(() => isStopped(child.pid));
    // All that it printed before has been read when the loop has gone round.
    await setImmediate();
    await setImmediate();
    if (holds()) return true;
    child.kill('SIGCONT');
    return false;
  });
  child.kill('SIGKILL');
}

/** By /proc: the letter behind the name in parentheses. */
const isStopped = (pid = 0): boolean => /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
