// Stops the program that writes the files of a workspace at a state that it goes through: it stands
// still for each look.
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { allProcesses, procStat } from '../../system/process/proc.ts';
import { until } from './until.ts';

/** Leaves it stopped. `root` is the folder that is written. Throws where it ended before that. */
export async function stopRestoreWhen(root: string, holds: () => boolean): Promise<void> {
  const pid = await until(() => findRestore(root));
  // It is not looked for again: what it writes does not take long.
  while (await stop(pid)) {
    if (holds()) return;
    process.kill(pid, 'SIGCONT');
    await setImmediate();
  }
  throw new Error('the restore ended before it was seen at that state');
}

/** Tells whether it stands still; false for one that has ended. */
async function stop(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 'SIGSTOP');
  } catch {
    return false;
  }
  const state = (): string => procStat(pid)?.state ?? 'gone';
  while (!['T', 'Z', 'X', 'gone'].includes(state())) await setImmediate();
  return state() === 'T';
}

function findRestore(root: string): number | undefined {
  return allProcesses().find(({ pid }) => {
    const [, program = '', line = ''] = readArguments(pid);
    const isRestore = program.endsWith('restore-process.js') && line.includes('"do":"restore"');
    return isRestore && line.includes(`"root":${JSON.stringify(root)}`);
  })?.pid;
}

function readArguments(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // It is gone.
    return [];
  }
}
