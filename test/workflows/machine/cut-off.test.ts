// A reply cut by max output tokens: raised, then continued, then told (L26-L28).
import { describe, expect, test } from 'vitest';
import { noSpend, type Rules } from '../../../workflows/contract/loop.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { tokensInUse } from '../../../workflows/machine/context.ts';
import { modelInput } from '../../../workflows/machine/step-inputs.ts';
import { decide } from '../../../workflows/machine/decide.ts';
import type { Event, ModelEnded } from '../../../workflows/machine/events.ts';
import type { RunState } from '../../../workflows/machine/state.ts';
import { apply } from '../../../workflows/machine/transitions.ts';
import {
  cutOff,
  hash,
  model,
  modelEvent,
  output,
  rules,
  state,
  usd,
  userMessage,
  next,
} from '../../support/machine.ts';

/** Returns the state after `event` and its transition. */
function after(event: Event, from: RunState, limits: Rules = rules): RunState {
  const absorbed = absorb(from, limits, event);
  const move = decide(absorbed, limits, event);
  if (move.do !== 'go_round') throw new Error(`the run does not go round: ${move.do}`);
  return apply(absorbed, move.transition);
}

const prompt = { kind: 'user', ...userMessage('p') } as const;
const cut = { head: hash('cut'), contextTokens: 100 };
const raised = { capOverride: 64_000 };
const made: ModelEnded['summary'] = { text: 'read two files', spend: output(7) };
const told = { kind: 'notice', notice: { kind: 'batch_summary', text: 'read two files' } };
const withSummary = (event: Event): Event => ({ ...event, summary: made }) as Event;

describe('a reply cut by max output tokens', () => {
  test('raises the cap first, on the same request (L26)', () => {
    expect(next(modelEvent(cutOff(), { step: 12 }))).toEqual({
      do: 'go_round',
      transition: { reason: 'max_output_tokens_escalate', cap: 64_000, supersedes: 12, replaces: cut, append: [] },
    });
    const before = state({ pending: [prompt], contextTokens: 5_000, newerTokens: 70 });
    const { head, pending, contextTokens, newerTokens } = after(modelEvent(cutOff(9_000)), before);
    expect([head, pending.slice(0, -1)]).toEqual([before.head, before.pending]);
    expect([contextTokens, newerTokens]).toEqual([5_000, 70]);
  });

  test('never raises above what the window leaves or the model allows (L26)', () => {
    expect(next(modelEvent(cutOff(170_000)))).toMatchObject({ transition: { cap: 30_000 } });
    expect(next(modelEvent(cutOff()), {}, { models: [{ ...model, raisedOutputCap: 32_000 }] })).toMatchObject({
      transition: { cap: 32_000 },
    });
  });

  test('the cut reply is not in the request that replaces it, so it takes no room near the end of the window (L26)', () => {
    const million = { ...model, window: 1_000_000, outputCap: 32_000, raisedOutputCap: 128_000 };
    const models: Rules['models'] = [million];
    const late = cutOff(972_000, 32_000);
    expect(next(modelEvent(late), {}, { models })).toMatchObject({ transition: { cap: 60_000 } });
    const raisedOnce = after(modelEvent(late), state({ contextTokens: 0, newerTokens: 980_000 }), { ...rules, models });
    expect(modelInput(raisedOnce, { ...rules, models }).cap).toBe(60_000);
    const full = modelEvent(cutOff(1_000_000, 32_000));
    expect(next(full, {}, { models })).toMatchObject({ transition: { reason: 'max_output_tokens_recovery' } });
  });

  test('a session of an earlier release counts the cut reply, as it did (L3 L26)', () => {
    const from = state({});
    const event = modelEvent(cutOff(170_000, 8_000));
    const asked: string[] = [];
    const has = (change: string): boolean => asked.push(change) < 0;
    expect(decide(absorb(from, rules, event), rules, event, has)).toMatchObject({ transition: { cap: 30_000 } });
    expect(asked).toEqual(['perdure-cut-room']);
    const early = modelEvent(cutOff(100_000, 8_000));
    expect(decide(absorb(from, rules, early), rules, early, has)).toMatchObject({ transition: { cap: 64_000 } });
    expect(asked, 'nothing is noted where it makes no difference').toHaveLength(1);
  });

  test('a raised cap fits the model that a fallback leads to, and what its window leaves (L19 L26)', () => {
    const small = { ...model, outputCap: 2_000, raisedOutputCap: 4_000 };
    const models: Rules['models'] = [model, small];
    expect(modelInput(state(raised), { ...rules, models }).cap).toBe(64_000);
    expect(modelInput(state({ ...raised, modelPosition: 1 }), { ...rules, models }).cap).toBe(4_000);
    expect(modelInput(state({ ...raised, contextTokens: 150_000, newerTokens: 6_000 }), rules).cap).toBe(44_000);
    expect(modelInput(state({ ...raised, contextTokens: 199_000 }), rules).cap).toBe(8_000);
  });

  test.each([
    ['the caller chose the cap', {}, { outputCapFixed: true }],
    ['it was raised before', raised, {}],
    ['nothing can be gained', {}, { models: [{ ...model, raisedOutputCap: 8_000 }] }],
  ] as const)('continues the cut reply when %s (L27)', (_why, from, limits) => {
    expect(next(modelEvent(cutOff()), from, limits)).toEqual({
      do: 'go_round',
      transition: { reason: 'max_output_tokens_recovery', keep: cut, append: [] },
    });
  });

  test('what is kept of it is counted once: what the API counted has the request in it (L10 L27)', () => {
    const before = state({ ...raised, pending: [prompt], contextTokens: 90_000, newerTokens: 50_000 });
    const { head, pending, ...counts } = after(modelEvent(cutOff(143_000)), before);
    expect(head).toBe(hash('cut'));
    expect(pending).toMatchObject([{ notice: { kind: 'continue' } }, { kind: 'transition' }]);
    expect(tokensInUse({ ...counts, head, pending }, 0)).toBe(143_000);
  });

  test('after three recoveries the error is shown and the cut reply kept (L28)', () => {
    const move = next(modelEvent(cutOff()), { ...raised, recoveries: 3 });
    expect(move).toMatchObject({
      do: 'end',
      terminal: { reason: 'max_output_tokens' },
      keep: cut,
      append: [{ notice: { kind: 'error' } }],
    });
  });

  test('that spends the budget is kept, and ends the run (L16 L51)', () => {
    const event = modelEvent({ kind: 'cut_off', ...cut, spend: usd(2) });
    expect(next(event, {}, { maxBudgetUsd: 1 })).toMatchObject({
      do: 'end',
      terminal: { reason: 'budget_exceeded' },
      keep: cut,
    });
  });

  test.each([
    ['is asked for again', modelEvent(cutOff()), {}, [prompt, told]],
    ['is continued', modelEvent(cutOff()), raised, [told, { kind: 'notice', notice: { kind: 'continue' } }]],
  ] as const)(
    'a batch summary made beside a cut reply that %s goes with what comes next (L42)',
    (_what, event, from, want) => {
      const { pending, spend } = after(withSummary(event), state({ ...from, pending: [prompt] }));
      expect(pending.slice(0, -1)).toEqual(want);
      expect(spend).toEqual(output(7));
    },
  );

  test('a batch summary made beside a cut reply that the run ends on follows it (L42)', () => {
    for (const event of [
      modelEvent(cutOff(), { stop: 'interrupt' }),
      modelEvent({ kind: 'cut_off', ...cut, spend: noSpend }),
    ]) {
      const move = next(withSummary(event), { ...raised, recoveries: 3, pending: [prompt] });
      expect(move).toMatchObject({ do: 'end', keep: cut, append: [told, { kind: 'notice' }] });
    }
  });
});

describe('a raised cap that the API refuses', () => {
  const refusal = (status = 400, more = {}): Event =>
    modelEvent({ kind: 'failed', detail: 'no', status, spend: noSpend, ...more });
  const escalated = (): RunState =>
    after(modelEvent(cutOff(9_000)), state({ pending: [prompt], contextTokens: 5_000 }));

  test.each([
    ['in words we know', refusal(400, { maxOutput: 32_000 }), 32_000],
    ['in words nobody knows', refusal(422), 8_000],
    ['as a prompt that is too long', modelEvent({ kind: 'too_long', detail: 'no', spend: noSpend }), 8_000],
  ])(
    '%s: the cut reply is kept, and the cap is raised no more than the model allows (L26 L27)',
    (_, event, maxOutput) => {
      const kept = after(event, escalated());
      expect(kept).toMatchObject({
        head: hash('cut'),
        contextTokens: 9_000,
        recoveries: 1,
        capOverride: null,
        maxOutput,
      });
      expect(kept.pending).toMatchObject([
        { kind: 'transition', reason: 'max_output_tokens_escalate' },
        { kind: 'notice', notice: { kind: 'continue' } },
        { kind: 'transition', reason: 'max_output_tokens_recovery' },
      ]);
      expect(modelInput(kept, rules)).toMatchObject({ cap: 8_000, retells: true });
      const again = next(modelEvent(cutOff()), kept);
      const cap = maxOutput > 8_000 ? { cap: maxOutput } : {};
      const reason = maxOutput > 8_000 ? 'max_output_tokens_escalate' : 'max_output_tokens_recovery';
      expect(again).toMatchObject({ transition: { reason, ...cap } });
    },
  );

  test('an error that has another cause ends the run as ever (L20 L29)', () => {
    expect(next(refusal(401), escalated())).toMatchObject({ terminal: { reason: 'model_error' } });
    expect(next(refusal(400))).toMatchObject({ terminal: { reason: 'model_error' } });
  });

  test('a default that is more than the API gives is lowered, once, and never what a caller chose (L26)', () => {
    const move = next(refusal(400, { maxOutput: 4_096 }));
    expect(move).toEqual({ do: 'lower_cap', maxOutput: 4_096 });
    expect(modelInput(state({ maxOutput: 4_096 }), rules).cap).toBe(4_096);
    expect(next(refusal(400, { maxOutput: 4_096 }), { maxOutput: 4_096 })).toMatchObject({ do: 'end' });
    expect(next(refusal(400, { maxOutput: 4_096 }), {}, { outputCapFixed: true })).toMatchObject({ do: 'end' });
  });

  const small = { models: [{ ...model, outputCap: 32_000, leastOutputCap: 4_096 }] } as const;
  const named = modelEvent({ kind: 'too_long', detail: 'no', window: 32_768, spend: noSpend });

  test('a window that has no room for the cap beside the prompt gets half of what is left, once (L24 L26)', () => {
    expect(next(named, { contextTokens: 20_000 }, small)).toEqual({ do: 'lower_cap', maxOutput: 6_384 });
    const lowered = state({ contextTokens: 20_000, maxOutput: 6_384, window: 32_768 });
    expect(modelInput(lowered, { ...rules, ...small }).cap).toBe(6_384);
    expect(next(named, lowered, small)).toMatchObject({ do: 'compact', trigger: 'reactive' });
  });

  test('where nothing is left beside the prompt it is the prompt that is too long (L24)', () => {
    expect(next(named, { contextTokens: 32_000 }, small)).toMatchObject({ do: 'compact', trigger: 'reactive' });
  });
});
