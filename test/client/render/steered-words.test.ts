import { expect, test } from 'vitest';
import { optionsText } from '../../../client/render/steered-words.ts';

test('options that wait for the next run are told without the values of variables for tools (O12)', () => {
  expect(optionsText({ model: 'm', toolEnv: { TOKEN: 'secret' } })).toBe('model m, toolEnv');
  expect(optionsText({ toolEnv: null })).toBe('toolEnv as the worker says');
});
