import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { processIdentity, startTimeOf } from '../../../system/process/identity.ts';
import { takeFileLock, withLock } from '../../../system/process/file-lock.ts';
import { temporaryFolder } from '../../worker/embedded/support.ts';

const patient = { doing: 'testing', waitMs: 10_000 };
const impatient = { doing: 'testing', waitMs: 0 };

function heldBy(holder: object | null): string {
  const dir = join(temporaryFolder(), 'lock');
  mkdirSync(dir);
  writeFileSync(join(dir, '7'), JSON.stringify({ holder }));
  return dir;
}

test('of many who want the lock one has it at a time', async () => {
  const dir = join(temporaryFolder(), 'lock');
  let inside = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await setImmediate();
    inside--;
  };
  await Promise.all(Array.from({ length: 20 }, () => withLock(dir, patient, work)));
  expect(most).toBe(1);
  expect(readdirSync(dir)).toEqual(['20']);
});

test.each([
  ['a dead process', { ...processIdentity(), startTime: '1' }],
  ['an earlier boot', { ...processIdentity(), bootId: '11111111-2222-3333-4444-555555555555' }],
  ['a container that is gone', { ...processIdentity(), host: 'gone', bootId: '11111111-2222-3333-4444-555555555555' }],
])('the lock of %s is taken over', async (_who, holder) => {
  const dir = heldBy(holder);
  const release = await takeFileLock(dir, impatient);
  expect(readdirSync(dir)).toEqual(['8']);
  release();
});

test('of many who find the lock of a dead process one takes it over', async () => {
  const dir = heldBy({ ...processIdentity(), startTime: '1' });
  const taken = await Promise.allSettled(Array.from({ length: 10 }, () => takeFileLock(dir, impatient)));
  expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
});

test('a lock file that a power cut left empty is taken over', async () => {
  const dir = heldBy(null);
  writeFileSync(join(dir, '8'), '');
  (await takeFileLock(dir, impatient))();
  expect(readdirSync(dir)).toEqual(['9']);
});

test('a living process keeps its lock, and whoever waits too long is told which process that is', async () => {
  const child = spawn('sleep', ['60']);
  onTestFinished(() => void child.kill('SIGKILL'));
  const pid = child.pid ?? 0;
  const dir = heldBy({ ...processIdentity(), pid, startTime: startTimeOf(pid) });
  const waits: number[] = [];
  const waiting = takeFileLock(dir, { doing: 'building', waitMs: 50, onWait: (holder) => waits.push(holder) });
  await expect(waiting).rejects.toThrow(new RegExp(`process ${pid} has been building .*\`kill ${pid}\``));
  expect(waits).toEqual([pid]);
});

test('a lock is free after work that failed', async () => {
  const dir = join(temporaryFolder(), 'lock');
  await expect(withLock(dir, patient, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  (await takeFileLock(dir, impatient))();
});
