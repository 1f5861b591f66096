import { expect, it } from 'vitest';
import { optionsProblem } from '../../workflows/contract/options-problem.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';

it.each<[string, unknown]>([
  ['max turns', { maxTurns: 0 }],
  ['max turns', { maxTurns: 1.5 }],
  ['max turns', { maxTurns: null }],
  ['max budget', { maxBudgetUsd: Number.NaN }],
  ['max budget', { maxBudgetUsd: -1 }],
  ['timeout', { timeoutMs: Number.POSITIVE_INFINITY }],
  ['max output tokens', { maxOutputTokens: -5 }],
  ['permission mode', { permissionMode: 'all' }],
  ['model', { model: ' ' }],
  ['model', { model: {} }],
  ['working directory', { cwd: 'here' }],
  ['working directory', { cwd: 5 }],
  ['system prompt', { systemPrompt: ['a'] }],
  ['system prompt', { systemPrompt: 'x'.repeat(100_001) }],
])('says what is wrong with the %s of %j', (what, options) => {
  expect(optionsProblem(options as Partial<RunOptions>)).toContain(what);
});

it('has nothing against options that can be kept', () => {
  const options: RunOptions = { cwd: '/tmp', maxTurns: 1, maxBudgetUsd: 0.01, timeoutMs: 1, systemPrompt: '' };
  expect(optionsProblem(options)).toBeUndefined();
});
