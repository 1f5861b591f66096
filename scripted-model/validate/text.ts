// The API's refusals of a text block, wherever it stands.
import { type Json, extraKeyProblem, stringProblem } from './shape.ts';

const TEXT_KEYS = new Set(['type', 'text', 'cache_control', 'citations']);

export function textProblem(block: Json, path: string): string | undefined {
  const text = block['text'];
  const malformed = extraKeyProblem(block, TEXT_KEYS, `${path}.text`) ?? stringProblem(text, `${path}.text.text`);
  if (malformed !== undefined) return malformed;
  if (text === '' && block['cache_control']) return `${path}.text: cache_control cannot be set for empty text blocks`;
  return sayingProblem(String(text), path);
}

/** Checks a text of a user, which must not cite. */
export function userTextProblem(block: Json, path: string): string | undefined {
  const { citations } = block;
  const cites = Array.isArray(citations) && citations.length > 0;
  return textProblem(block, path) ?? (cites ? `${path}.text.citations: not permitted in user messages` : undefined);
}

/**
 * Requires that a text says something: the API refuses an empty one, or one of white space alone.
 */
export function sayingProblem(text: string, path: string): string | undefined {
  if (text === '') return `${path}: text content blocks must be non-empty`;
  return /\S/.test(text) ? undefined : `${path}: text content blocks must contain non-whitespace text`;
}
