import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import type { Body } from './support.ts';
import { hello, model, post, refusal } from './support.ts';

const budget = { type: 'tokens', total: 20_000 };

test.each<[string, Body, string]>([
  [
    'a thinking budget that is too small',
    { ...hello, thinking: { type: 'enabled', budget_tokens: 1_023 } },
    'greater than or equal to 1024',
  ],
  [
    'thinking that adapts in a model that cannot',
    { ...hello, model: 'claude-haiku-4-5', thinking: { type: 'adaptive' } },
    'adaptive thinking is not supported',
  ],
  ['a task budget without its beta', { ...hello, output_config: { task_budget: budget } }, 'task_budget: Extra inputs'],
  ['an effort that is none', { ...hello, output_config: { effort: 'some' } }, 'output_config.effort: Input should be'],
])('%s is a 400 in the words of the API (L58)', async (_name, body, message) => {
  const server = await model([reply('ok')]);
  expect(await refusal(await post(server, body))).toMatchObject({
    status: 400,
    message: expect.stringContaining(message),
  });
});

test.each([
  [
    'of fewer than 20,000 tokens',
    { ...budget, total: 19_999 },
    'total: Input should be greater than or equal to 20000',
  ],
  ['without a total', { type: 'tokens' }, 'total: Field required'],
  ['of another kind', { ...budget, type: 'dollars' }, "type: Input should be 'tokens'"],
  [
    'with less than nothing left',
    { ...budget, remaining: -1 },
    'remaining: Input should be greater than or equal to 0',
  ],
])('a task budget %s is a 400 also with its beta (L11)', async (_name, taskBudget, message) => {
  const server = await model([reply('ok')]);
  const beta = { 'anthropic-beta': 'other-beta, task-budgets-2026-03-13' };
  const body = (value: object): Body => ({ ...hello, output_config: { task_budget: value } });
  expect((await refusal(await post(server, body(taskBudget), beta)))['message']).toContain(message);
  expect((await post(server, body({ ...budget, remaining: 0 }), beta)).status).toBe(200);
});
