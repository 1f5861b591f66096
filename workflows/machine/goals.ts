// The goal of a run: it is graded when the run would end by itself, and what is not met goes back to
// the model, round by round (X10, G72).
import type { AppendingStep, GradeGoal, GradeResult } from '../contract/activities.ts';
import type { Goal } from '../contract/goals.ts';
import { addSpend, estimateTokens, type Rules } from '../contract/loop.ts';
import { present } from '../contract/present.ts';
import type { UserMessage } from '../contract/session.ts';
import { storePending } from './compactions.ts';
import { endIfBudgetSpent, showError } from './limits.ts';
import type { Move } from './events.ts';
import type { RunState } from './state.ts';
import { budgetInput } from './step-inputs.ts';

/** Returns the part of a state that the newest goal among messages makes; empty without one. */
export function bringGoal(messages: readonly { readonly goal?: Goal }[]): Pick<RunState, 'goal'> {
  const { goal } = messages.findLast((message) => message.goal !== undefined) ?? {};
  return goal ? { goal: { ...goal, graded: 0 } } : {};
}

/**
 * Tells the options' goal with the last message, unless one brings a goal of its own. Where only
 * agents have ended, nothing tells it, and the run is graded all the same.
 */
export function withGoal(messages: readonly UserMessage[], goal: Goal | undefined): readonly UserMessage[] {
  if (!goal || messages.some((message) => message.goal)) return messages;
  const fromPeople = messages.findLastIndex(({ ended: news }) => !news);
  return messages.map((message, at) => (at === Math.max(0, fromPeople) ? { ...message, goal } : message));
}

/** Ends a run by itself: without a goal, or once that is graded (L32). */
export function endNaturally({ goal }: RunState): Move {
  if (!goal) return { do: 'end', terminal: { reason: 'completed' }, append: [] };
  if (goal.unmet === undefined) return { do: 'begin_grading' };
  return { do: 'end', terminal: { reason: 'goal_not_met', detail: goal.unmet }, append: [] };
}

/** Notes that a grading is due. Unlike with a transition, the same iteration goes on. */
export function beginGrading(state: RunState): RunState {
  const { goal, pending } = state;
  if (!goal) return state;
  const notice = { kind: 'notice', notice: { kind: 'grading', round: goal.graded + 1 } } as const;
  return { ...state, goal: { ...goal, isDue: true }, pending: [...pending, notice] };
}

export function gradingInput(state: RunState, rules: Rules): Omit<GradeGoal, keyof AppendingStep> {
  if (!state.goal) throw new Error('a grading without a goal');
  const { graded, isDue: _, unmet: __, ...goal } = state.goal;
  return {
    goal,
    round: graded + 1,
    ...present({ failures: state.failures || undefined }),
    ...budgetInput(state, rules),
  };
}

export function absorbGraded(before: RunState, result: GradeResult): RunState {
  const state = { ...before, spend: addSpend(before.spend, result.spend), failures: 0 };
  if (result.kind === 'parked') return { ...state, failures: result.failures };
  if (result.kind !== 'graded' || !state.goal) return state;
  const { isDue: _, ...goal } = state.goal;
  const stored = storePending(state, result.head, 0);
  return {
    ...stored,
    newerTokens: stored.newerTokens + estimateTokens(result.text.length),
    goal: { ...goal, graded: goal.graded + 1, ...(result.grade === 'rounds_spent' && { unmet: result.text }) },
  };
}

export function afterGrading(state: RunState, rules: Rules, result: Exclude<GradeResult, { kind: 'nothing' }>): Move {
  switch (result.kind) {
    case 'parked':
      return { do: 'park', waitMs: result.waitMs };
    case 'failed': {
      const { detail, status } = result;
      const problem = `The goal could not be graded: ${detail}`;
      return (
        endIfBudgetSpent(state, rules) ?? showError({ reason: 'model_error', detail: problem, ...present({ status }) })
      );
    }
    case 'graded':
      return afterGrade(result);
  }
}

/** After the last round the model is told once more, and what it makes of that is not graded. */
function afterGrade({ grade, text }: Extract<GradeResult, { kind: 'graded' }>): Move {
  switch (grade) {
    case 'met':
      return { do: 'end', terminal: { reason: 'completed' }, append: [] };
    case 'not_applicable':
      return { do: 'end', terminal: { reason: 'goal_not_met', detail: text }, append: [] };
    case 'not_met':
    case 'rounds_spent':
      return { do: 'go_round', transition: { reason: 'goal_revision', append: [] } };
  }
}
