// Types of ApplicationFailure that cross the boundary. Everything else thrown in an activity is a bug and is retried until it is fixed;
// one that says it must not be retried ends its run, never its session.

/** The model call died and will be attempted again after `nextRetryDelay` (L14). */
export const MODEL_ATTEMPT_DIED = 'ModelAttemptDied';

/** A stored value is missing or does not match its hash. Not retried: the bytes will not come back by themselves. */
export const STORE_CORRUPT = 'StoreCorrupt';
