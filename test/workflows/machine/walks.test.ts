import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Append } from '../../../workflows/contract/activities.ts';
import type { Rules } from '../../../workflows/contract/loop.ts';
import type { Event, PerformedMove } from '../../../workflows/machine/events.ts';
import { runLoop, type LoopEnd } from '../../../workflows/machine/loop.ts';
import { initialState, KEPT_TRANSITIONS, type RunState } from '../../../workflows/machine/state.ts';
import { anyEvent, anyGoal, anyRules } from '../../support/any-event.ts';
import { random } from '../../support/random.ts';

type Walk = LoopEnd & { readonly events: readonly Event[]; readonly states: readonly RunState[] };

/** Moves: no walk reaches this bound, but a loop that does not end would. */
const MOST = 20_000;

async function walk(
  rules: Rules,
  answer: (move: PerformedMove, n: number, state: RunState) => Event,
  from: RunState = initialState(null, []),
  wentRound: (state: RunState, performed: number) => void = () => {},
): Promise<Walk> {
  const events: Event[] = [];
  const states: RunState[] = [];
  const end = await runLoop(from, () => rules, {
    perform: (move, state) => {
      if (events.length >= MOST) throw new Error('the walk does not end');
      const event = answer(move, events.length, state);
      events.push(event);
      states.push(state);
      return Promise.resolve(event);
    },
    wentRound: (state) => {
      wentRound(state, events.length);
      return null;
    },
  });
  return { ...end, events, states };
}

/** Carries the state as continue-as-new does. */
const carryOver = (state: RunState): RunState => JSON.parse(JSON.stringify(state)) as RunState;

describe('random walks', () => {
  test('a hundred thousand steps: every walk ends, counters keep their bounds, every call is answered (L1 L3 L39 L45)', async () => {
    const seen = { steps: 0 };
    const one = fc.asyncProperty(fc.integer(), async (seed) => {
      const from = random(seed);
      const rules = anyRules(from);
      const begun = { ...initialState(null, []), ...anyGoal(from) };
      const done = await walk(rules, (move, _n, state) => anyEvent(from, move, state), begun);
      seen.steps += done.events.length;
      for (const each of [...done.states, done.state]) withinBounds(each, rules);
      expectNothingAfterWrapUp(done);
      expectBoundedRounds(done.state);
      expectAllAnswered(done);
    });
    while (seen.steps < 100_000) await fc.assert(one, { numRuns: 500 });
  });

  test('after a crash at any step a replay reaches the same state (L3)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.nat(), async (seed, at) => {
        const from = random(seed);
        const rules = anyRules(from);
        const once = await walk(rules, (move, _n, state) => anyEvent(from, move, state));
        const crash = at % Math.max(1, once.events.length);
        const again = await walk(rules, (_move, n) => once.events[n]!);
        expect(again.states[crash]).toEqual(once.states[crash]);
        expect(again.terminal).toEqual(once.terminal);
        expect(again.state).toEqual(once.state);
      }),
      { numRuns: 300 },
    );
  });

  test('a run that is handed over between any two iterations ends as it would have (L4)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.nat(), async (seed, at) => {
        const from = random(seed);
        const rules = anyRules(from);
        const rounds: { readonly state: RunState; readonly performed: number }[] = [];
        const once = await walk(
          rules,
          (move, _n, state) => anyEvent(from, move, state),
          initialState(null, []),
          (state, performed) => rounds.push({ state, performed }),
        );
        const handover = rounds[at % Math.max(1, rounds.length)];
        if (!handover) return;
        const rest = once.events.slice(handover.performed);
        const resumed = await walk(rules, (_move, n) => rest[n]!, carryOver(handover.state));
        expect(resumed.terminal).toEqual(once.terminal);
        expect(resumed.state).toEqual(once.state);
        expect(JSON.stringify(handover.state).length).toBeLessThan(32_000);
      }),
      { numRuns: 300 },
    );
  });
});

function withinBounds(state: RunState, rules: Rules): void {
  const ok =
    state.turn <= rules.maxTurns &&
    state.recoveries <= rules.maxOutputRecoveries &&
    state.stopHookRounds <= rules.maxStopHookRounds &&
    state.structuredRetries <= rules.maxStructuredRetries &&
    state.modelPosition < rules.models.length &&
    state.transitions.length <= KEPT_TRANSITIONS &&
    (state.taskRemaining ?? 0) >= 0 &&
    state.contextTokens >= 0 &&
    state.iteration === 1 + Object.values(state.counts).reduce((sum, count) => sum + count, 0);
  if (!ok) expect.fail(`out of bounds: ${JSON.stringify(state)}`);
}

/** Once a wrap-up is asked for, only the model is called, and waited for (L51). */
function expectNothingAfterWrapUp({ events, states }: Walk): void {
  const last = states.findIndex(({ wrapUp }) => wrapUp !== null);
  const after = last < 0 ? [] : events.slice(last).map(({ kind }) => kind);
  if (after.some((kind) => !['model', 'ready', 'stopped'].includes(kind))) expect.fail(`after it: ${after.join()}`);
}

/** Recoveries never loop: the rounds between turns are bounded by the bounds of their kinds. */
function expectBoundedRounds({ counts, turn }: RunState): void {
  const continued = counts.token_budget_continuation ?? 0;
  const fresh = turn + (counts.stop_hook_blocking ?? 0) + (counts.structured_output_retry ?? 0) + continued;
  expect(counts.collapse_drain_retry ?? 0).toBeLessThanOrEqual(turn + continued);
  expect(counts.reactive_compact_retry ?? 0).toBeLessThanOrEqual(turn + continued);
  expect(counts.max_output_tokens_recovery ?? 0).toBeLessThanOrEqual(3 * fresh);
  // A second one in a turn follows one that the API refused, which was a recovery.
  expect(counts.max_output_tokens_escalate ?? 0).toBeLessThanOrEqual(turn + (counts.max_output_tokens_recovery ?? 0));
}

/**
 * Each call of each reply has one outcome: early with the reply, after the tools, or noted at the
 * end.
 */
function expectAllAnswered({ events, append, state }: Walk): void {
  let open: readonly number[] = [];
  for (const event of events) {
    if (event.kind === 'model' && 'calls' in event.result && event.result.kind !== 'fallback') {
      expectSame(open, []);
      open = event.result.calls.filter((call) => !call.outcome).map((call) => call.index);
    } else if (event.kind === 'tools_ran') {
      const items = event.results.flatMap(({ item }) => (item ? [item.index] : []));
      expectSame(items, open);
      open = [];
    }
  }
  const noted = append.flatMap((each: Append) =>
    each.kind === 'outcomes' ? each.items.map((item) => item.index) : [],
  );
  expectSame(noted, open);
  const pending = state.pending.filter(({ kind }) => kind === 'outcomes').length;
  expect(pending).toBeLessThanOrEqual(1);
}

/** `expect` is too slow for a hundred thousand of them. */
function expectSame(found: readonly number[], wanted: readonly number[]): void {
  if (found.join() !== wanted.join()) expect.fail(`calls ${wanted.join()} were to be answered, were ${found.join()}`);
}
