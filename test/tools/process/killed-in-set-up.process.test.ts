// What a worker starts is not held by a sandbox yet while this is being set up: nothing of it is
// left when the worker is killed then.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { allProcesses, procStat, wasStartedWith } from '../../../system/process/proc.ts';
import { compiled } from '../../support/compiled.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../support.ts';
import { workingSandboxes } from '../sandboxes.ts';

const KILLS = 100;
const AT_ONCE = 4;
const [best] = await workingSandboxes();

/** The temporary folder is one of the few variables that every process of ours inherits. */
const startedIn = (folder: string): readonly number[] =>
  allProcesses().flatMap(({ pid }) => (wasStartedWith(pid, `TMPDIR=${folder}`) ? [pid] : []));

/** It sleeps, and no SIGKILL is on its way to it. */
function isLeft(pid: number): boolean {
  try {
    const pending = readFileSync(`/proc/${pid}/status`, 'utf8').matchAll(/^(?:Sig|Shd)Pnd:\s*([0-9a-f]+)$/gm);
    const killed = [...pending].some(([, bits]) => (BigInt(`0x${bits}`) & (1n << 8n)) !== 0n);
    return !killed && procStat(pid)?.state === 'S';
  } catch {
    return false;
  }
}

/** Resolves with what outlived it, when all that is dying is gone. */
async function killIn(moment: string, script: string, pipe: string, folder: string): Promise<readonly number[]> {
  mkdirSync(folder);
  const env = { TMPDIR: folder, PATH: process.env['PATH'] };
  const worker = spawn(process.execPath, [script, moment, pipe], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(worker.stdout, 'data');
  const spawner = allProcesses().find(({ parent }) => parent === worker.pid)?.pid ?? 0;
  expect(startedIn(folder).length).toBeGreaterThan(2);
  worker.kill('SIGKILL');
  await until(() => !startedIn(folder).includes(spawner));
  await until(() => startedIn(folder).every(isLeft));
  return startedIn(folder);
}

test.runIf(best?.kind === 'bwrap').each(['before its sandbox is made', 'while its sandbox is made'])(
  'of what is being set up nothing outlives a worker that is killed %s (L40 L48 F1)',
  async (moment) => {
    const script = compiled('test/tools/process/set-up-process.ts');
    const folder = tempFolder();
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const left: number[] = [];
    onTestFinished(() => left.forEach((pid) => process.kill(pid, 'SIGKILL')));
    let kills = 0;
    const lane = async (): Promise<void> => {
      while (kills < KILLS / 2) left.push(...(await killIn(moment, script, pipe, join(folder, `${++kills}`))));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    expect({ kills, left }).toEqual({ kills: KILLS / 2, left: [] });
  },
);
