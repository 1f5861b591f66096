// Texts of hooks, bounded: what is stored or sent to the model, what travels through the workflow, what only says what went wrong.
import { toUSVString } from 'node:util';

export const CONTEXT_LIMIT = 10_000;
/** Of texts that become part of the workflow's history. */
export const WORKFLOW_LIMIT = 4_000;
export const DETAIL_LIMIT = 500;

/** At most `limit` characters, without halves of characters. */
export function bounded(text: string, limit: number): string {
  return toUSVString(text.length <= limit ? text : `${text.slice(0, limit - 1)}…`);
}
