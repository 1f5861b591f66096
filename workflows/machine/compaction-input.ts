// What the state and the move say of a compaction or a staging, beside what every step is given.
import type { AppendingStep, Collapse, Compact } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import type { Move } from './events.ts';
import { left, modelPosition } from './model-input.ts';
import type { RunState } from './state.ts';

type Input<Step> = Omit<Step, keyof AppendingStep>;

export function compactInput(state: RunState, rules: Rules, move: Extract<Move, { do: 'compact' }>): Input<Compact> {
  const { trigger, unlessFreed } = move;
  return {
    trigger,
    ...modelPosition(state),
    ...(unlessFreed === undefined ? {} : { unlessFreed }),
    ...(state.failures === 0 ? {} : { failures: state.failures }),
    ...left(state, rules),
  };
}

export function collapseInput(
  state: RunState,
  rules: Rules,
  { unlessFreed }: Extract<Move, { do: 'collapse' }>,
): Input<Collapse> {
  return { ...modelPosition(state), unlessFreed, ...left(state, rules) };
}
