import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noSpend, type Terminal } from '../../workflows/contract/loop.ts';
import type { Event, Move } from '../../workflows/machine/events.ts';
import { loop } from '../../workflows/machine/loop.ts';
import { initialState, KEPT_TRANSITIONS, type RunState } from '../../workflows/machine/state.ts';
import { call, cutOff, modelEvent, replied, rules, toolsRan } from '../support/machine.ts';

type Performed = Extract<Move, { do: 'call_model' | 'run_tools' | 'park' }>;

/** Runs the loop with `answer` for the world; stops a test that would never end. */
async function walk(answer: (move: Performed, state: RunState) => Event, limits = rules) {
  const states: RunState[] = [];
  const end = await loop(initialState(null, []), limits, {
    perform: (move, state) => {
      if (states.length > 5_000) throw new Error('the walk does not end');
      states.push(state);
      return Promise.resolve(answer(move, state));
    },
    wentRound: () => Promise.resolve(),
  });
  return { ...end, states };
}

describe('the loop with scripted dependencies', () => {
  it('L54 reads, answers and completes in two turns without a server', async () => {
    let calls = 0;
    const { state, terminal } = await walk((move) => {
      if (move.do === 'run_tools') return toolsRan(move.calls);
      calls += 1;
      return modelEvent(replied(calls === 1 ? [call(0)] : []));
    });
    expect(terminal).toEqual({ reason: 'completed' });
    expect(state).toMatchObject({ turn: 2, iteration: 2, counts: { next_turn: 1 } });
  });

  it('L26 L27 L28 a model that is always cut escalates once, recovers three times, then says so', async () => {
    const { state, terminal } = await walk(() => modelEvent(cutOff()));
    expect(terminal.reason).toBe('max_output_tokens');
    expect(state.counts).toEqual({ max_output_tokens_escalate: 1, max_output_tokens_recovery: 3 });
    expect(state.turn).toBe(1);
  });

  it('L45 the same call for ever ends at a named reason', async () => {
    const { terminal, state } = await walk(
      (move) =>
        move.do === 'run_tools' ? toolsRan(move.calls) : modelEvent(replied([call(0, { signature: 'same' })])),
      { ...rules, maxTurns: 50 },
    );
    expect(terminal).toMatchObject({ reason: 'max_turns', limit: 50, turnNotTaken: 51 });
    expect(state.turn).toBe(50);
  });
});

const anyEvent = (move: Performed): fc.Arbitrary<Event> => {
  if (move.do === 'park') return fc.constantFrom<Event>({ kind: 'ready' }, { kind: 'stopped', stop: 'interrupt' });
  if (move.do === 'run_tools') {
    return fc
      .record({
        errors: fc.array(fc.boolean(), { minLength: move.calls.length, maxLength: move.calls.length }),
        stop: fc.nat(40),
      })
      .map(({ errors, stop }) =>
        toolsRan(move.calls, {
          facts: errors.map((error) => (error ? { error: true } : {})),
          stop: stop === 0 ? 'interrupt' : null,
        }),
      );
  }
  const some = fc
    .array(fc.boolean(), { maxLength: 4 })
    .map((flags) => flags.map((safe, index) => call(index, { safe })));
  return fc.oneof(
    { weight: 12, arbitrary: some.map((calls) => modelEvent(replied(calls.length > 0 ? calls : [call(0)]))) },
    { weight: 6, arbitrary: fc.constant(modelEvent(cutOff())) },
    { weight: 1, arbitrary: fc.constant(modelEvent(replied())) },
    {
      weight: 1,
      arbitrary: fc.constant(modelEvent({ kind: 'parked', until: 1, failures: 1, detail: '', spend: noSpend })),
    },
  );
};

describe('random walks', () => {
  it('L1 L3 always end at a typed reason, with every counter within its bounds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.gen(), fc.integer({ min: 1, max: 40 }), async (gen, maxTurns) => {
        const { state, terminal, states } = await walk((move) => gen(anyEvent, move), { ...rules, maxTurns });
        const ends: readonly Terminal['reason'][] = [
          'completed',
          'max_turns',
          'max_output_tokens',
          'fatal_tool_error',
          'aborted_tools',
          'aborted_streaming',
        ];
        expect(ends).toContain(terminal.reason);
        for (const each of [...states, state]) {
          expect(each.turn).toBeLessThanOrEqual(maxTurns);
          expect(each.recoveries).toBeLessThanOrEqual(rules.maxOutputRecoveries);
          expect(each.transitions.length).toBeLessThanOrEqual(KEPT_TRANSITIONS);
          expect(each.iteration).toBe(1 + Object.values(each.counts).reduce((sum, count) => sum + count, 0));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('L3 the same events lead to the same states', async () => {
    const script = [replied([call(0)]), replied([call(0), call(1, { safe: false })]), replied()];
    const once = () => {
      let n = 0;
      return walk((move) => (move.do === 'run_tools' ? toolsRan(move.calls) : modelEvent(script[n++] ?? replied())));
    };
    expect(await once()).toEqual(await once());
  });
});
