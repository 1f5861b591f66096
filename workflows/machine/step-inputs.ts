// Builds the inputs of the steps that ask a model from the state and the move. A field that has not
// changed since the run began is absent, which keeps a plain step's input short.
import type {
  AnswerAside,
  AppendingStep,
  CallModel,
  Collapse,
  Compact,
  PrepareCompaction,
} from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import { present } from '../contract/present.ts';
import { tokensInUse } from './context.ts';
import type { Move } from './events.ts';
import { budgetLeft, modelLimits, spendableLeft } from './limits.ts';
import type { RunState } from './state.ts';

export function modelInput(state: RunState, rules: Rules): Omit<CallModel, keyof AppendingStep> {
  const { supersedes, retells, failures, overloads, toolContext, wrapUp } = state;
  // Where the prepared boundary is taken its summary is sent, and nothing remaining beside it.
  const { taskRemaining } = state.beforePrepared ?? state;
  return {
    cap: outputCapOf(state, rules),
    ...present({
      supersedes: supersedes ?? undefined,
      retells: retells || undefined,
      failures: failures || undefined,
      overloads: overloads || undefined,
      ...modelPosition(state),
      context: toolContext ?? undefined,
      taskRemaining: taskRemaining ?? undefined,
      wrapUp: wrapUp === null ? undefined : (true as const),
      ...budgetInput(state, rules),
    }),
  };
}

/**
 * A raised cap (L26) holds on, but after a fallback or with more in context, less may be possible.
 * The request that replaces a cut reply is as large as the API has counted it, whatever the
 * estimate.
 */
export function outputCapOf(state: RunState, rules: Rules): number {
  const { window, outputCap, raisedOutputCap, leastOutputCap } = modelLimits(state, rules);
  const room = window - tokensInUse(state, rules.fixedTokens);
  const most = Math.min(outputCap, state.maxOutput ?? outputCap);
  const cap = leastOutputCap === undefined ? most : Math.min(most, Math.max(leastOutputCap, room));
  if (state.capOverride === null) return cap;
  const left = state.replaced ? Infinity : room;
  return Math.max(cap, Math.min(state.capOverride, raisedOutputCap, state.maxOutput ?? raisedOutputCap, left));
}

/**
 * The input of a question that is asked while the run goes on: it has the terms of the run's next
 * request.
 */
export function asideTerms(
  state: RunState,
  rules: Rules,
): Pick<AnswerAside, 'cap' | 'model' | 'taskRemaining' | 'left'> {
  const { taskRemaining } = state;
  const remaining = taskRemaining === null ? {} : { taskRemaining };
  return { cap: outputCapOf(state, rules), ...modelPosition(state), ...remaining, ...sideInput(state, rules) };
}

/** The budget of a step that the run waits for: one that has begun is finished (G69). */
export function budgetInput(state: RunState, rules: Rules): Pick<CallModel, 'left'> {
  const some = budgetLeft(state, rules);
  return some === null ? {} : { left: some };
}

/** The budget of what asks a model beside the run. */
export function sideInput(state: RunState, rules: Rules): Pick<CallModel, 'left'> {
  const some = spendableLeft(state, rules);
  return some === null ? {} : { left: some };
}

function modelPosition({ modelPosition: position }: RunState): Pick<CallModel, 'model'> {
  return position === 0 ? {} : { model: position };
}

type Input<Step> = Omit<Step, keyof AppendingStep>;

export function compactionInput(state: RunState, rules: Rules, move: Extract<Move, { do: 'compact' }>): Input<Compact> {
  const { trigger, unlessFreed, because } = move;
  return {
    trigger,
    ...present({
      instructions: state.demand?.instructions || undefined,
      because: because?.reason,
      maxOutput: state.maxOutput ?? undefined,
      ...modelPosition(state),
      window: state.window ?? undefined,
      unlessFreed,
      failures: state.failures || undefined,
      ...budgetInput(state, rules),
    }),
  };
}

export function preparationInput(
  state: RunState,
  rules: Rules,
): Pick<PrepareCompaction, 'model' | 'window' | 'maxOutput' | 'left'> {
  return {
    ...modelPosition(state),
    ...present({ window: state.window ?? undefined, maxOutput: state.maxOutput ?? undefined }),
    ...sideInput(state, rules),
  };
}

export function collapseInput(
  state: RunState,
  rules: Rules,
  { unlessFreed }: Extract<Move, { do: 'collapse' }>,
): Input<Collapse> {
  return {
    ...modelPosition(state),
    ...present({ window: state.window ?? undefined }),
    unlessFreed,
    ...budgetInput(state, rules),
  };
}
