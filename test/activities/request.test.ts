// What a request says beside the messages: thinking, task budget, tools.
import { describe, expect, test } from 'vitest';
import { effortFor, leastThinking, thinkingFor } from '../../activities/model/request.ts';
import type { Tool } from '../../tools/tool.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { benchDeps, fakeAttempt, look, touching } from '../support/bench-deps.ts';
import { createModels } from '../../models/models.ts';
import { until } from '../support/until.ts';

const { facts } = createModels();

describe('thinking', () => {
  test('a budget is less than max_tokens, whatever the cap, and at least what the API takes (L59)', () => {
    const of = (tokens: number | null, cap: number) =>
      thinkingFor(facts('claude-sonnet-4-5'), tokens, { cap, primary: true });
    expect(of(4_000, 8_000)).toEqual({ type: 'enabled', budget_tokens: 4_000 });
    expect(of(4_000, 4_000)).toEqual({ type: 'enabled', budget_tokens: 3_999 });
    expect(of(4_000, 1_024)).toBeUndefined();
    expect(of(null, 8_000)).toBeUndefined();
  });

  test.each([
    ['claude-sonnet-5-5', 'adaptive'],
    ['claude-opus-4-7', 'adaptive'],
    ['claude-fable-5-1', 'adaptive'],
    ['anthropic.claude-opus-5', 'adaptive'],
    ['claude-haiku-4-5-20251001', 'enabled'],
    ['claude-opus-4-20250514', 'enabled'],
    ['claude-3-7-sonnet-20250219', 'enabled'],
    ['my-model', 'enabled'],
  ])('%s gets the form it knows, %s (L58 L59)', (model, type) => {
    expect(thinkingFor(facts(model), 2_000, { cap: 8_000, primary: true })).toMatchObject({ type });
  });

  test('a model that thinks by itself is asked for its thinking in short, on every call and after a fallback (L59 X2)', () => {
    const shown = { type: 'adaptive', display: 'summarized' };
    for (const primary of [true, false]) {
      expect(thinkingFor(facts('claude-sonnet-5-5'), null, { cap: 8_000, primary })).toEqual(shown);
      expect(thinkingFor(facts('claude-opus-4-8'), 2_000, { cap: 8_000, primary })).toEqual(shown);
    }
    expect(thinkingFor(facts('claude-opus-4-8'), null, { cap: 8_000, primary: true })).toBeUndefined();
  });

  test('a budget is for the primary alone: another has no thinking of its own to go on from (L59)', () => {
    expect(thinkingFor(facts('claude-haiku-4-5'), 2_000, { cap: 8_000, primary: false })).toBeUndefined();
  });

  test('of a model that nobody knows nothing is asked unless somebody wants it (L59 X1)', () => {
    expect(thinkingFor(facts('qwen3-coder:30b'), null, { cap: 8_000, primary: true })).toBeUndefined();
  });

  test('a question beside the conversation is answered without thinking where that can be (X1)', () => {
    expect(leastThinking(facts('claude-haiku-5-5'))).toEqual({ fields: { thinking: { type: 'disabled' } }, room: 0 });
    expect(leastThinking(facts('claude-sonnet-5-5'))).toEqual({
      fields: { thinking: { type: 'between_tools' } },
      room: 0,
    });
    const least = { fields: { output_config: { effort: 'low' } }, room: 8_000 };
    expect(leastThinking(facts('claude-opus-5-5'))).toEqual(least);
    expect(leastThinking(facts('claude-haiku-4-5'))).toEqual({ fields: {}, room: 0 });
    expect(leastThinking(facts('my-model'))).toEqual({ fields: {}, room: 0 });
  });

  test.each(['claude-sonnet-5-5', 'claude-haiku-4-5'])('the API takes what is sent to %s (L58 L59)', async (model) => {
    const { call, model: server } = await benchDeps({ script: [reply('Yes.')], run: { model, thinkingTokens: 9_000 } });
    expect(await call()).toMatchObject({ kind: 'message' });
    expect(server.problems).toEqual([]);
  });
});

describe('effort', () => {
  test.each([
    ['claude-opus-5-5', 'max', { effort: 'max' }],
    ['claude-sonnet-4-6', 'xhigh', { effort: 'high' }],
    ['claude-opus-4-5', 'max', { effort: 'high' }],
    ['claude-haiku-4-5', 'high', {}],
    ['my-model', 'high', { effort: 'high' }],
    ['claude-opus-5-5', undefined, {}],
  ] as const)('%s is asked for %s, or for the nearest below that it has (X2)', (model, wanted, sent) => {
    expect(effortFor(facts(model), wanted)).toEqual(sent);
  });

  test('is said with each request, and nothing is said where nobody wants one (X2)', async () => {
    const { call, bodies, model } = await benchDeps({ script: [reply('One.')], run: { effort: 'low' } });
    await call();
    expect(bodies()[0]).toMatchObject({ output_config: { effort: 'low' } });
    expect(model.problems).toEqual([]);
  });
});

describe('the call that sums up a run', () => {
  test('is like any other: what is cached of the conversation is read (L22 L51)', async () => {
    const { call, bodies } = await benchDeps({ script: [reply('One.', { times: 2 })], tools: [look] });
    await call();
    await call(fakeAttempt(), { step: 3, wrapUp: true });
    expect(bodies()[1]).toEqual(bodies()[0]);
  });
});

describe('a task budget', () => {
  test('is sent whole until the first compaction, then with what remains (L11)', async () => {
    const { call, bodies, model } = await benchDeps({
      script: [reply('One.', { times: 3 })],
      run: { taskBudget: 50_000 },
    });
    await call();
    await call(fakeAttempt(), { step: 3, taskRemaining: 12_000 });
    await call(fakeAttempt(), { step: 4, taskRemaining: 0 });
    const total = { type: 'tokens', total: 50_000 };
    expect(bodies()).toMatchObject([
      { output_config: { task_budget: total } },
      { output_config: { task_budget: { ...total, remaining: 12_000 } } },
      { output_config: { task_budget: { ...total, remaining: 0 } } },
    ]);
    expect(bodies()[0]).not.toHaveProperty('output_config.task_budget.remaining');
    expect(model.requests[0]?.headers['anthropic-beta']).toContain('task-budgets-2026-03-13');
    expect(model.problems).toEqual([]);
  });

  test('without one the request has neither field nor beta (L11)', async () => {
    const { call, bodies, model } = await benchDeps({ script: [reply('One.')] });
    await call();
    expect(bodies()[0]).not.toHaveProperty('output_config');
    expect(model.requests[0]?.headers['anthropic-beta'] ?? '').not.toContain('task-budgets');
  });
});

describe('the tools', () => {
  test('are those of now, and of them those that are still allowed (L38 L44)', async () => {
    const bench = await benchDeps({ script: [reply('One.', { times: 3 })], tools: [look, touching().tool] });
    const named = () =>
      bench.bodies().map((body) => (body as { tools?: { name: string }[] }).tools?.map(({ name }) => name));
    await bench.call();
    await bench.call(fakeAttempt(), { step: 3, context: { allowedTools: ['look'] } });
    await bench.call(fakeAttempt(), { step: 4, context: { allowedTools: [] } });
    expect(named()).toEqual([['look', 'touch'], ['look'], undefined]);
  });

  test('watchers and observers see the observable input, and what is stored and sent is untouched (L18)', async () => {
    const secret: Tool = { ...look, name: 'secret', backfillObservableInput: () => ({ shown: true }) };
    const observed: unknown[] = [];
    const bench = await benchDeps({
      script: [reply([toolUse('secret', { token: 'abc' })])],
      tools: [secret],
      hooks: { postSampling: [({ message }) => void observed.push(message.content[0])] },
    });
    const result = await bench.call();
    if (result.kind !== 'message') throw new Error(result.kind);
    await until(() => observed.length === 1);
    expect(observed).toMatchObject([{ type: 'tool_use', input: { shown: true } }]);
    const stored = (await bench.entries(result.head)).find((entry) => entry.kind === 'reply');
    expect(stored).toMatchObject({ message: { content: [{ input: { token: 'abc' } }] } });
    await bench.call(fakeAttempt(2));
    const told = bench.lines.filter(({ type }) => type === 'tool_use');
    expect(told).toMatchObject([{ input: { shown: true } }, { input: { shown: true } }]);
  });
});
