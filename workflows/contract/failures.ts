// The types of ApplicationFailure that cross the boundary between workflow and workers. Every other
// error in an activity is a defect and is retried until it is fixed; one that must not be retried
// ends its run, never its session.
/** The model call died, and is attempted again after `nextRetryDelay` (L14). */
export const MODEL_ATTEMPT_DIED = 'ModelAttemptDied';

/**
 * A stored value is missing or does not match its hash. It is not retried: the bytes will not come
 * back by themselves.
 */
export const STORE_CORRUPT = 'StoreCorrupt';

/** The session's host has lost its folder: the step goes where it can be restored (T18). */
export const HOST_EMPTIED = 'HostEmptied';

/** The sessions that share the folder have left its host: the step goes where they are (T18). */
export const FOLDER_LEFT = 'FolderLeft';

/** The host left before anything of an agent was stored: its parent may begin it again (T18). */
export const HOST_AWAY = 'HostAway';

/**
 * The type of a failure that was not written by a worker with our converter, and the words before
 * its message.
 */
export const BY_HAND = { type: 'ByHand', prefix: 'not said by a worker: ' } as const;
