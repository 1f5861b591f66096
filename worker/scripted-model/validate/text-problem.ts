// What the API refuses of a text block, wherever it stands.
import { extraKey, stringProblem } from './shape.ts';
import type { Json } from './shape.ts';

const keys = new Set(['type', 'text', 'cache_control', 'citations']);

export function textProblem(block: Json, path: string): string | undefined {
  const text = block['text'];
  const malformed = extraKey(block, keys, `${path}.text`) ?? stringProblem(text, `${path}.text.text`);
  if (malformed !== undefined) return malformed;
  if (text === '' && block['cache_control']) return `${path}.text: cache_control cannot be set for empty text blocks`;
  return sayingProblem(String(text), path);
}

/** A text of a user must not cite. */
export function userTextProblem(block: Json, path: string): string | undefined {
  const { citations } = block;
  const cites = Array.isArray(citations) && citations.length > 0;
  return textProblem(block, path) ?? (cites ? `${path}.text.citations: not permitted in user messages` : undefined);
}

/** A text must say something: the API refuses what is empty or all white space. */
export function sayingProblem(text: string, path: string): string | undefined {
  if (text === '') return `${path}: text content blocks must be non-empty`;
  return /\S/.test(text) ? undefined : `${path}: text content blocks must contain non-whitespace text`;
}
