// How much of what hooks say is kept, in characters: what is stored or sent to the model, what travels through the workflow, what
// only says what went wrong.

export const CONTEXT_LIMIT = 10_000;
/** Of texts that become part of the workflow's history. */
export const WORKFLOW_LIMIT = 4_000;
export const DETAIL_LIMIT = 500;
