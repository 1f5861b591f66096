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
  const program = fileURLToPath(new URL('../../../bin/perdure.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, 'page'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  try {
    const [line = ''] = (await once(createInterface(child.stdout), 'line')) as string[];
    return { pid: child.pid ?? 0, entry: new URL(line.replace(/^page /, '')), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
}

/** CPU of all threads, in ticks of a hundredth of a second. */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
