// Measures how full the context is: the API's count at the last reply, plus an estimate of what is
// newer (L10).
import type { Append } from '../contract/activities.ts';
import { estimateTokens } from '../contract/loop.ts';
import { bodyCharacters } from '../contract/people.ts';
import type { ContextFacts, HasChange, RunState } from './state.ts';

/**
 * `fixed`: tokens of the system prompt and the tools, for a conversation that no reply has counted
 * yet.
 */
export function tokensInUse(state: RunState, fixed: number): number {
  const counted = state.contextTokens === 0 ? fixed : state.contextTokens;
  return counted + state.newerTokens + pendingTokens(state.pending);
}

/** Subtracts what committing all staged collapses would save (L9). */
export function tokensWithoutStaged(state: RunState, fixed: number): number {
  return tokensInUse(state, fixed) - sumSavings(state.staged);
}

export function sumSavings(savings: readonly number[]): number {
  return savings.reduce((sum, saving) => sum + saving, 0);
}

/** Outcomes are not counted here: their estimates came with their facts. */
export function pendingTokens(pending: readonly Append[]): number {
  const characters = pending.reduce((sum, append) => sum + charactersOf(append), 0);
  return estimateTokens(characters);
}

/**
 * Characters of an agent's answer that the model is told. The entry names the answer by hash alone,
 * so the most is assumed.
 */
const LONGEST_ANSWER = 8_000;

function charactersOf(append: Append): number {
  if (append.kind === 'agent_ended') return LONGEST_ANSWER;
  if (append.kind === 'user')
    return bodyCharacters(append.body) + (append.goal ? bodyCharacters(append.goal.rubric) : 0);
  if (append.kind === 'outcomes') return append.items.reduce((sum, { note }) => sum + (note?.length ?? 0), 0);
  return append.kind === 'notice' && 'text' in append.notice ? append.notice.text.length : 0;
}

/** Counts the newest user messages alone (L12). */
export function newestTokens(pending: readonly Append[]): number {
  return pendingTokens(pending.filter(({ kind }) => kind === 'user'));
}

/** A context that no reply has counted stays an estimate, without system prompt and tools. */
export function contextAfterRun(state: RunState, has: HasChange): ContextFacts {
  const { contextTokens, staged } = state;
  const used = tokensInUse(state, 0);
  const isCounted = contextTokens > 0 || used === 0 || !has('perdure-uncounted-context');
  return isCounted ? { contextTokens: used, staged } : { contextTokens: 0, newerTokens: used, staged };
}
