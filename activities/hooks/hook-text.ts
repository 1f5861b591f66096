// How much of what hooks say is kept, in characters: what is stored or sent to the model, what travels through the workflow, what
// only says what went wrong.

export const CONTEXT_LIMIT = 10_000;
/** Of texts that become part of the workflow's history. */
export const WORKFLOW_LIMIT = 4_000;
export const DETAIL_LIMIT = 500;

/** Of whatever a function threw, which need not be an error. */
export function thrownText(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    // An object without a prototype, a proxy, a message that throws: it cannot be told in words.
    return `threw what has no text (${typeof error})`;
  }
}
