import { expect, test } from 'vitest';
import { limitsText, optionsText } from '../../../client/render/context-words.ts';

test('options that wait for the next run are told without the values of variables for tools (O12)', () => {
  expect(optionsText({ model: 'm', toolEnv: { TOKEN: 'secret' } })).toBe('model m, toolEnv');
  expect(optionsText({ toolEnv: null })).toBe('toolEnv as the worker says');
});

test('limits are told with their numbers, and one without a number is no error (O12)', () => {
  expect(limitsText({ maxTurns: 2_000, maxBudgetUsd: 5 })).toBe('2,000 turns, 5 US dollars');
  expect(limitsText({ maxTurns: 3, maxTokens: null } as never)).toBe('3 turns, tokens as the worker says');
});
