// A tool's own check that puts another input in the place of the call's own, and a rule of a tool
// that answers later (L33, L55).
import { expect, test } from 'vitest';
import { z } from 'zod';
import { findClaim, hashInput, readDelegated } from '../../activities/calls/journal.ts';
import { planCall, prepareCall } from '../../activities/calls/prepare.ts';
import { defineTool, type PermissionDecision, type Tool } from '../../tools/tool.ts';
import type { CallRun, CallEnvironment } from '../../activities/calls/call-context.ts';
import type { Decision } from '../../workflows/contract/activities.ts';
import {
  executeCall,
  executeEarly,
  bench,
  callRun,
  done,
  losingFirstOutcome,
  request,
  simpleTool,
  workersGone,
} from './support.ts';
import { memoryStore } from '../support/memory-store.ts';
import { until } from '../support/until.ts';

/** A tool that writes its text in capitals, and what it ran with. */
function shouting(more: Partial<Tool> = {}, bench_: Partial<CallEnvironment> = {}) {
  const ran: unknown[] = [];
  const tool = simpleTool({
    validate: async (input) => ({ input: { text: (input as { text: string }).text.toUpperCase() } }),
    call: async (input) => (ran.push(input), { content: 'done' }),
    ...more,
  });
  const shared = bench([tool], bench_);
  const run = (more_: Partial<CallRun> = {}) => executeCall(shared, request('simple', { text: 'x' }), callRun(more_));
  const stored = async (hash: unknown): Promise<unknown> =>
    JSON.parse(Buffer.from(await shared.store.get(hash as never)).toString());
  return { ran, run, shared, stored };
}

test('the input that a check returns is what runs and what is recorded (L33)', async () => {
  const { ran, run, shared, stored } = shouting();
  const { log } = done(await run()).outcome;
  expect(ran).toEqual([{ text: 'X' }]);
  expect(await stored(log.ran)).toEqual({ text: 'X' });
  const claim = (await findClaim(shared.store, { session: shared.session, key: callRun().key }))?.claim;
  expect(claim).toMatchObject({ inputHash: hashInput({ text: 'X' }), changed: log.ran });
});

test('of a call beside the stream, too (L37)', async () => {
  const { ran, shared, stored } = shouting({ risk: 'read' });
  const early = { ...callRun(), id: 'early', signal: new AbortController().signal };
  const ended = await executeEarly(shared, request('simple', { text: 'x' }), early);
  expect(ran).toEqual([{ text: 'X' }]);
  expect(await stored(done(ended).outcome.log.ran)).toEqual({ text: 'X' });
});

test('it is held to the schema, to the rules and to what the call was admitted for (L33 L35 L55)', async () => {
  const wrong = shouting({ validate: async () => ({ input: { text: 3 } }) });
  expect(done(await wrong.run()).outcome.content).toMatch(
    /^The input was changed by the check of simple\. The input of simple is not valid/,
  );
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  expect(done(await shouting({ validate: async () => ({ input: circle }) }).run()).outcome.isError).toBe(true);
  const subject: Tool['subject'] = (input) => ({ kind: 'name', name: (input as { text: string }).text });
  const denied = shouting({ subject }, { permissions: { deny: ['simple(X)'] } });
  expect(done(await denied.run()).outcome.content).toContain('the rule "simple(X)" denies it');
  const risk: Tool['risk'] = (input) => ((input as { text: string }).text === 'x' ? 'read' : 'write');
  expect(done(await shouting({ risk }).run()).outcome.content).toContain('from one that changes nothing into one');
  expect([wrong.ran, denied.ran]).toEqual([[], []]);
});

test('people are asked about it, and what they allowed runs as it is; what they edited is checked as any input (L55)', async () => {
  let times = 0;
  const validate: Tool['validate'] = async () => ({ input: { text: `checked ${(times += 1)}` } });
  const { ran, run } = shouting({ validate }, { mode: 'default' });
  const asked = await run();
  if (asked.kind !== 'ask') throw new Error('not asked');
  const { reason, inputHash: hash } = asked.ask;
  expect(reason).toMatch(/\(its own check changed its input\)$/);
  expect(hash).toBe(hashInput({ text: 'checked 1' }));
  const allow: Decision = { kind: 'allow', inputHash: hash };
  expect(done(await run({ decision: allow })).outcome.log).toMatchObject({ approved: { inputHash: hash }, ran: hash });
  const other = shouting({}, { mode: 'default' });
  const edited = await other.shared.store.put(Buffer.from('{"text":"mine"}'));
  const again = await other.run();
  if (again.kind !== 'ask') throw new Error('not asked');
  const ended = done(await other.run({ decision: { kind: 'allow', inputHash: again.ask.inputHash, edited } }));
  expect(ended.outcome.content).toContain('it ran with {"text":"MINE"}');
  expect([ran, other.ran]).toEqual([[{ text: 'checked 1' }], [{ text: 'MINE' }]]);
});

test('it is what a lost call is verified with (L40)', async () => {
  const seen: unknown[] = [];
  const verify: Tool['verify'] = async (input) => (seen.push(input), { kind: 'done', output: { content: 'found' } });
  const store = losingFirstOutcome(memoryStore());
  const { run } = shouting({ recovery: 'verify', verify }, { store, ofHost: store, host: workersGone });
  await expect(run()).rejects.toThrow('the worker is gone');
  expect(done(await run()).outcome.content).toBe('found');
  expect(seen).toEqual([{ text: 'X' }]);
});

test('it is what the workflow is handed (L62)', async () => {
  const tool = defineTool({
    name: 'simple',
    description: 'Refunds.',
    inputSchema: z.object({ text: z.string() }),
    risk: 'external',
    validate: async ({ text }) => ({ input: { text: `${text}!` } }),
    activity: { name: 'refund', taskQueue: 'payments', options: { startToCloseTimeout: '1 minute' } },
  });
  const shared = bench([tool]);
  const handed = await executeCall(shared, request('simple', { text: 'x' }), callRun());
  expect(handed).toMatchObject({ kind: 'delegate', delegation: { args: [{ text: 'x!' }] } });
  const record = await readDelegated(shared.store, { session: shared.session, key: callRun().key });
  expect(record?.changed).toBe(hashInput({ text: 'x!' }));
});

const later = (said: PermissionDecision | undefined): Partial<Tool> => ({ canUse: () => Promise.resolve(said) });

test.each([
  [{ kind: 'allow' }, 'done'],
  [undefined, 'ask'],
  [{ kind: 'ask', why: 'it is late' }, 'ask'],
  [{ kind: 'deny', why: 'not today' }, 'Not run: simple was denied: not today'],
] as const)('a rule of a tool may answer later, %j: %s (L55)', async (said, came) => {
  const { run } = shouting(later(said), { mode: 'default' });
  const ended = await run();
  expect(ended.kind === 'ask' ? 'ask' : done(ended).outcome.content).toBe(came);
});

test('a call whose rule answers later is not started while the reply streams, nor with it (L37)', () => {
  const planned = (more: Partial<Tool>): string => {
    const { registry } = bench([simpleTool({ risk: 'read', ...more })]);
    const prepared = prepareCall(registry, { mode: 'default', cwd: '/' }, { name: 'simple', input: {} });
    return planCall(prepared, { hasPreHook: false, hasPostHook: false, budgeted: false });
  };
  expect([planned({}), planned(later({ kind: 'allow' })), planned(later(undefined))]).toEqual([
    'early',
    'regular',
    'regular',
  ]);
});

test('a call that a hook is told of afterwards starts once its reply counts, so that it is told once (L37 L41)', () => {
  const planned = (risk: Tool['risk']): string => {
    const { registry } = bench([simpleTool({ risk })]);
    const prepared = prepareCall(registry, { mode: 'bypass', cwd: '/' }, { name: 'simple', input: {} });
    return planCall(prepared, { hasPreHook: false, hasPostHook: true, budgeted: false });
  };
  expect([planned('read'), planned('write')]).toEqual(['regular', 'with_reply']);
});

test('a rule that fails is an outcome, and one that never answers is given up when the run is stopped (L33 L48)', async () => {
  const failing = shouting({ canUse: () => Promise.reject(new Error('the service is down')) });
  expect(done(await failing.run()).outcome).toMatchObject({
    content: 'Not run: simple failed: Error: the service is down (a defect of the tool).',
    log: { outcome: 'not_run' },
  });
  const stop = new AbortController();
  let asked = false;
  const canUse = (): Promise<never> => ((asked = true), new Promise<never>(() => undefined));
  const hung = shouting({ canUse });
  const ending = hung.run({ signal: stop.signal });
  await until(() => asked);
  stop.abort('interrupt');
  expect(done(await ending).outcome.log.outcome).toBe('not_run');
  expect([failing.ran, hung.ran]).toEqual([[], []]);
});
