// A call that was started and lost its result (L40): a check, or a person, may let it run again,
// once for each generation.
import { expect, test, vi } from 'vitest';
import type { Decision } from '../../workflows/contract/activities.ts';
import { claimCall, hashInput, recordStopped } from '../../activities/calls/journal.ts';
import { ToolFailure, type Tool, type ToolContext, type Verified } from '../../tools/tool.ts';
import { memoryStore } from '../support/memory-store.ts';
import { processIdentity } from '../../system/process/identity.ts';
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

const call = { session: 'session-1' as SessionId, key: 'chain.head.2' as CallKey };
const hash = hashInput({ text: 'x' });

/** The first attempt runs its tool and dies; `again` is a later one. */
async function died(more: Partial<Tool>) {
  const ran: unknown[] = [];
  const keys: string[] = [];
  const store = memoryStore();
  const count: Tool['call'] = async (input, context) => (
    ran.push(input),
    keys.push(context.idempotencyKey),
    { content: `run ${ran.length}` }
  );
  const tool = simpleTool({ call: count, ...more });
  const shared = bench([tool], { store, mode: 'default' });
  const simple = request('simple', { text: 'x' });
  const first = { ...shared, mode: 'bypass', store: losingFirstOutcome(store) } as const;
  await expect(executeCall(first, simple, callRun())).rejects.toThrow('gone');
  const again = (decision?: Decision, signal?: AbortSignal): Promise<Executed> =>
    executeCall(
      shared,
      simple,
      callRun({ mayHaveBegun: true, ...(decision && { decision }), ...(signal && { signal }) }),
    );
  /** As `again`, and dies like the first. */
  const dies = (): Promise<Executed> =>
    executeCall({ ...shared, store: losingFirstOutcome(store) }, simple, callRun({ mayHaveBegun: true }));
  return { ran, keys, store, shared, again, dies };
}

const finds = (found: Verified): Partial<Tool> => ({ recovery: 'verify', verify: async () => found });

test('a check that finds the work done gives the outcome, and nothing runs (L40)', async () => {
  const seen: unknown[] = [];
  const { ran, again } = await died({
    recovery: 'verify',
    verify: async (input, _, started) => (
      seen.push(input, started),
      { kind: 'done', output: { content: 'it is there' } }
    ),
  });
  expect(done(await again()).outcome).toMatchObject({
    content: 'it is there',
    isError: false,
    log: { decision: 'allowed', outcome: 'ok' },
  });
  expect(seen).toEqual([{ text: 'x' }, { at: expect.any(Number), host: processIdentity().host, times: 1 }]);
  expect(ran).toHaveLength(1);
});

test('a check that finds nothing done lets it run again, with the same idempotency key (L40)', async () => {
  const { keys, again } = await died(finds({ kind: 'not_done' }));
  expect(done(await again()).outcome).toMatchObject({ content: 'run 2', log: { outcome: 'ok' } });
  expect(done(await again()).outcome.content).toBe('run 2');
  expect(keys).toEqual(['chain.head.2', 'chain.head.2']);
});

test('of a hundred attempts that find nothing done, one runs (L40)', async () => {
  const { ran, again } = await died(finds({ kind: 'not_done' }));
  const all = await Promise.all(Array.from({ length: 100 }, () => again()));
  expect(ran).toHaveLength(2);
  expect(new Set(all.map((executed) => JSON.stringify(executed))).size).toBe(1);
});

test('a call is started three times at most, then reported (L40)', async () => {
  const { ran, again, dies } = await died(finds({ kind: 'not_done' }));
  await expect(dies()).rejects.toThrow('gone');
  await expect(dies()).rejects.toThrow('gone');
  expect(ran).toHaveLength(3);
  expect(done(await again()).outcome).toMatchObject({
    content: expect.stringContaining('was started for the third time') as string,
    log: { outcome: 'unknown' },
  });
  expect(ran).toHaveLength(3);
});

const checks: readonly (readonly [string, Tool['verify'] & object, string])[] = [
  ['that knows no more', async () => ({ kind: 'unknown', text: 'The service does not answer.' }), 'does not answer'],
  ['that fails', () => Promise.reject(new ToolFailure('no access')), 'Its check failed: no access'],
  ['that answers nothing', async () => undefined as never, 'outcome unknown'],
  ['that answers with no text', async () => ({ kind: 'done', output: {} }) as never, 'outcome unknown'],
];

test.each(checks)('a check %s leaves the outcome unknown (L40)', async (_, verify, sentence) => {
  const { ran, again } = await died({ recovery: 'verify', verify });
  const { outcome } = done(await again());
  expect(outcome.log.outcome).toBe('unknown');
  expect(outcome.content).toContain(sentence);
  expect(ran).toHaveLength(1);
});

test('a deploy during the check decides nothing; the next attempt checks anew (L50)', async () => {
  const abort = new AbortController();
  const verify = vi.fn(async (): Promise<Verified> => (abort.abort('deploy'), { kind: 'not_done' }));
  const { again } = await died({ recovery: 'verify', verify });
  expect(await again(undefined, abort.signal)).toEqual({ kind: 'void', cause: 'deploy' });
  expect(done(await again()).outcome.content).toBe('run 2');
  expect(verify).toHaveBeenCalledTimes(2);
});

test('a person is asked whether it runs again; the decision is for that one start (L40)', async () => {
  const { ran, again, dies } = await died({ recovery: 'ask' });
  const asked = await again();
  expect(asked).toEqual({
    kind: 'ask',
    ask: {
      tool: 'simple',
      reason: expect.stringMatching(
        /^simple was started at \S+ on host ".+" and its outcome is unknown; allow to run it again$/,
      ),
      inputHash: `${hash}.2`,
    },
  });
  // The one that let it run the first time is not enough.
  expect(await again({ kind: 'allow', inputHash: hash })).toEqual(asked);
  expect(await again({ kind: 'allow', inputHash: `${hash}.3` })).toEqual(asked);
  expect(ran).toHaveLength(1);
  expect(await dies()).toEqual(asked);
  expect(done(await again({ kind: 'allow', inputHash: `${hash}.2` })).outcome).toMatchObject({
    content: 'run 2',
    log: { approved: { inputHash: `${hash}.2` } },
  });
  expect(ran).toHaveLength(2);
});

test('a person may edit what runs again, and both hashes are recorded (L40)', async () => {
  const { ran, store, again } = await died({ recovery: 'ask' });
  const edited = await store.put(Buffer.from('{"text":"edited"}'));
  const { outcome } = done(await again({ kind: 'allow', inputHash: `${hash}.2`, edited }));
  expect(ran).toEqual([{ text: 'x' }, { text: 'edited' }]);
  expect(outcome.content).toContain('it ran with {"text":"edited"}');
  expect(outcome.log.approved).toEqual({ inputHash: `${hash}.2`, editedHash: edited });
});

test.each([
  ['does not fit the schema', '{"text":3}', 'The input of simple is not valid'],
  ['is no JSON', '{', 'what is stored of it is no JSON'],
])('an edited input that %s runs nothing: the question is put again (L40 L55)', async (_, json, problem) => {
  const { ran, store, again } = await died({ recovery: 'ask' });
  const edit = async (text: string): Promise<Executed> =>
    again({ kind: 'allow', inputHash: `${hash}.2`, edited: await store.put(Buffer.from(text)) });
  const asked = await edit(json);
  if (asked.kind !== 'ask') throw new Error(JSON.stringify(asked));
  expect(asked.ask).toMatchObject({ tool: 'simple', inputHash: `${hash}.2` });
  expect(asked.ask.reason).toMatch(/^simple was started at .* allow to run it again; the edited input will not do: /);
  expect(asked.ask.reason).toContain(problem);
  expect(ran).toHaveLength(1);
  expect(done(await edit('{"text":"edited"}')).outcome.log.outcome).toBe('ok');
  expect(ran).toEqual([{ text: 'x' }, { text: 'edited' }]);
});

test('a person who says no leaves the outcome unknown, not denied (L40)', async () => {
  const { ran, again } = await died({ recovery: 'ask' });
  const { outcome, facts } = done(await again({ kind: 'deny', reason: 'it was seen', interrupt: true }));
  expect(outcome.content).toMatch(/^outcome unknown: .* A person decided that it does not run again: it was seen\./);
  expect(outcome.log).toMatchObject({ decision: 'allowed', outcome: 'unknown' });
  expect(facts.fatal?.reason).toBe('permission_denied');
  expect(ran).toHaveLength(1);
});

test('a question that nobody answered in time is not told as a person’s decision (L40 L55)', async () => {
  const { ran, again } = await died({ recovery: 'ask' });
  const { outcome } = done(await again({ kind: 'deny', reason: 'nobody decided by noon', expired: true }));
  expect(outcome.content).toMatch(/^outcome unknown: .* was for a person to say: nobody decided by noon\./);
  expect(outcome.content).not.toContain('decided that');
  expect(ran).toHaveLength(1);
});

test('what runs again is what was started, also when a person had edited it (L40)', async () => {
  const ran: unknown[] = [];
  const tool = simpleTool({
    ...finds({ kind: 'not_done' }),
    call: async (input) => (ran.push(input), { content: 'done' }),
  });
  const shared = bench([tool], { mode: 'default' });
  const edited = await shared.store.put(Buffer.from('{"text":"edited"}'));
  const run = callRun({ decision: { kind: 'allow', inputHash: hash, edited } });
  const simple = request('simple', { text: 'x' });
  const dying = { ...shared, store: losingFirstOutcome(shared.store) };
  await expect(executeCall(dying, simple, run)).rejects.toThrow('gone');
  // A decision carries no further than the activity it was given to.
  const { outcome } = done(await executeCall(shared, simple, callRun({ mayHaveBegun: true })));
  expect(ran).toEqual([{ text: 'edited' }, { text: 'edited' }]);
  expect(outcome.log.approved).toEqual({ inputHash: hash, editedHash: edited });
});

test.each(['ask', 'verify'] as const)(
  'a call with recovery %s that a deploy stopped before it began runs without more ado (L40 L50)',
  async (recovery) => {
    const store = memoryStore();
    await claimCall(store, call, { tool: 'simple', input: {}, host: processIdentity() });
    await recordStopped(store, call, { cause: 'deploy', began: false, at: 0 });
    const verify = vi.fn();
    const shared = bench([simpleTool({ recovery, verify })], { store });
    expect(done(await executeCall(shared, request('simple'), callRun({ mayHaveBegun: true }))).outcome.content).toBe(
      'done',
    );
    expect(verify).not.toHaveBeenCalled();
  },
);

test('a started call whose tool is gone is reported (L40)', async () => {
  const { shared } = await died({ recovery: 'verify', verify: async () => ({ kind: 'not_done' }) });
  const without = { ...shared, registry: bench([]).registry };
  const { outcome } = done(
    await executeCall(without, request('simple', { text: 'x' }), callRun({ mayHaveBegun: true })),
  );
  expect(outcome.log.outcome).toBe('unknown');
});

test('a check gets the context of a tool, and one that hangs is given up after the stop', async () => {
  vi.useFakeTimers();
  const abort = new AbortController();
  let context: ToolContext | undefined;
  const { again } = await died({
    recovery: 'verify',
    verify: (_, given) => ((context = given), abort.abort('interrupt'), new Promise(() => undefined)),
  });
  const lost = again(undefined, abort.signal);
  await vi.waitUntil(() => context !== undefined);
  await vi.advanceTimersByTimeAsync(5_000);
  vi.useRealTimers();
  expect(done(await lost).outcome.log.outcome).toBe('unknown');
  expect(context?.idempotencyKey).toBe('chain.head.2');
});

test.each(['dontAsk', 'bypass'] as const)(
  'nobody is asked under %s, also when a rule asks: the outcome is reported as unknown (L40 L55)',
  async (mode) => {
    const { ran, shared } = await died({ recovery: 'ask' });
    const asking = { ...shared, mode, permissions: { ask: ['simple'] } };
    const recovered = await executeCall(asking, request('simple', { text: 'x' }), callRun({ mayHaveBegun: true }));
    expect(done(recovered).outcome.log.outcome).toBe('unknown');
    expect(ran).toHaveLength(1);
  },
);
