// What goes wrong on the way between workflow, workers and server, and after which time it counts
// as gone wrong. First the types of ApplicationFailure that cross the boundary: everything else
// thrown in an activity is a bug and is retried until it is fixed; one that says it must not be
// retried ends its run, never its session.
/** The model call died and will be attempted again after `nextRetryDelay` (L14). */
export const MODEL_ATTEMPT_DIED = 'ModelAttemptDied';

/**
 * A stored value is missing or does not match its hash. Not retried: the bytes will not come back
 * by themselves.
 */
export const STORE_CORRUPT = 'StoreCorrupt';

/**
 * The type of a failure that no worker with our converter has written, and the words before what it
 * says.
 */
export const BY_HAND = { type: 'ByHand', prefix: 'not said by a worker: ' } as const;
