/** The variable by which commands of a sandbox find the key of their call. */
export const IDEMPOTENCY_VARIABLE = 'PERDURE_IDEMPOTENCY_KEY';
