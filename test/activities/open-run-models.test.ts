// Which models a run may ask, and what it may ask of each, decided once when it opens (L19, L26,
// L57, L59); and whom it may ask (L55).
import { expect, test } from 'vitest';
import type { RunDefaults } from '../../activities/deps.ts';
import { openRun } from '../../activities/run/open-run.ts';
import type { PermissionMode, RunOptions } from '../../workflows/contract/session.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';
import { tempDir } from '../support/temp-dir.ts';

const models = {
  'big-': { window: 200_000, maxOutput: 128_000, price: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 } },
  'small-': { window: 50_000, maxOutput: 4_000, price: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 } },
};

async function opened(options: Partial<RunOptions>, own: Partial<RunDefaults> = {}) {
  const defaults = { models, model: 'big-1', smallModel: 'small-1', fallbackModels: ['small-1'], ...own };
  const { deps } = await benchDeps({ script: [], defaults });
  return openRun(deps)(fakeAttempt(), { chain: 'c', run: 1, step: 1, options: { cwd: tempDir(), ...options } });
}

test('each model has its own window, a cap that thinking has room in, and its maximum to raise it to (L26 L57)', async () => {
  expect(await opened({})).toMatchObject({
    rules: {
      models: [
        { window: 200_000, outputCap: 32_000, raisedOutputCap: 128_000, leastOutputCap: 4_096 },
        { window: 50_000, outputCap: 4_000, raisedOutputCap: 4_000, leastOutputCap: 4_000 },
      ],
    },
  });
});

test('the primary gets room for its thinking beside its answer, and the others, which take no budget, none (L59)', async () => {
  const wide = await opened({ thinkingTokens: 70_000, fallbackModels: ['big-2'] });
  expect(wide).toMatchObject({
    rules: {
      models: [
        { outputCap: 102_000, raisedOutputCap: 128_000 },
        { outputCap: 32_000, raisedOutputCap: 128_000 },
      ],
    },
  });
});

test('the two highest efforts get twice the room, unless the worker or the caller chose it (L26 X2)', async () => {
  const cap = async (options: Partial<RunOptions>, own: Partial<RunDefaults> = {}) => {
    const run = await opened({ model: 'claude-opus-5-5', fallbackModels: [], ...options }, own);
    return run.kind === 'opened' ? run.rules.models[0].outputCap : run.detail;
  };
  expect([await cap({ effort: 'high' }), await cap({ effort: 'xhigh' }), await cap({ effort: 'max' })]).toEqual([
    32_000, 64_000, 64_000,
  ]);
  expect(await cap({ effort: 'max' }, { outputCap: 9_000 })).toBe(9_000);
  expect(await cap({ effort: 'max', maxOutputTokens: 5_000 })).toBe(5_000);
});

test.each<[string, Partial<RunOptions>, string]>([
  [
    'an effort that its model has not',
    { model: 'claude-sonnet-4-6', effort: 'xhigh' },
    'claude-sonnet-4-6 has no effort "xhigh": there are low, medium, high, max',
  ],
  [
    'an effort, and a model without any',
    { model: 'claude-haiku-4-5', effort: 'low' },
    'claude-haiku-4-5 takes no effort',
  ],
  ['a slip in the name of its model', { model: 'sonet' }, '"sonet" is no model: did you mean sonnet?'],
  [
    'a fallback that there never was',
    { fallbackModels: ['claude-haiku-5'] },
    '"claude-haiku-5" is no model: did you mean claude-haiku-5-5',
  ],
  [
    'a budget and a model whose price nobody knows',
    { maxBudgetUsd: 1, model: 'qwen3-coder:30b', fallbackModels: [] },
    'models: { "qwen3-coder:30b": { price: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } } }',
  ],
  ['more thinking than its model can say', { model: 'small-1', thinkingTokens: 4_000 }, 'thinking tokens are 4000'],
  ['a budget and a fallback without a price', { maxBudgetUsd: 1, fallbackModels: ['other-1'] }, 'other-1'],
])('a run with %s is refused in a sentence (L51 L59 X2)', async (_name, options, sentence) => {
  expect(await opened(options)).toMatchObject({ kind: 'refused', detail: expect.stringContaining(sentence) });
});

test.each<[string, PermissionMode, Partial<RunOptions>]>([
  ['beside rules given before', 'default', { permissionMode: 'bypass', permissions: { ask: ['bash'] } }],
  ['of the worker beside rules of a caller', 'bypass', { permissions: { ask: ['bash'] } }],
])('mode bypass %s that ask is refused, for nobody would be asked (L55)', async (_how, permissionMode, options) => {
  expect(await opened(options, { permissionMode })).toMatchObject({
    kind: 'refused',
    detail: expect.stringMatching(/^permission mode "bypass" asks about nothing, and there are rules that ask/),
  });
  const unasked = { ...options, permissions: { deny: ['bash'] } };
  expect(await opened(unasked, { permissionMode })).toMatchObject({ kind: 'opened' });
});

test('a budget is refused where the small model, which is asked as well, has no price (L51)', async () => {
  const { deps } = await benchDeps({ script: [], defaults: { models, model: 'big-1', smallModel: 'local-llm' } });
  const options = { cwd: tempDir(), maxBudgetUsd: 1 };
  const run = await openRun(deps)(fakeAttempt(), { chain: 'c', run: 1, step: 1, options });
  expect(run).toMatchObject({ kind: 'refused', detail: expect.stringContaining('local-llm') });
});

test('a fallback of the worker that is the model the caller chose is left out (L19)', async () => {
  const run = await opened({ model: 'small-1' });
  expect(run.kind === 'opened' && run.rules.models.length).toBe(1);
});

test('a cap that the caller chose for the primary asks no fallback for more than it can say (L19 L58)', async () => {
  expect(await opened({ maxOutputTokens: 100_000 })).toMatchObject({
    rules: { models: [{ outputCap: 100_000 }, { outputCap: 4_000, raisedOutputCap: 4_000 }] },
  });
});

test('a lone surrogate in what the caller says to the model does not make requests unreadable (L58)', async () => {
  const { deps } = await benchDeps({ script: [] });
  const options = { cwd: tempDir(), systemPrompt: 'half \ud83d of a pair' };
  const run = await openRun(deps)(fakeAttempt(), { chain: 'c', run: 2, step: 1, options });
  if (run.kind === 'refused') throw new Error(run.detail);
  expect((await deps.config(run.config)).system).toMatch(/^half \ufffd of a pair/);
});

test('what is not known of a model is told to watchers, once in a session (X1)', async () => {
  const { deps, lines } = await benchDeps({ script: [], defaults: { model: 'qwen3-coder:30b' } });
  const open = openRun(deps);
  const options = { cwd: tempDir() };
  for (const run of [1, 2]) await open(fakeAttempt(), { chain: 'c', run, step: run, options });
  const told = lines.flatMap((line) => (line.type === 'notice' ? [line.notice] : []));
  const text = expect.stringMatching(
    /^nothing is known of qwen3-coder:30b, and a window of 200000 tokens is assumed; what .* costs is not known/,
  );
  // The bench has opened a run of its own before.
  expect(told).toEqual([
    { kind: 'about_model', text },
    { kind: 'about_model', text },
  ]);
});
