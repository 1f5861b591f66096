// What a first attempt left running is ended before a second one says anything, and nobody else is
// (L40).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { processIdentity } from '../../system/process/identity.ts';
import { callIdOf } from '../../system/process/environment.ts';
import { claimCall, recordChild, type JournaledCall } from '../../activities/calls/journal.ts';
import { processInfo } from '../../system/process/proc.ts';
import { memoryStore } from '../support/memory-store.ts';
import type { Store } from '../../store/values/store.ts';
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import { until } from '../support/until.ts';
import { executeCall, bench, callRun, request, simpleTool } from './support.ts';

const call: JournaledCall = { session: 'session-1' as SessionId, key: 'chain.head.2' as CallKey };

/** A process that would outlive its attempt, with the call's mark in its environment or without. */
async function leftover(marked: boolean): Promise<{ pid: number; gone: () => boolean }> {
  const env = marked ? { PERDURE_CALL: callIdOf(call.key) } : {};
  const child = spawn('sleep', ['300'], {
    detached: true,
    stdio: 'ignore',
    env: { ...env, PATH: process.env['PATH'] },
  });
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  onTestFinished(() => void child.kill('SIGKILL'));
  return { pid, gone: () => processInfo(pid) === null };
}

async function secondAttempt(prepare: (store: Store) => Promise<void>, host = processIdentity()): Promise<string> {
  const store = memoryStore();
  await claimCall(store, call, { tool: 'bash', input: {}, host });
  await prepare(store);
  const done = await executeCall(
    bench([simpleTool({})], { store }),
    request('simple'),
    callRun({ mayHaveBegun: true }),
  );
  return done.kind === 'done' ? done.outcome.content : done.kind;
}

test('what is left of the first attempt is killed before it is reported: by its mark (L40)', async () => {
  const { gone } = await leftover(true);
  expect(await secondAttempt(async () => undefined)).toContain('What was left of it (1 process) was ended just now.');
  expect(gone()).toBe(true);
});

test('what is left of the first attempt is killed before it is reported: by the recorded child (L40)', async () => {
  const { pid, gone } = await leftover(false);
  const { startTime = '' } = processInfo(pid) ?? {};
  const report = await secondAttempt((store) =>
    recordChild(store, call, { pid, startTime, bootId: processIdentity().bootId }),
  );
  expect(report).toContain('What was left of it (1 process) was ended just now.');
  expect(gone()).toBe(true);
});

test('a stranger that got the pid of a dead child is left alone (L40)', async () => {
  const { pid, gone } = await leftover(false);
  const child = { pid, startTime: '1', bootId: processIdentity().bootId };
  expect(await secondAttempt((store) => recordChild(store, call, child))).toContain('No process of it is left');
  expect(gone()).toBe(false);
});

test('processes of another boot or machine are not looked for here (L40)', async () => {
  const { pid, gone } = await leftover(true);
  const elsewhere = { ...processIdentity(), host: 'far-away', bootId: 'another boot' };
  const { startTime = '' } = processInfo(pid) ?? {};
  const report = await secondAttempt(
    (store) => recordChild(store, call, { pid, startTime, bootId: 'another boot' }),
    elsewhere,
  );
  expect(report).toContain('on host "far-away"');
  expect(report).toContain('cannot be seen from here');
  expect(gone()).toBe(false);
});

test('a second attempt of a call without a claim first ends what the first left running', async () => {
  const { gone } = await leftover(true);
  const tool = simpleTool({ risk: 'read', call: async () => ({ content: gone() ? 'alone' : 'not alone' }) });
  expect(
    await executeCall(bench([tool]), request('simple'), callRun({ safe: true, mayHaveBegun: true })),
  ).toMatchObject({
    outcome: { content: 'alone' },
  });
  await until(gone);
});

test('what is left of the first attempt is ended before a check looks (L40)', async () => {
  const { gone } = await leftover(true);
  const store = memoryStore();
  await claimCall(store, call, { tool: 'simple', input: {}, host: processIdentity() });
  const content = (): string => (gone() ? 'alone' : 'not alone');
  const tool = simpleTool({
    recovery: 'verify',
    verify: async () => ({ kind: 'done', output: { content: content() } }),
  });
  const done = await executeCall(bench([tool], { store }), request('simple'), callRun({ mayHaveBegun: true }));
  expect(done).toMatchObject({ outcome: { content: 'alone' } });
});
