// How full the context is: what the API counted at the last reply, and an estimate of what is newer (L10).
import type { Append } from '../contract/activities.ts';
import { estimateTokens } from '../contract/tokens.ts';
import type { RunState } from './state.ts';

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

function charactersOf(append: Append): number {
  if (append.kind === 'user') return append.body.kind === 'text' ? append.body.text.length : append.body.bytes;
  if (append.kind === 'outcomes') return append.items.reduce((sum, { note }) => sum + (note?.length ?? 0), 0);
  return append.kind === 'notice' && 'text' in append.notice ? append.notice.text.length : 0;
}

/** The newest user messages alone (L12). */
export function newestTokens(pending: readonly Append[]): number {
  return pendingTokens(pending.filter(({ kind }) => kind === 'user'));
}
