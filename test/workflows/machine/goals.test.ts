// The goal of a run in the machine (X10, G72): when it is graded, and what follows each grade.
import { describe, expect, test } from 'vitest';
import type { GradeResult } from '../../../workflows/contract/activities.ts';
import type { Goal, Grade } from '../../../workflows/contract/goals.ts';
import { absorb } from '../../../workflows/machine/absorb.ts';
import { decide } from '../../../workflows/machine/decide.ts';
import type { Event, PerformedMove } from '../../../workflows/machine/events.ts';
import { bringGoal, gradingInput } from '../../../workflows/machine/goals.ts';
import { runLoop } from '../../../workflows/machine/loop.ts';
import type { RunState } from '../../../workflows/machine/state.ts';
import { apply, userAppends } from '../../../workflows/machine/transitions.ts';
import {
  call,
  hash,
  modelEvent,
  next,
  replied,
  rules,
  state,
  toolsRan,
  usd,
  userMessage,
} from '../../support/machine.ts';

const goal: Goal = { rubric: { kind: 'text', text: 'All tests pass.' }, rounds: 2 };
const aimed = (more: Partial<NonNullable<RunState['goal']>> = {}) => ({ goal: { ...goal, graded: 0, ...more } });
const answer = modelEvent(replied());

const graded = (grade: Grade, text = 'One test fails.'): GradeResult => ({
  kind: 'graded',
  head: hash('graded'),
  grade,
  text,
  spend: usd(0.5),
});
const gradedEvent = (result: GradeResult, stop: 'interrupt' | null = null): Event => ({ kind: 'graded', result, stop });

/** Plays a run whose moves are answered in order, and returns its end with the moves. */
async function play(events: readonly Event[], from: Partial<RunState> = aimed()) {
  const moves: PerformedMove[] = [];
  const states: RunState[] = [];
  const end = await runLoop(state(from), () => rules, {
    perform: (move, at) => {
      const event = events[moves.length];
      if (!event) throw new Error(`nothing answers ${move.do}`);
      moves.push(move);
      states.push(at);
      return event;
    },
    wentRound: () => null,
  });
  return { ...end, moves: moves.map((move) => move.do), states };
}

describe('a run that would end by itself', () => {
  test('is graded where it has a goal, after its stop hooks, and not where it has none (X10 L30)', () => {
    expect(next(answer, aimed())).toEqual({ do: 'begin_grading' });
    expect(next(answer, aimed(), { stopHooks: true })).toMatchObject({ do: 'run_stop_hooks' });
    expect(next(answer)).toMatchObject({ terminal: { reason: 'completed' } });
  });

  test('has completed once the goal is met, with one grading (X10)', async () => {
    const { moves, terminal, states } = await play([answer, gradedEvent(graded('met'))]);
    expect([moves, terminal]).toEqual([['call_model', 'grade_goal'], { reason: 'completed' }]);
    expect(states[1]?.pending).toEqual([{ kind: 'notice', notice: { kind: 'grading', round: 1 } }]);
  });

  test('goes back to the model until its rounds are spent, which is told once more and ends it unmet (X10)', async () => {
    const end = await play([
      answer,
      gradedEvent(graded('not_met')),
      answer,
      gradedEvent(graded('rounds_spent', 'Still one.')),
      answer,
    ]);
    expect(end.moves).toEqual(['call_model', 'grade_goal', 'call_model', 'grade_goal', 'call_model']);
    expect(end.terminal).toEqual({ reason: 'goal_not_met', detail: 'Still one.' });
    expect(end.state.counts).toEqual({ goal_revision: 2 });
    expect(gradingInput(end.states[3]!, rules)).toMatchObject({ goal, round: 2 });
  });

  test('ends unmet at once when the goal does not apply (X10)', async () => {
    const { terminal } = await play([answer, gradedEvent(graded('not_applicable', 'It is about another task.'))]);
    expect(terminal).toEqual({ reason: 'goal_not_met', detail: 'It is about another task.' });
  });
});

describe('a grading', () => {
  test('counts its cost, and what is pending is stored with it (X10 L51)', () => {
    const pending = [{ kind: 'notice', notice: { kind: 'grading', round: 1 } }] as const;
    const after = absorb(state({ ...aimed({ isDue: true }), pending }), rules, gradedEvent(graded('not_met')));
    expect(after).toMatchObject({ head: hash('graded'), pending: [], spend: { usd: 0.5 }, goal: { graded: 1 } });
    expect(after.goal).not.toHaveProperty('isDue');
    expect(after.newerTokens).toBeGreaterThan(0);
  });

  test('waits for the provider, and is then done before the model is called again (X10 L14)', async () => {
    const parked = gradedEvent({ kind: 'parked', waitMs: 9, failures: 2, detail: '429', spend: usd(0.1) });
    const end = await play([answer, parked, { kind: 'ready' }, gradedEvent(graded('met'))]);
    expect(end.moves).toEqual(['call_model', 'grade_goal', 'park', 'grade_goal']);
    expect(gradingInput(end.states[3]!, rules)).toMatchObject({ round: 1, failures: 2 });
    expect(end.states[3]?.pending).toHaveLength(1);
    expect(end.state.spend.usd).toBeCloseTo(0.6);
  });

  test('that fails ends the run with an error, or with the budget that it has spent (X10 L51)', () => {
    const failed = gradedEvent({ kind: 'failed', detail: '401', status: 401, spend: usd(1) });
    expect(next(failed, aimed({ isDue: true }))).toMatchObject({
      terminal: { reason: 'model_error', detail: 'The goal could not be graded: 401', status: 401 },
    });
    expect(next(failed, aimed({ isDue: true }), { maxBudgetUsd: 1 })).toMatchObject({
      terminal: { reason: 'budget_exceeded' },
    });
  });

  test('is not begun once the budget is spent, and waits where the session’s is reached (X10 L51 G69)', () => {
    const due = { ...aimed({ isDue: true }), spend: usd(1) };
    expect(next({ kind: 'ready' }, due, { maxBudgetUsd: 1 })).toMatchObject({
      terminal: { reason: 'budget_exceeded' },
    });
    expect(next({ kind: 'ready' }, due, { waitAtUsd: 1 })).toEqual({ do: 'wait_at_budget' });
    expect(next({ kind: 'ready' }, due)).toEqual({ do: 'grade_goal' });
  });

  test('that is stopped ends the run, also when its grade came too late (X10 L47)', () => {
    const stopped = { terminal: { reason: 'aborted_streaming', by: 'interrupt' } };
    const nothing = { kind: 'nothing', spend: usd(0) } as const;
    expect(next(gradedEvent(nothing, 'interrupt'), aimed({ isDue: true }))).toMatchObject(stopped);
    expect(next(gradedEvent(graded('not_met'), 'interrupt'), aimed({ isDue: true }))).toMatchObject(stopped);
  });

  test('stands until its end among the pending entries when it was stopped (X10 L47)', async () => {
    const { state: last } = await play([answer, gradedEvent({ kind: 'nothing', spend: usd(0) }, 'interrupt')]);
    expect(last.pending).toContainEqual({ kind: 'notice', notice: { kind: 'grading', round: 1 } });
  });
});

test('a goal that a message brings to a run under way replaces the one before, and begins anew (X10)', () => {
  const other = { ...goal, rounds: 5 };
  const turned = apply(state(aimed({ graded: 2, unmet: 'x' })), {
    reason: 'next_turn',
    messages: [{ ...userMessage('m'), goal: other }, userMessage('n')],
    snips: [],
    summarize: false,
  });
  expect(turned.goal).toEqual({ ...other, graded: 0 });
  expect(bringGoal([userMessage('n')])).toEqual({});
  expect(userAppends({ ...userMessage('m'), goal: other })).toMatchObject([{ kind: 'user', goal: other }]);
});

test('tools after a grade that was not met are followed by another grading (X10)', () => {
  const before = state(aimed({ graded: 1 }));
  const ran = toolsRan([call(0)]);
  expect(decide(absorb(before, rules, ran), rules, ran)).toMatchObject({ do: 'go_round' });
  expect(next(answer, before)).toEqual({ do: 'begin_grading' });
});
