// Hooks around one call, in the order of L33.
import { expect, test } from 'vitest';
import type { PostToolVerdict, PreToolVerdict } from '../../activities/hooks/hooks.ts';
import type { LiveEvent } from '../../store/live/events.ts';
import { findClaim } from '../../activities/calls/journal.ts';
import type { Tool } from '../../tools/tool.ts';
import type { CallRun, CallEnvironment } from '../../activities/calls/call-context.ts';
import { noHooksBut } from '../support/no-hooks.ts';
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

type Said = { readonly pre?: Partial<PreToolVerdict>; readonly post?: Partial<PostToolVerdict> };

/** One call of `simple` with hooks that say this; `order` is what happened. */
function hooked({ pre, post }: Said, more: Partial<Tool> = {}, bench_: Partial<CallEnvironment> = {}) {
  const order: unknown[] = [];
  const events: LiveEvent[] = [];
  const hooks = noHooksBut({
    has: (name) => (name === 'preTool' && pre !== undefined) || (name === 'postTool' && post !== undefined),
    preTool: async (context, call) => (
      context.watch?.({ type: 'end', hook: 'audit.sh', result: 'failed: exit status 7' }),
      order.push(['pre', call.input]),
      { decision: null, input: undefined, stop: null, failed: [], ...pre }
    ),
    postTool: async (_, call) => (order.push(['post', call.content]), { context: [], stop: null, failed: [], ...post }),
  });
  const tool = simpleTool({
    validate: async (input) => void order.push(['validate', input]),
    call: async (input) => (order.push(['call', input]), { content: 'done' }),
    ...more,
  });
  const shared = bench([tool], { hooks, ...bench_ });
  const run = (more_: Partial<CallRun> = {}): Promise<Executed> =>
    executeCall(shared, request('simple', { text: 'x' }), callRun({ say: (event) => events.push(event), ...more_ }));
  return { order, events, run, shared };
}

test('hooks run after the check and after the call, in this order (L33)', async () => {
  const { order, run } = hooked({ pre: {}, post: {} });
  await run();
  expect(order).toEqual([
    ['validate', { text: 'x' }],
    ['pre', { text: 'x' }],
    ['call', { text: 'x' }],
    ['post', 'done'],
  ]);
});

test('a hook that denies is the outcome, and neither the call nor a later hook runs (L33)', async () => {
  const { order, run } = hooked({ pre: { decision: { kind: 'deny', why: 'not on Fridays' } }, post: {} });
  expect(done(await run()).outcome).toMatchObject({
    content: 'Not run: simple was denied: a hook denied it: not on Fridays',
    log: { decision: 'denied', outcome: 'not_run' },
  });
  expect(order.map((entry) => (entry as [string])[0])).toEqual(['validate', 'pre']);
});

test('a hook that allows spares asking; one that asks makes it asked (L55)', async () => {
  const allowed = hooked({ pre: { decision: { kind: 'allow' } } }, {}, { mode: 'default' });
  expect(done(await allowed.run()).outcome.content).toBe('done');
  const asking = hooked(
    { pre: { decision: { kind: 'ask', why: 'it is late' } } },
    { risk: 'read' },
    { mode: 'default' },
  );
  expect(await asking.run()).toMatchObject({
    ask: { reason: expect.stringContaining('A hook asks first: it is late') as string },
  });
});

test('an input that a hook changed passes schema, check and permission again, and is what runs (L33)', async () => {
  const { order, run } = hooked({ pre: { input: { text: 'changed' } } });
  await run();
  expect(order.slice(2)).toEqual([
    ['validate', { text: 'changed' }],
    ['call', { text: 'changed' }],
  ]);
  const broken = hooked({ pre: { input: { text: 3 } } });
  expect(done(await broken.run()).outcome.content).toMatch(
    /^A hook changed the input\. The input of simple is not valid/,
  );
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  expect(done(await hooked({ pre: { input: loop } }).run()).outcome.isError).toBe(true);
});

test('a hook may not turn a call that changes nothing into one that does (L35)', async () => {
  const byText: Partial<Tool> = { risk: (input) => ((input as { text: string }).text === 'x' ? 'read' : 'write') };
  for (const decision of [null, { kind: 'allow' }, { kind: 'ask', why: 'look at it' }] as const) {
    const { order, run } = hooked({ pre: { input: { text: 'changed' }, decision } }, byText, { mode: 'default' });
    expect(done(await run()).outcome.content).toContain('from one that changes nothing into one that does');
    expect(order.some((entry) => (entry as [string])[0] === 'call')).toBe(false);
  }
});

test('a call that changes nothing, and still does not with the input of a hook, runs unclaimed beside others (L35)', async () => {
  const { order, run, shared } = hooked({ pre: { input: { text: 'changed' } } }, { risk: 'read' });
  expect(done(await run({ safe: true })).outcome.log.outcome).toBe('ok');
  expect(order.at(-1)).toEqual(['call', { text: 'changed' }]);
  expect(await findClaim(shared.store, { session: shared.session, key: callRun().key })).toBeNull();
});

test('what a hook changed can be asked about: the decision is for it, and the hook does not run again (L55)', async () => {
  const { order, run, shared } = hooked({ pre: { input: { text: 'changed' } } }, {}, { mode: 'default' });
  const asked = await run();
  if (asked.kind !== 'ask') throw new Error('not asked');
  const { inputHash, reason } = asked.ask;
  expect(reason).toContain('(a hook changed its input)');
  expect(Buffer.from(await shared.store.get(inputHash as never)).toString()).toBe('{"text":"changed"}');
  order.length = 0;
  const { outcome } = done(await run({ decision: { kind: 'allow', inputHash } }));
  expect(outcome).toMatchObject({ content: 'done', log: { approved: { inputHash } } });
  expect(order).toEqual([
    ['validate', { text: 'changed' }],
    ['call', { text: 'changed' }],
  ]);
});

test('a hook before the call ends the run and keeps the call from running; one after it lets its outcome stand (L41)', async () => {
  const before = hooked({ pre: { stop: 'enough' } });
  expect(done(await before.run())).toMatchObject({
    outcome: { isError: true, log: { outcome: 'not_run' } },
    facts: { stop: 'enough', error: true },
  });
  expect(before.order).toHaveLength(2);
  const after = done(await hooked({ post: { stop: 'enough' } }).run());
  expect(after).toMatchObject({ outcome: { content: 'done', isError: false }, facts: { stop: 'enough' } });
});

test('a tool can end the run after its result (L41)', async () => {
  const tool = simpleTool({ call: async () => ({ content: 'handed over', stopRun: 'handed over to a person' }) });
  expect(await executeCall(bench([tool]), request('simple'), callRun())).toMatchObject({
    outcome: { content: 'handed over', isError: false },
    facts: { stop: 'handed over to a person' },
  });
});

test('what hooks add after a call is appended to its outcome, each under its name (L33)', async () => {
  const context = [
    { hook: 'lint', text: 'two warnings' },
    { hook: 'test', text: 'green' },
  ];
  const { outcome } = done(await hooked({ post: { context } }).run());
  expect(outcome.content).toBe('done\n\nFrom the hook lint:\ntwo warnings\n\nFrom the hook test:\ngreen');
});

test('a hook that fails is shown, and changes nothing (L60)', async () => {
  const failed = [{ hook: 'audit.sh', detail: 'exit status 7' }];
  const { events, run } = hooked({ pre: { failed }, post: { failed } });
  expect(done(await run())).toMatchObject({ outcome: { content: 'done', isError: false }, facts: {} });
  expect(events).toEqual([{ type: 'hook_end', iteration: 1, hook: 'audit.sh', result: 'failed: exit status 7' }]);
});

test('hooks get the observable input, and cannot touch the one that runs (L18)', async () => {
  const enriched: Partial<Tool> = {
    backfillObservableInput: (input) => ({ ...(input as object), full: '/workspace/x' }),
  };
  const { order, run } = hooked({ pre: {} }, enriched);
  await run();
  expect(order).toContainEqual(['pre', { text: 'x', full: '/workspace/x' }]);
  expect(order).toContainEqual(['call', { text: 'x' }]);
});

test('a call that was started is not judged by hooks again (L40)', async () => {
  const { order, run, shared } = hooked({ pre: {} });
  const dying = losingFirstOutcome(shared.store);
  const call = request('simple', { text: 'x' });
  await expect(executeCall({ ...shared, store: dying }, call, callRun())).rejects.toThrow('the worker is gone');
  order.length = 0;
  expect(done(await run({ mayHaveBegun: true })).outcome.log.outcome).toBe('unknown');
  expect(order).toEqual([]);
});

test('a hook that a deploy stopped has said nothing: nobody is asked in its place, and the next attempt asks it again (L50)', async () => {
  const abort = new AbortController();
  const { run, shared, order } = hooked({ pre: {} }, {}, { mode: 'default' });
  const { preTool } = shared.hooks;
  shared.hooks.preTool = (context, call) => (abort.abort('deploy'), preTool(context, call));
  expect(await run({ signal: abort.signal })).toEqual({ kind: 'void', cause: 'deploy' });
  expect(await run({ mayHaveBegun: true })).toMatchObject({ kind: 'ask' });
  expect(order.filter((step) => Array.isArray(step) && step[0] === 'pre')).toHaveLength(2);
});
