import { describe, expect, test } from 'vitest';
import { apply } from '../../../workflows/machine/transitions.ts';
import type { Transition } from '../../../workflows/machine/events.ts';
import { KEPT_TRANSITIONS, initialState, type RunState } from '../../../workflows/machine/state.ts';
import { hash, state, userMessage } from '../../support/machine.ts';

/** Everything a transition could reset is set. */
const busy: Partial<RunState> = {
  turn: 3,
  iteration: 9,
  recoveries: 2,
  capOverride: 64_000,
  drained: true,
  compacted: true,
  stopHookActive: true,
  stopHookRounds: 4,
  modelPosition: 1,
  structuredRetries: 3,
};

const transitions: readonly [Transition, Partial<RunState>][] = [
  [
    { reason: 'next_turn', messages: [], snips: [], summarize: false },
    {
      turn: 4,
      recoveries: 0,
      drained: false,
      compacted: false,
      capOverride: null,
      stopHookRounds: 4,
      structuredRetries: 3,
    },
  ],
  [
    {
      reason: 'max_output_tokens_escalate',
      cap: 32_000,
      supersedes: 5,
      replaces: { head: hash('cut'), contextTokens: 9 },
      append: [],
    },
    { capOverride: 32_000, supersedes: 5, recoveries: 2 },
  ],
  [
    { reason: 'max_output_tokens_recovery', keep: { head: hash('cut'), contextTokens: 9 }, append: [] },
    { recoveries: 3, head: hash('cut'), capOverride: 64_000 },
  ],
  [
    { reason: 'collapse_drain_retry', append: [] },
    { drained: true, recoveries: 2 },
  ],
  [
    { reason: 'reactive_compact_retry', append: [] },
    { compacted: true, recoveries: 2 },
  ],
  [
    { reason: 'stop_hook_blocking', append: [] },
    { stopHookActive: true, stopHookRounds: 5, recoveries: 0, compacted: true },
  ],
  [
    { reason: 'token_budget_continuation', append: [] },
    { recoveries: 0, drained: false, compacted: false },
  ],
  [
    { reason: 'model_fallback', append: [] },
    { modelPosition: 2, recoveries: 2 },
  ],
  [
    { reason: 'call_as_text_retry', append: [] },
    { textCallRetried: true, recoveries: 2 },
  ],
  [
    { reason: 'structured_output_retry', append: [] },
    { recoveries: 0, turn: 3, structuredRetries: 4 },
  ],
];

describe('what a transition resets', () => {
  test.each(transitions.map(([transition, changes]) => [transition.reason, transition, changes] as const))(
    '%s (L1)',
    (reason, transition, changes) => {
      const before = state(busy);
      const after = apply(before, transition);
      expect(after).toMatchObject({ ...changes, iteration: 10, counts: { [reason]: 1 } });
      expect(after.transitions).toEqual([{ iteration: 10, reason }]);
      expect(after.pending.at(-1)).toEqual({ kind: 'transition', iteration: 10, reason });
      if (reason !== 'next_turn') expect(after.turn).toBe(3);
    },
  );

  test.each([
    ['collapse_drain_retry', 'L23', { drained: true }],
    ['reactive_compact_retry', 'L24', { compacted: true }],
    ['stop_hook_blocking', 'L30', { stopHookActive: true, stopHookRounds: 1 }],
    ['model_fallback', 'L19', { modelPosition: 1 }],
    ['structured_output_retry', 'L53', { structuredRetries: 1 }],
    ['call_as_text_retry', 'L15', { textCallRetried: true }],
  ] as const)('%s is remembered, so that it happens no more often than it may (%s)', (reason, _id, remembered) => {
    expect(apply(state(), { reason, append: [] })).toMatchObject(remembered);
  });

  test('never edits the state it is given (L1)', () => {
    const frozen = Object.freeze({ ...state(busy), pending: Object.freeze([]), transitions: Object.freeze([]) });
    for (const [transition] of transitions) expect(() => apply(frozen, transition)).not.toThrow();
  });

  test('a new prompt starts with everything initial, on turn 1 and the primary model', () => {
    expect(initialState(hash('h'), [])).toMatchObject({
      turn: 1,
      iteration: 1,
      recoveries: 0,
      capOverride: null,
      drained: false,
      compacted: false,
      stopHookActive: false,
      stopHookRounds: 0,
      modelPosition: 0,
      counts: {},
    });
  });
});

describe('what a transition carries', () => {
  test('messages taken by next_turn follow what was pending, each once and in order (L43)', () => {
    const before = state({ pending: [{ kind: 'outcomes', items: [{ index: 0, note: 'x' }] }] });
    const after = apply(before, {
      reason: 'next_turn',
      messages: [userMessage('a'), userMessage('b')],
      snips: [],
      summarize: false,
    });
    expect(after.pending.map((item) => (item.kind === 'user' ? item.id : item.kind))).toEqual([
      'outcomes',
      'a',
      'b',
      'transition',
    ]);
  });

  test('the workflow keeps the last transitions and a count for each reason (L3)', () => {
    let after = state();
    for (let n = 0; n < 100; n += 1)
      after = apply(after, { reason: 'next_turn', messages: [], snips: [], summarize: false });
    expect(after.transitions).toHaveLength(KEPT_TRANSITIONS);
    expect(after.transitions.at(-1)).toEqual({ iteration: 101, reason: 'next_turn' });
    expect(after.counts).toEqual({ next_turn: 100 });
  });
});
