import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { processIdentity } from '../../system/process/identity.ts';
import {
  claimCall,
  type JournaledCall,
  readOutcome,
  recordOutcome,
  type RecordedOutcome,
} from '../../activities/calls/journal.ts';
import type { CallEnvironment } from '../../activities/calls/call-context.ts';
import type { AbortCause, Tool } from '../../tools/tool.ts';
import { memoryStore } from '../support/memory-store.ts';
import { StoreError, type Store } from '../../store/values/store.ts';
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import {
  executeCall,
  bench,
  callRun,
  done,
  losingFirstOutcome,
  request,
  simpleTool,
  type Executed,
} from './support.ts';

const call: JournaledCall = { session: 'session-1' as SessionId, key: 'chain.head.2' as CallKey };
const path = `calls/session-1/${createHash('sha256').update('chain.head.2').digest('hex')}`;

/** Two attempts at one call; the first runs its tool and dies before its outcome is recorded. */
async function twoAttempts(more: Partial<Tool>): Promise<{ runs: number; second: Executed; shared: CallEnvironment }> {
  let runs = 0;
  const tool = simpleTool({ call: async () => ({ content: `run ${++runs}` }), ...more });
  const shared = bench([tool], { store: losingFirstOutcome(memoryStore()) });
  const safe = more.risk === 'read';
  await expect(executeCall(shared, request('simple'), callRun({ safe }))).rejects.toThrow(StoreError);
  const second = await executeCall(shared, request('simple'), callRun({ safe, mayHaveBegun: true }));
  return { runs, second, shared };
}

test.each<[string, Partial<Tool>]>([
  ['report', { recovery: 'report' }],
  ['verify, which finds nothing out', { recovery: 'verify', verify: async () => ({ kind: 'unknown' }) }],
])('a claimed call with recovery %s is never run again: it is reported (L40)', async (_, more) => {
  const { runs, second, shared } = await twoAttempts(more);
  expect(runs).toBe(1);
  expect(second).toMatchObject({
    outcome: { isError: true, log: { decision: 'allowed', outcome: 'unknown' } },
    facts: { error: true },
  });
  const content = second.kind === 'done' ? second.outcome.content : '';
  expect(content).toMatch(
    /^outcome unknown: simple was started at \d{4}-\S+Z on host "[^"]+" and its result was lost\. No process of it is left on this host\. It may have taken effect wholly, partly or not at all\. It was not run again: check before you repeat it\.$/,
  );
  expect(await executeCall(shared, request('simple'), callRun({ mayHaveBegun: true }))).toEqual(second);
});

test.each([
  ['declared rerun', { recovery: 'rerun' } as const],
  ['safe', { risk: 'read' } as const],
])('a call that is %s runs again, without a claim (L40)', async (_, more) => {
  const { runs, second, shared } = await twoAttempts(more);
  expect(runs).toBe(2);
  expect(second).toMatchObject({ outcome: { content: 'run 2' } });
  expect(await shared.store.read(`${path}.claim`)).toBeNull();
});

test('a recorded outcome is returned as it is, and nothing runs (L40)', async () => {
  let runs = 0;
  const shared = bench([
    simpleTool({ call: async () => ({ content: `run ${++runs}`, isError: true, cancelsSiblings: true }) }),
  ]);
  const first = await executeCall(shared, request('simple'), callRun());
  expect(await executeCall(shared, request('simple'), callRun({ mayHaveBegun: true }))).toEqual(first);
  expect(runs).toBe(1);
});

test('the claim is durable before the tool runs, and says who made it (L40)', async () => {
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

test('a claim that cannot be written runs nothing (L40)', async () => {
  let ran = false;
  const store = { ...memoryStore(), create: () => Promise.reject(new StoreError('unavailable', 'disk full')) };
  const shared = bench([simpleTool({ call: async () => ((ran = true), { content: '' }) })], { store });
  await expect(executeCall(shared, request('simple'), callRun())).rejects.toThrow('disk full');
  expect(ran).toBe(false);
});

test('of a hundred attempts at once, one runs (L40)', async () => {
  let runs = 0;
  const shared = bench([simpleTool({ call: async () => ({ content: `run ${++runs}` }) })]);
  const all = await Promise.all(
    Array.from({ length: 100 }, (_, n) => executeCall(shared, request('simple'), callRun({ mayHaveBegun: n > 0 }))),
  );
  expect(runs).toBe(1);
  expect(new Set(all.map((executed) => JSON.stringify(executed))).size).toBe(1);
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

test('a call that a deploy stopped says so to the next attempt (L50)', async () => {
  const { second } = await stoppedBy('deploy', true);
  expect(second).toMatchObject({ outcome: { log: { outcome: 'unknown' } } });
  expect(JSON.stringify(second)).toContain(
    'it was stopped by a worker shutdown while it ran. No process of it is left',
  );
});

test('a call that a deploy stopped between claim and start is known not to have run (L50)', async () => {
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
  return { second: await executeCall(shared, request('simple'), callRun({ mayHaveBegun: true })) };
}

test('of two outcomes the first stays, and both writers return it (L40)', async () => {
  const store = memoryStore();
  const outcome = (content: string): RecordedOutcome => ({
    outcome: {
      index: 1,
      toolUseId: 't',
      isError: false,
      content,
      log: { key: call.key, name: 'x', decision: 'allowed', duration: 1, outcome: 'ok' },
    },
    facts: {},
  });
  expect(await readOutcome(store, call)).toBeNull();
  expect(await recordOutcome(store, call, outcome('first'))).toEqual(outcome('first'));
  expect(await recordOutcome(store, call, outcome('second'))).toEqual(outcome('first'));
  expect(await readOutcome(store, call)).toEqual(outcome('first'));
});

test('a call that another activity started is not checked anew: what is wrong with it now may be what it did (L40)', async () => {
  const store = memoryStore();
  let written = false;
  const tool = simpleTool({
    validate: async () => (written ? 'it is written already' : undefined),
    call: async () => ((written = true), { content: 'written' }),
  });
  const shared = bench([tool], { store });
  await expect(
    executeCall({ ...shared, store: losingFirstOutcome(store) }, request('simple'), callRun()),
  ).rejects.toThrow('gone');
  const { outcome } = done(await executeCall(shared, request('simple'), callRun({ mayHaveBegun: true })));
  expect(outcome.log.outcome).toBe('unknown');
  expect(outcome.content).not.toContain('already');
});
