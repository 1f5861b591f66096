// What a model call is given of the calls before it.
import { expect, test } from 'vitest';
import { noSpend, noUsage } from '../../../workflows/contract/loop.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { modelInput } from '../../../workflows/machine/context.ts';
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
