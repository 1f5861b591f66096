/** The variable by which commands of a sandbox find the key of their call, the same whoever runs it. */
export const IDEMPOTENCY_VARIABLE = 'PERDURE_IDEMPOTENCY_KEY';
