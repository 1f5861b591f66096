import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import {
  formatIdentity,
  isAlive,
  parseIdentity,
  processIdentity,
  startTimeOf,
} from '../../../system/process/identity.ts';
import { until } from './support.ts';

const self = processIdentity();

function identityOf(pid: number | undefined) {
  const startTime = startTimeOf(pid ?? 0);
  if (pid === undefined || startTime === null) throw new Error('the child did not start');
  return { ...self, pid, startTime };
}

test('a process is alive until it is killed, then dead', async () => {
  const child = spawn('sleep', ['60']);
  const identity = identityOf(child.pid);
  expect(isAlive(identity)).toBe('alive');
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isAlive(identity)).toBe('dead');
});

test('a process that took over a pid does not pass for the one before it', () => {
  expect(isAlive({ ...self, startTime: '1' })).toBe('dead');
});

test.runIf(process.platform === 'linux')('a zombie is dead, although its pid can still be signalled', async () => {
  // It ends once the shell, which would reap it, has become another program.
  const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void parent.kill('SIGKILL'));
  const [line]: unknown[] = await once(createInterface({ input: parent.stdout }), 'line');
  const pid = Number(line);
  await until(() => startTimeOf(pid) === null);
  expect(process.kill(pid, 0)).toBe(true);
});

test('nothing is known of another machine, nor of another boot under the same host name', () => {
  const otherBoot = '11111111-2222-3333-4444-555555555555';
  expect(isAlive({ ...self, host: 'elsewhere', bootId: otherBoot })).toBe('unknown');
  expect(isAlive({ ...self, bootId: otherBoot })).toBe('unknown');
});

test('a record of an earlier boot, written on this machine, is of a dead process', () => {
  expect(isAlive({ ...self, bootId: '11111111-2222-3333-4444-555555555555' }, 'here')).toBe('dead');
});

test('a changed host name does not make a process of this boot unknown', () => {
  expect(isAlive({ ...self, host: 'before-the-network-changed' })).toBe('alive');
});

test('an identity string names the process again', () => {
  const parsed = parseIdentity(formatIdentity(self));
  expect(parsed).toEqual({ ...self, bootId: self.bootId.slice(0, 8) });
  expect(parsed && isAlive(parsed)).toBe('alive');
});

test.each(['', '1234@host', 'host/12345678/x/1', 'host/12345678/0/1', 'a/b/12345678/7/1'])(
  'the identity %j of someone else is no identity of ours',
  (text) => {
    expect(parseIdentity(text)).toBeNull();
  },
);
