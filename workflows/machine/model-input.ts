// What the state says of the next model call, beside what every step is given.
import type { AppendingStep, CallModel } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import { usedTokens } from './context.ts';
import { leftOf, modelLimits } from './limits.ts';
import type { RunState } from './state.ts';

/** Absent fields are as a run begins with: the input of a plain call stays short. */
export function modelInput(state: RunState, rules: Rules): Omit<CallModel, keyof AppendingStep> {
  const { supersedes, retells, failures, overloads, toolContext, taskRemaining, wrapUp } = state;
  return {
    cap: capOf(state, rules),
    ...(supersedes === null ? {} : { supersedes }),
    ...(retells ? { retells } : {}),
    ...(failures === 0 ? {} : { failures }),
    ...(overloads === 0 ? {} : { overloads }),
    ...modelPosition(state),
    ...(toolContext === null ? {} : { context: toolContext }),
    ...(taskRemaining === null ? {} : { taskRemaining }),
    ...(wrapUp === null ? {} : { wrapUp: true }),
    ...left(state, rules),
  };
}

/** A raised cap (L26) holds on: after a fallback, or with more in context, the most that can be asked for may be less. */
export function capOf(state: RunState, rules: Rules): number {
  const { window, outputCap, raisedOutputCap } = modelLimits(state, rules);
  const cap = Math.min(outputCap, state.maxOutput ?? outputCap);
  if (state.capOverride === null) return cap;
  const room = window - usedTokens(state, rules.fixedTokens);
  return Math.max(cap, Math.min(state.capOverride, raisedOutputCap, state.maxOutput ?? raisedOutputCap, room));
}

export function left(state: RunState, rules: Rules): Pick<CallModel, 'left'> {
  const some = leftOf(state, rules);
  return some === null ? {} : { left: some };
}

export function modelPosition({ modelPosition: position }: RunState): Pick<CallModel, 'model'> {
  return position === 0 ? {} : { model: position };
}
