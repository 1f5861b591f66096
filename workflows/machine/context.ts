// How full the context is: what the API counted at the last reply, and an estimate of what is newer
// (L10).
import type {
  AnswerAside,
  Append,
  AppendingStep,
  CallModel,
  Collapse,
  Compact,
  PrepareCompaction,
} from '../contract/activities.ts';
import { estimateTokens } from '../contract/ids.ts';
import { bodyCharacters } from '../contract/people.ts';
import type { ContextFacts, RuleChange, RunState } from './state.ts';
import type { Rules } from '../contract/loop.ts';
import { leftOf, modelLimits } from './limits.ts';
import type { Move } from './events.ts';

/** `fixed`: system prompt and tools, for a conversation that no reply has counted yet. */
export function usedTokens(state: RunState, fixed: number): number {
  const counted = state.contextTokens === 0 ? fixed : state.contextTokens;
  return counted + state.newerTokens + pendingTokens(state.pending);
}

/** Without what committing all that is staged would save (L9). */
export function unstagedTokens(state: RunState, fixed: number): number {
  return usedTokens(state, fixed) - total(state.staged);
}

export function total(savings: readonly number[]): number {
  return savings.reduce((sum, saving) => sum + saving, 0);
}

/** Outcomes are not in it: their estimates came with their facts. */
export function pendingTokens(pending: readonly Append[]): number {
  const characters = pending.reduce((sum, append) => sum + charactersOf(append), 0);
  return estimateTokens(characters);
}

/** Of an answer that only its transcript knows, all that is told of it. */
const LONGEST_ANSWER = 8_000;

function charactersOf(append: Append): number {
  if (append.kind === 'agent_ended') return LONGEST_ANSWER;
  if (append.kind === 'user') return bodyCharacters(append.body);
  if (append.kind === 'outcomes') return append.items.reduce((sum, { note }) => sum + (note?.length ?? 0), 0);
  return append.kind === 'notice' && 'text' in append.notice ? append.notice.text.length : 0;
}

/** The newest user messages alone (L12). */
export function newestTokens(pending: readonly Append[]): number {
  return pendingTokens(pending.filter(({ kind }) => kind === 'user'));
}

/** What no reply has counted stays an estimate, which system prompt and tools come on top of. */
export function contextAfterRun(state: RunState, has: (change: RuleChange) => boolean): ContextFacts {
  const { contextTokens, staged } = state;
  const used = usedTokens(state, 0);
  const isCounted = contextTokens > 0 || used === 0 || !has('perdure-uncounted-context');
  return isCounted ? { contextTokens: used, staged } : { contextTokens: 0, newerTokens: used, staged };
}

// The facts of the next model call that the state knows, beside those that every step is given.

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
    ...leftWith(state, rules),
  };
}

/**
 * A raised cap (L26) holds on: after a fallback, or with more in context, the most that can be
 * asked for may be less.
 */
export function capOf(state: RunState, rules: Rules): number {
  const { window, outputCap, raisedOutputCap, leastOutputCap } = modelLimits(state, rules);
  const room = window - usedTokens(state, rules.fixedTokens);
  const most = Math.min(outputCap, state.maxOutput ?? outputCap);
  const cap = leastOutputCap === undefined ? most : Math.min(most, Math.max(leastOutputCap, room));
  if (state.capOverride === null) return cap;
  return Math.max(cap, Math.min(state.capOverride, raisedOutputCap, state.maxOutput ?? raisedOutputCap, room));
}

/** Of a question that is asked beside the run, with what the run's next request would have. */
export function asideTerms(
  state: RunState,
  rules: Rules,
): Pick<AnswerAside, 'cap' | 'model' | 'taskRemaining' | 'left'> {
  const { taskRemaining } = state;
  const remaining = taskRemaining === null ? {} : { taskRemaining };
  return { cap: capOf(state, rules), ...modelPosition(state), ...remaining, ...leftWith(state, rules) };
}

/** For the input of a step that asks a model. */
export function leftWith(state: RunState, rules: Rules): Pick<CallModel, 'left'> {
  const some = leftOf(state, rules);
  return some === null ? {} : { left: some };
}

function modelPosition({ modelPosition: position }: RunState): Pick<CallModel, 'model'> {
  return position === 0 ? {} : { model: position };
}

// The facts of a compaction or a staging that the state and the move know, beside those that every
// step is given.

type Input<Step> = Omit<Step, keyof AppendingStep>;

export function compactInput(state: RunState, rules: Rules, move: Extract<Move, { do: 'compact' }>): Input<Compact> {
  const { trigger, unlessFreed, because } = move;
  const { instructions } = state.demand ?? {};
  return {
    trigger,
    ...(instructions && { instructions }),
    ...(because ? { because: because.reason } : {}),
    ...(state.maxOutput === null ? {} : { maxOutput: state.maxOutput }),
    ...modelPosition(state),
    ...(state.window ? { window: state.window } : {}),
    ...(unlessFreed === undefined ? {} : { unlessFreed }),
    ...(state.failures === 0 ? {} : { failures: state.failures }),
    ...leftWith(state, rules),
  };
}

export function preparationInput(
  state: RunState,
  rules: Rules,
): Pick<PrepareCompaction, 'model' | 'window' | 'maxOutput' | 'left'> {
  return {
    ...modelPosition(state),
    ...(state.window ? { window: state.window } : {}),
    ...(state.maxOutput === null ? {} : { maxOutput: state.maxOutput }),
    ...leftWith(state, rules),
  };
}

export function collapseInput(
  state: RunState,
  rules: Rules,
  { unlessFreed }: Extract<Move, { do: 'collapse' }>,
): Input<Collapse> {
  return {
    ...modelPosition(state),
    ...(state.window ? { window: state.window } : {}),
    unlessFreed,
    ...leftWith(state, rules),
  };
}
