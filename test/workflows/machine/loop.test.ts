import { describe, expect, test } from 'vitest';
import type { Event, PerformedMove } from '../../../workflows/machine/events.ts';
import { runLoop } from '../../../workflows/machine/loop.ts';
import { initialState, type RunState } from '../../../workflows/machine/state.ts';
import { call, cutOff, modelEvent, replied, rules, toolsRan } from '../../support/machine.ts';

/** Runs the loop with `answer` for the world; stops a test that would never end. */
async function walk(answer: (move: PerformedMove, state: RunState) => Event, limits = rules) {
  const states: RunState[] = [];
  const end = await runLoop(initialState(null, []), () => limits, {
    perform: (move, state) => {
      if (states.length > 5_000) throw new Error('the walk does not end');
      states.push(state);
      return Promise.resolve(answer(move, state));
    },
    wentRound: () => null,
  });
  return { ...end, states };
}

describe('the loop with scripted dependencies', () => {
  test('reads, answers and completes in two turns without a server (L54)', async () => {
    let calls = 0;
    const { state, terminal } = await walk((move) => {
      if (move.do === 'run_tools') return toolsRan(move.calls);
      calls += 1;
      return modelEvent(replied(calls === 1 ? [call(0)] : []));
    });
    expect(terminal).toEqual({ reason: 'completed' });
    expect(state).toMatchObject({ turn: 2, iteration: 2, counts: { next_turn: 1 } });
  });

  test('a model that is always cut escalates once, recovers three times, then says so (L26 L27 L28)', async () => {
    const { state, terminal } = await walk(() => modelEvent(cutOff()));
    expect(terminal.reason).toBe('max_output_tokens');
    expect(state.counts).toEqual({ max_output_tokens_escalate: 1, max_output_tokens_recovery: 3 });
    expect(state.turn).toBe(1);
  });

  test('the same call for ever ends at a named reason (L45)', async () => {
    const { terminal, state } = await walk(
      (move) =>
        move.do === 'run_tools' ? toolsRan(move.calls) : modelEvent(replied([call(0, { signature: 'same' })])),
      { ...rules, maxTurns: 50 },
    );
    expect(terminal).toMatchObject({ reason: 'max_turns', limit: 50, turnNotTaken: 51 });
    expect(state.turn).toBe(50);
  });
});

test('the same events lead to the same states (L3)', async () => {
  const script = [replied([call(0)]), replied([call(0), call(1, { safe: false })]), replied()];
  const once = () => {
    let n = 0;
    return walk((move) => (move.do === 'run_tools' ? toolsRan(move.calls) : modelEvent(script[n++] ?? replied())));
  };
  expect(await once()).toEqual(await once());
});
