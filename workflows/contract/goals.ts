// The goal of a run: what must be true when it would end by itself, who grades that, and what the
// grading came to (X10, G72).
import type { Spend } from './loop.ts';
import type { MessageBody } from './people.ts';

/** Marks the sessions that have had a goal: `patched` with this id. */
export const GOALS_CHANGE = 'perdure-goals';

/**
 * `rubric`: what must be true. A model grades it; with `command` the exit status of that does.
 * `rounds`: the most gradings, from 1 to 20.
 */
export type Goal = {
  readonly rubric: MessageBody;
  readonly command?: string;
  readonly rounds: number;
};

const DEFAULT_ROUNDS = 3;

type GoalOptions = { readonly goal?: string; readonly goalCommand?: string; readonly goalRounds?: number };

/** Returns the goal that options set for each run; undefined without one. */
export function goalOfOptions({ goal, goalCommand, goalRounds = DEFAULT_ROUNDS }: GoalOptions): Goal | undefined {
  if (goal === undefined) return undefined;
  const command = goalCommand === undefined ? {} : { command: goalCommand };
  return { rubric: { kind: 'text', text: goal }, ...command, rounds: goalRounds };
}

/**
 * `rounds_spent`: it is not met, and is graded no more. `not_applicable`: it cannot be graded by
 * what was asked for.
 */
export type Grade = 'met' | 'not_met' | 'rounds_spent' | 'not_applicable';

/** The beginning of a grading; `round` is 1 for the first. Only people are told. */
export type GradingNotice = { readonly kind: 'grading'; readonly round: number };

/**
 * The end of a grading. `text`: why. `at`: milliseconds since the epoch. The model is told what is
 * not met.
 */
export type GradedNotice = {
  readonly kind: 'graded';
  readonly round: number;
  readonly grade: Grade;
  readonly text: string;
  readonly spend: Spend;
  readonly at: number;
};
