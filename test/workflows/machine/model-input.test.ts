// The part of a model call's input that earlier calls have left.
import { expect, test } from 'vitest';
import { noSpend, noUsage } from '../../../workflows/contract/loop.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { compactionInput, modelInput } from '../../../workflows/machine/step-inputs.ts';
import { modelLimits } from '../../../workflows/machine/limits.ts';
import { apply } from '../../../workflows/machine/transitions.ts';
import { model, modelEvent, replied, rules, state } from '../../support/machine.ts';

test('a call that was parked goes on with its failures and overloads, and the next one with none (L14 L19)', () => {
  const parked = { kind: 'parked', waitMs: 1, failures: 3, overloads: 2, detail: '', spend: noSpend } as const;
  const waiting = absorb(state({ supersedes: 4 }), rules, modelEvent(parked));
  expect(modelInput(waiting, rules)).toEqual({ cap: 8_000, supersedes: 4, failures: 3, overloads: 2 });
  expect(modelInput(absorb(waiting, rules, modelEvent(replied())), rules)).toEqual({ cap: 8_000 });
});

test('says what is left to spend, where there is a limit (L51)', () => {
  const spent = state({ spend: { usage: { ...noUsage, input: 300, output: 100 }, usd: 0.25 } });
  expect(modelInput(spent, { ...rules, maxBudgetUsd: 1, maxTokens: 1_000 })).toMatchObject({
    left: { usd: 0.75, tokens: 600 },
  });
  expect(modelInput(spent, { ...rules, maxTokens: 1_000 })).toMatchObject({ left: { tokens: 600 } });
  expect(modelInput(spent, rules)).not.toHaveProperty('left');
});

test('says which model is asked, what is left of the task, and that it is to sum up (L11 L19 L51)', () => {
  const models = [model, { ...model, outputCap: 4_000 }] as const;
  const late = state({ modelPosition: 1, taskRemaining: 500, wrapUp: 'turns' });
  expect(modelInput(late, { ...rules, models })).toEqual({ cap: 4_000, model: 1, taskRemaining: 500, wrapUp: true });
});

test('a window that the API has named goes before that of the rules, until another model takes over (L24 X1)', () => {
  const told = modelEvent({ kind: 'too_long', detail: 'big', window: 32_768, spend: noSpend });
  const small = absorb(state({}), rules, told);
  expect(modelLimits(small, rules)).toMatchObject({ window: 32_768, outputCap: 8_000 });
  const compacting = { do: 'compact', trigger: 'reactive', because: null } as const;
  expect(compactionInput(small, rules, compacting)).toMatchObject({ window: 32_768 });
  const refused = { ...compacting, because: { reason: 'image_error', detail: 'x' } } as const;
  expect(compactionInput({ ...small, maxOutput: 8_192 }, rules, refused)).toMatchObject({
    because: 'image_error',
    maxOutput: 8_192,
  });
  const switched = apply(small, { reason: 'model_fallback', append: [] });
  expect(modelLimits(switched, rules).window).toBe(model.window);
});

test('a cap is no more than the window leaves, and no less than a reply needs (L26)', () => {
  const models = [{ ...model, window: 100_000, outputCap: 32_000, leastOutputCap: 4_096 }] as const;
  const cap = (contextTokens: number) => modelInput(state({ contextTokens }), { ...rules, models }).cap;
  expect([cap(50_000), cap(80_000), cap(99_000)]).toEqual([32_000, 20_000, 4_096]);
});

test('rules of an earlier release do not look at what the window leaves (L26)', () => {
  const models = [{ ...model, window: 100_000, outputCap: 32_000 }] as const;
  expect(modelInput(state({ contextTokens: 99_000 }), { ...rules, models }).cap).toBe(32_000);
});
