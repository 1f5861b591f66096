import type { ParsedRequest } from '../../scripted-model/index.ts';

/**
 * Of the conversation, by the API itself or by the small model; or another question that the small
 * model is for.
 */
export function asksForSummary({ model, compaction }: ParsedRequest): boolean {
  return model.startsWith('claude-haiku') || (compaction ?? null) !== null;
}
