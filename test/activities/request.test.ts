// What a request says beside the messages: thinking, task budget, tools.
import { describe, expect, test } from 'vitest';
import { thinkingFor } from '../../activities/model/request.ts';
import type { Tool } from '../../activities/tools/tool.ts';
import { reply, toolUse } from '../../worker/scripted-model/index.ts';
import { benchDeps, fakeAttempt, look, touching } from '../support/bench-deps.ts';
import { until } from '../support/until.ts';

describe('thinking', () => {
  test('a budget is less than max_tokens, whatever the cap, and at least what the API takes (L59)', () => {
    expect(thinkingFor('claude-sonnet-4-5', 4_000, 8_000)).toEqual({ type: 'enabled', budget_tokens: 4_000 });
    expect(thinkingFor('claude-sonnet-4-5', 4_000, 4_000)).toEqual({ type: 'enabled', budget_tokens: 3_999 });
    expect(thinkingFor('claude-sonnet-4-5', 4_000, 1_024)).toBeUndefined();
    expect(thinkingFor('claude-sonnet-4-5', null, 8_000)).toBeUndefined();
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
    expect(thinkingFor(model, 2_000, 8_000)).toMatchObject({ type });
  });

  test.each(['claude-sonnet-5-5', 'claude-haiku-4-5'])('the API takes what is sent to %s (L58 L59)', async (model) => {
    const { call, model: server } = await benchDeps({ script: [reply('Yes.')], run: { model, thinkingTokens: 9_000 } });
    expect(await call()).toMatchObject({ kind: 'message' });
    expect(server.problems).toEqual([]);
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
    expect(model.requests[0]?.headers).toMatchObject({ 'anthropic-beta': 'task-budgets-2026-03-13' });
    expect(model.problems).toEqual([]);
  });

  test('without one the request has neither field nor beta (L11)', async () => {
    const { call, bodies, model } = await benchDeps({ script: [reply('One.')] });
    await call();
    expect(bodies()[0]).not.toHaveProperty('output_config');
    expect(model.requests[0]?.headers).not.toHaveProperty('anthropic-beta');
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
