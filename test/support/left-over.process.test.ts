// What is found of a run's processes when it is over, and what is not taken for one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { hasProc } from '../../system/process/proc.ts';
import { leftOver, ofRun, seeProcesses } from './left-over.mjs';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

type SeenProcess = ReturnType<typeof seeProcesses>[number];

const folder = '/tmp/run-1';
const one = (pid: number, parent: number, more: Partial<SeenProcess> = {}): SeenProcess => ({
  pid,
  parent,
  line: '',
  environment: 'HOME=/root\0',
  cwd: '/',
  ...more,
});

test('a process is of a run whose folder is in its environment, arguments or working folder', () => {
  const found = ofRun(
    folder,
    [
      one(10, 1, { environment: `HOME=/root\0TMPDIR=${folder}\0` }),
      one(11, 1, { line: `bwrap --bind ${folder}/a ${folder}/a -- rg` }),
      one(12, 1, { cwd: `${folder}/a` }),
      one(13, 1, { environment: 'TMPDIR=/tmp/run-2\0', cwd: '/tmp' }),
    ],
    20,
  );
  expect(found.map(({ pid }) => pid)).toEqual([10, 11, 12]);
});

test('neither is the process that asks, nor those above it', () => {
  const environment = `TMPDIR=${folder}\0`;
  const seen = [one(5, 1, { environment }), one(20, 5, { environment }), one(21, 20, { environment })];
  expect(ofRun(folder, seen, 20).map(({ pid }) => pid)).toEqual([21]);
});

test('nor is the process that starts its programs; that of another is', () => {
  const environment = `TMPDIR=${folder}\0`;
  const starter = (pid: number, owner: number) =>
    one(pid, owner, { environment, line: `node /x/process/spawner-process.mjs ${owner}` });
  expect(ofRun(folder, [starter(21, 20), starter(22, 12)], 20).map(({ pid }) => pid)).toEqual([22]);
});

test.runIf(hasProc)('what still runs is named, and what ends is waited for', async () => {
  const own = tempDir();
  const child = spawn('sleep', ['1000'], { env: { ...process.env, TMPDIR: own }, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await until(() => ofRun(own, seeProcesses(), process.pid).some(({ line }) => line === 'sleep 1000'));
  const over = once(child, 'exit');
  child.kill('SIGKILL');
  await over;
  expect(leftOver(own)).toEqual([]);
});
