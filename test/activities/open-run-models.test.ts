// Which models a run may ask, and what it may ask of each, decided once when it opens (L19, L26, L57, L59); and whom it may ask (L55).
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

test('each model has its own window, cap and raised cap, of 64,000 at most (L26 L57)', async () => {
  expect(await opened({})).toMatchObject({
    rules: {
      models: [
        { window: 200_000, outputCap: 8_000, raisedOutputCap: 64_000 },
        { window: 50_000, outputCap: 4_000, raisedOutputCap: 4_000 },
      ],
    },
  });
});

test('the primary gets room for its thinking beside its answer, and the others, which do not think, none (L59)', async () => {
  const wide = await opened({ thinkingTokens: 70_000, fallbackModels: ['big-2'] });
  expect(wide).toMatchObject({
    rules: {
      models: [
        { outputCap: 78_000, raisedOutputCap: 78_000 },
        { outputCap: 8_000, raisedOutputCap: 64_000 },
      ],
    },
  });
});

test.each<[string, Partial<RunOptions>, string]>([
  ['more thinking than its model can say', { model: 'small-1', thinkingTokens: 4_000 }, 'thinking tokens are 4000'],
  ['a budget and a fallback without a price', { maxBudgetUsd: 1, fallbackModels: ['other-1'] }, 'other-1'],
])('a run with %s is refused in a sentence (L51 L59)', async (_name, options, sentence) => {
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
