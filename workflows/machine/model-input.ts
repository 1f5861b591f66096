// What the state says of the next model call, beside what every step is given.
import type { AppendingStep, CallModel } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import { modelLimits } from './limits.ts';
import type { RunState } from './state.ts';

/** Absent fields are as a run begins with: the input of a plain call stays short. */
export function modelInput(state: RunState, rules: Rules): Omit<CallModel, keyof AppendingStep> {
  const { supersedes, failures, overloads, toolContext, taskRemaining, wrapUp } = state;
  return {
    cap: state.capOverride ?? modelLimits(state, rules).outputCap,
    ...(supersedes === null ? {} : { supersedes }),
    ...(failures === 0 ? {} : { failures }),
    ...(overloads === 0 ? {} : { overloads }),
    ...modelPosition(state),
    ...(toolContext === null ? {} : { context: toolContext }),
    ...(taskRemaining === null ? {} : { taskRemaining }),
    ...(wrapUp === null ? {} : { wrapUp: true }),
  };
}

export function modelPosition({ modelPosition: position }: RunState): Pick<CallModel, 'model'> {
  return position === 0 ? {} : { model: position };
}
