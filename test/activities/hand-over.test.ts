// Calls that the workflow carries out, handed over to it in the activity of their reply.
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { Attempt } from '../../activities/attempt.ts';
import { callModel } from '../../activities/call-model.ts';
import { defineTool, type Tool } from '../../tools/tool.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import type { CallModel, ModelCallAnswer } from '../../workflows/contract/activities.ts';
import { LARGEST_BATCH } from '../../workflows/contract/calls.ts';
import { benchDeps, fakeAttempt, look, touching, type BenchOptions } from '../support/bench-deps.ts';

type Bench = Awaited<ReturnType<typeof benchDeps>>;

type Made = { readonly article: string };

/** `made` holds what was asked of the tools to hand over. */
function errands() {
  const made: string[] = [];
  const errand = (name: string, risk: 'read' | 'external', more: object = {}): Tool =>
    defineTool({
      name,
      description: `Runs ${name}.`,
      inputSchema: z.strictObject({ article: z.string() }),
      risk,
      activity: { name: 'deliver', args: ({ article }: Made) => (made.push(article.slice(0, 9)), [article]) },
      ...more,
    });
  return { made, errand, tools: [errand('fetch', 'read'), errand('deliver', 'external'), look] };
}

const fetch = (article: string) => toolUse('fetch', { article });
const deliver = (article: string) => toolUse('deliver', { article });
const touch = () => toolUse('touch', { file: 'a' });

const work = (article: string) => ({ kind: 'activity', name: 'deliver', args: [article], options: {} });

async function called(
  calls: ReturnType<typeof toolUse>[],
  { tools = [], ...options }: Partial<BenchOptions> = {},
  more: Partial<CallModel> = {},
) {
  const { made, tools: errandTools } = errands();
  const { tool, effects } = touching();
  const bench = await benchDeps({ script: [reply(calls)], tools: [...errandTools, tool, ...tools], ...options });
  return { bench, made, effects, ...told(await answered(bench, fakeAttempt(), more)) };
}

const answered = ({ deps, input }: Bench, attempt: Attempt, more: Partial<CallModel> = {}) =>
  callModel(deps)(attempt, input(more));

/** What was handed over, of each call. */
function told(answer: ModelCallAnswer) {
  if (answer.kind !== 'message' && answer.kind !== 'handed_over') throw new Error(answer.kind);
  const { kind, head, calls } = answer;
  return { kind, head, calls, handed: calls.map(({ delegate }) => delegate) };
}

describe('a call that the workflow carries out', () => {
  test('is handed over with its reply, once, as the regular way does it (L62)', async () => {
    const { bench, made, kind, head, handed } = await called([deliver('x')]);
    expect(kind).toBe('handed_over');
    expect(handed).toEqual([work('x')]);
    expect(await bench.tool(fakeAttempt(), head, 0)).toEqual({ delegate: work('x') });
    expect(made).toEqual(['x']);
  });

  test('is handed over after the effects before it, with the others of its batch and with none after it (L35 L62)', async () => {
    const { effects, calls, handed } = await called([touch(), fetch('a'), fetch('b'), deliver('c'), touch()]);
    expect(effects).toHaveLength(1);
    expect(calls[0]).toMatchObject({ ran: {} });
    expect(handed).toEqual([undefined, work('a'), work('b'), undefined, undefined]);
    const one = await called([deliver('a'), fetch('b'), touch()]);
    expect(one.handed).toEqual([work('a'), undefined, undefined]);
    expect(one.effects).toEqual([]);
  });

  test('is handed over beside safe calls that go the regular way, and after these only when it is safe too (L35 L62)', async () => {
    const asking = { ...look, name: 'ask', asksModel: () => true };
    const given = { tools: [asking] };
    expect((await called([toolUse('ask', {}), fetch('a')], given)).handed).toEqual([undefined, work('a')]);
    expect((await called([toolUse('ask', {}), deliver('a')], given)).handed).toEqual([undefined, undefined]);
  });

  test.each<[string, Partial<BenchOptions>, Partial<CallModel>]>([
    ['it must be asked about', { run: { permissionMode: 'default' } }, {}],
    ['a pre-tool hook is about it', { hooks: { preTool: [() => undefined] } }, {}],
    ['the budget is spent (L51)', {}, { left: { tokens: 1 } }],
    ['the reply sums up the run (L51)', {}, { wrapUp: true }],
  ])('waits for the regular way when %s (L62)', async (_why, options, more) => {
    const { made, kind } = await called([deliver('x')], options, more);
    expect([kind, made]).toEqual(['message', []]);
  });

  test('is handed over within a budget: whether it begins is for the workflow to say (L51 L62)', async () => {
    const { handed } = await called([deliver('x')], { run: { maxTokens: 1e6 } }, { left: { tokens: 1e6 } });
    expect(handed).toEqual([work('x')]);
  });

  test('waits for the regular way when an outcome before it changes what it is called with, or its attempt was stopped (L38 L48)', async () => {
    const modifying = {
      ...look,
      name: 'narrow',
      call: () => Promise.resolve({ content: 'ok', modify: { allowedTools: ['look'] } }),
    };
    expect((await called([toolUse('narrow', {}), deliver('x')], { tools: [modifying] })).made).toEqual([]);
    const attempt = fakeAttempt();
    const stopping = { ...touching().tool, call: async () => (attempt.abort('stop'), { content: 'ok' }) };
    const { made, tools } = errands();
    const bench = await benchDeps({ script: [reply([touch(), deliver('x')])], tools: [...tools, stopping] });
    const { calls } = told(await answered(bench, attempt));
    expect(calls.map(({ ran, delegate }) => [ran !== undefined, delegate])).toEqual([
      [true, undefined],
      [false, undefined],
    ]);
    expect(made).toEqual([]);
  });

  test('that was judged to run beside others is refused when it no longer could (L35 L62)', async () => {
    const { made, errand } = errands();
    const { tool, effects } = touching();
    const changing = errand('fetch', 'read', { safe: () => effects.length === 0 });
    const bench = await benchDeps({ script: [reply([touch(), fetch('a')])], tools: [tool, changing] });
    const { head, calls } = told(await answered(bench, fakeAttempt()));
    expect(calls).toMatchObject([{ ran: {} }, { safe: true, ran: { error: true } }]);
    expect(await bench.tool(fakeAttempt(), head, 1)).toEqual(calls[1]?.ran);
    expect(made).toEqual([]);
  });

  test('that cannot be handed over has its outcome with the reply (L33 L62)', async () => {
    const long = 'x'.repeat(70_000);
    const { bench, head, kind, calls } = await called([deliver(long), fetch('b')]);
    expect(calls).toMatchObject([{ ran: { error: true } }, {}]);
    expect(kind).toBe('message');
    expect(await bench.tool(fakeAttempt(), head, 0)).toEqual(calls[0]?.ran);
  });

  test('no more is handed over with a reply than its answer may hold, and than runs together (L35 L62)', async () => {
    const [large, small] = ['x'.repeat(60_000), 'y'];
    const { bench, head, handed } = await called([fetch(large), fetch(large), fetch(large), fetch(small)]);
    expect(handed).toEqual([work(large), work(large), undefined, undefined]);
    expect(await bench.tool(fakeAttempt(), head, 2)).toEqual({ delegate: work(large) });
    const warned = vi.spyOn(process, 'emitWarning');
    onTestFinished(() => warned.mockRestore());
    const many = await called(Array.from({ length: LARGEST_BATCH + 1 }, (_, n) => fetch(`${n}`)));
    expect(many.handed.filter((each) => each)).toHaveLength(LARGEST_BATCH);
    expect(many.handed.at(-1)).toBeUndefined();
    expect(warned).not.toHaveBeenCalled();
  });

  test('is found by the next attempt as it was handed over when this one died (L62 L63)', async () => {
    const { bench, made, head } = await called([deliver('x')]);
    const again = told(await answered(bench, fakeAttempt(2)));
    expect(again).toMatchObject({ kind: 'message', head, calls: [{ mayHaveBegun: true }], handed: [undefined] });
    expect(await bench.tool(fakeAttempt(), head, 0)).toEqual({ delegate: work('x') });
    expect(made).toEqual(['x']);
  });
});
