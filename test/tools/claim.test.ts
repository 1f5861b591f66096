import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { processIdentity } from '../../activities/process-identity.ts';
import { callId, claimCall, recordChild, type ClaimedCall } from '../../activities/tools/claim.ts';
import { executeCall, type Executed, type Workbench } from '../../activities/tools/execute.ts';
import { readOutcome, recordOutcome, type RecordedOutcome } from '../../activities/tools/outcome-record.ts';
import { processInfo } from '../../activities/tools/process/proc.ts';
import type { AbortCause, Recovery, Tool } from '../../activities/tools/tool.ts';
import { memoryStore } from '../../activities/transcript/memory-store.ts';
import { StoreError, type Store } from '../../activities/transcript/store.ts';
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import { bench, callRun, request, simpleTool, until } from './support.ts';

const call: ClaimedCall = { session: 'session-1' as SessionId, key: 'chain.head.2' as CallKey };
const path = `claims/session-1/${createHash('sha256').update('chain.head.2').digest('hex')}`;

/** A store whose first write of an outcome is lost, as when a worker dies just before it. */
function losingFirstOutcome(store: Store): Store {
  let lost = false;
  return {
    ...store,
    create: async (key, bytes) => {
      if (lost || !key.startsWith('outcomes/')) return await store.create(key, bytes);
      lost = true;
      throw new StoreError('unavailable', 'the worker is gone');
    },
  };
}

/** Two attempts at one call; the first runs its tool and dies before its outcome is recorded. */
async function twoAttempts(more: Partial<Tool>): Promise<{ runs: number; second: Executed; shared: Workbench }> {
  let runs = 0;
  const tool = simpleTool({ call: async () => ({ content: `run ${++runs}` }), ...more });
  const shared = bench([tool], { store: losingFirstOutcome(memoryStore()) });
  await expect(executeCall(shared, request('simple'), callRun())).rejects.toThrow(StoreError);
  const second = await executeCall(shared, request('simple'), callRun({ attempt: 2 }));
  return { runs, second, shared };
}

test.each<Recovery>(['report', 'ask', 'verify'])(
  'L40 a claimed call with recovery %s is never run again: it is reported',
  async (recovery) => {
    const { runs, second, shared } = await twoAttempts({ recovery });
    expect(runs).toBe(1);
    expect(second).toMatchObject({
      outcome: { isError: true, log: { decision: 'allowed', outcome: 'unknown' } },
      facts: { error: true },
    });
    const content = second.kind === 'done' ? second.outcome.content : '';
    expect(content).toMatch(
      /^outcome unknown: simple was started at \d{4}-\S+Z on host "[^"]+" and its result was lost\. No process of it is left on this host\. It may have taken effect wholly, partly or not at all\. It was not run again: check before you repeat it\.$/,
    );
    expect(await executeCall(shared, request('simple'), callRun({ attempt: 3 }))).toEqual(second);
  },
);

test.each([
  ['declared rerun', { recovery: 'rerun' } as const],
  ['safe', { risk: 'read' } as const],
])('L40 a call that is %s runs again, without a claim', async (_, more) => {
  const { runs, second, shared } = await twoAttempts(more);
  expect(runs).toBe(2);
  expect(second).toMatchObject({ outcome: { content: 'run 2' } });
  expect(await shared.store.read(`${path}.claim`)).toBeNull();
});

test('L40 a recorded outcome is returned as it is, and nothing runs', async () => {
  let runs = 0;
  const shared = bench([
    simpleTool({ call: async () => ({ content: `run ${++runs}`, isError: true, cancelsSiblings: true }) }),
  ]);
  const first = await executeCall(shared, request('simple'), callRun());
  expect(await executeCall(shared, request('simple'), callRun({ attempt: 2 }))).toEqual(first);
  expect(runs).toBe(1);
});

test('L40 the claim is durable before the tool runs, and says who made it', async () => {
  const store = memoryStore();
  let claim: unknown;
  const tool = simpleTool({
    call: async () => {
      claim = JSON.parse(Buffer.from((await store.read(`${path}.claim`)) ?? []).toString());
      return { content: '' };
    },
  });
  await executeCall(bench([tool], { store }), request('simple', { text: 'x' }), callRun());
  expect(claim).toEqual({
    host: processIdentity(),
    tool: 'simple',
    inputHash: createHash('sha256').update('{"text":"x"}').digest('hex'),
    at: expect.any(Number) as number,
    nonce: expect.any(String) as string,
  });
});

test('L40 a claim that cannot be written runs nothing', async () => {
  let ran = false;
  const store = { ...memoryStore(), create: () => Promise.reject(new StoreError('unavailable', 'disk full')) };
  const shared = bench([simpleTool({ call: async () => ((ran = true), { content: '' }) })], { store });
  await expect(executeCall(shared, request('simple'), callRun())).rejects.toThrow('disk full');
  expect(ran).toBe(false);
});

test('L40 of a hundred attempts at once, one runs', async () => {
  let runs = 0;
  const shared = bench([simpleTool({ call: async () => ({ content: `run ${++runs}` }) })]);
  const all = await Promise.all(
    Array.from({ length: 100 }, (_, n) => executeCall(shared, request('simple'), callRun({ attempt: n + 1 }))),
  );
  expect(runs).toBe(1);
  expect(new Set(all.map((done) => JSON.stringify(done))).size).toBe(1);
});

test('a create that took effect while its answer was lost finds itself', async () => {
  const store = memoryStore();
  const twice: Store = {
    ...store,
    create: async (key, bytes) => (await store.create(key, bytes), store.create(key, bytes)),
  };
  expect(await claimCall(twice, call, { tool: 'simple', input: {}, host: processIdentity() })).toEqual({
    kind: 'mine',
  });
});

test('L50 a call that a deploy stopped says so to the next attempt', async () => {
  const { second } = await stoppedBy('deploy', true);
  expect(second).toMatchObject({ outcome: { log: { outcome: 'unknown' } } });
  expect(JSON.stringify(second)).toContain(
    'it was stopped by a worker shutdown while it ran. No process of it is left',
  );
});

test('L50 a call that a deploy stopped between claim and start is known not to have run', async () => {
  const { second } = await stoppedBy('deploy', false);
  expect(second).toMatchObject({
    outcome: {
      content: 'Not run: it was stopped by a worker shutdown before simple began. Call it again if it is still needed.',
      log: { outcome: 'not_run' },
    },
  });
});

async function stoppedBy(cause: AbortCause, began: boolean): Promise<{ second: Executed }> {
  const abort = new AbortController();
  const inner = memoryStore();
  const store: Store = {
    ...inner,
    create: async (key, bytes) => {
      if (!began && key.endsWith('.claim')) abort.abort(cause);
      return await inner.create(key, bytes);
    },
  };
  const tool = simpleTool({
    call: async () => {
      abort.abort(cause);
      return { content: '', isError: true, stopped: true };
    },
  });
  const shared = bench([tool], { store });
  const first = await executeCall(shared, request('simple'), callRun({ signal: abort.signal }));
  expect(first).toEqual({ kind: 'void', cause });
  return { second: await executeCall(shared, request('simple'), callRun({ attempt: 2 })) };
}

/** A process that would outlive its attempt, with the call's mark in its environment or without. */
async function leftover(marked: boolean): Promise<{ pid: number; gone: () => boolean }> {
  const env = marked ? { PERDURE_CALL: callId(call.key) } : {};
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
  const done = await executeCall(bench([simpleTool({})], { store }), request('simple'), callRun({ attempt: 2 }));
  return done.kind === 'done' ? done.outcome.content : done.kind;
}

test('L40 what is left of the first attempt is killed before it is reported: by its mark', async () => {
  const { gone } = await leftover(true);
  expect(await secondAttempt(async () => undefined)).toContain('What was left of it (1 process) was ended just now.');
  expect(gone()).toBe(true);
});

test('L40 what is left of the first attempt is killed before it is reported: by the recorded child', async () => {
  const { pid, gone } = await leftover(false);
  const { startTime = '' } = processInfo(pid) ?? {};
  const report = await secondAttempt((store) =>
    recordChild(store, call, { pid, startTime, bootId: processIdentity().bootId }),
  );
  expect(report).toContain('What was left of it (1 process) was ended just now.');
  expect(gone()).toBe(true);
});

test('L40 a stranger that got the pid of a dead child is left alone', async () => {
  const { pid, gone } = await leftover(false);
  const child = { pid, startTime: '1', bootId: processIdentity().bootId };
  expect(await secondAttempt((store) => recordChild(store, call, child))).toContain('No process of it is left');
  expect(gone()).toBe(false);
});

test('L40 processes of another boot or machine are not looked for here', async () => {
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
  expect(await executeCall(bench([tool]), request('simple'), callRun({ attempt: 2 }))).toMatchObject({
    outcome: { content: 'alone' },
  });
  await until(gone);
});

test('L40 of two outcomes the first stays, and both writers return it', async () => {
  const store = memoryStore();
  const outcome = (content: string): RecordedOutcome => ({
    outcome: {
      ...{ index: 1, toolUseId: 't', isError: false, content },
      log: { key: call.key, name: 'x', decision: 'allowed', duration: 1, outcome: 'ok' },
    },
    facts: {},
  });
  expect(await readOutcome(store, call.session, call.key)).toBeNull();
  expect(await recordOutcome(store, call.session, call.key, outcome('first'))).toEqual(outcome('first'));
  expect(await recordOutcome(store, call.session, call.key, outcome('second'))).toEqual(outcome('first'));
  expect(await readOutcome(store, call.session, call.key)).toEqual(outcome('first'));
});
