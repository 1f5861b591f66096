// The ops page as its own process, and what processes take.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type PageProcess = {
  readonly pid: number;
  /** Lets a browser in. */
  readonly entry: URL;
  stop(): Promise<void>;
};

/** Resolves when the page answers. */
export async function spawnPage(env: NodeJS.ProcessEnv): Promise<PageProcess> {
  const { line, ...page } = await spawnPerdure('page', env, 'inherit');
  return { ...page, entry: new URL(line.replace(/^page /, '')) };
}

type StayingProcess = {
  readonly pid: number;
  /** The first that it printed. */
  readonly line: string;
  stop(): Promise<void>;
};

/** Starts a command that stays, and resolves with its first line. */
export async function spawnPerdure(
  command: 'page' | 'worker',
  env: NodeJS.ProcessEnv,
  errors: 'inherit' | 'ignore',
): Promise<StayingProcess> {
  const program = fileURLToPath(new URL('../../../bin/perdure.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, command], { env, stdio: ['ignore', 'pipe', errors] });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  try {
    const [line = ''] = (await once(createInterface(child.stdout), 'line')) as string[];
    return { pid: child.pid ?? 0, line, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export const residentBytes = (pid: number): number => memoryOf(pid, 'VmRSS');

/** The most that it ever was. */
export const peakBytes = (pid: number): number => memoryOf(pid, 'VmHWM');

function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1_024;
}

/** CPU of all threads, in ticks of a hundredth of a second. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
