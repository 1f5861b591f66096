// Types of ApplicationFailure that cross the boundary. Everything else thrown in an activity is a bug and is retried until it is fixed;
// one that says it must not be retried ends its run, never its session.
/** The model call died and will be attempted again after `nextRetryDelay` (L14). */
export const MODEL_ATTEMPT_DIED = 'ModelAttemptDied';

/** A stored value is missing or does not match its hash. Not retried: the bytes will not come back by themselves. */
export const STORE_CORRUPT = 'StoreCorrupt';

/** The type of a failure that no worker with our converter has written, and the words before what it says. */
export const BY_HAND = { type: 'ByHand', prefix: 'not said by a worker: ' } as const;

// The value in place of a payload that cannot be read. Payloads are decoded before any handler runs, so one that threw would
// fail the workflow task on every try; this is a value that everybody passes over.

const MARK = 'perdure:undecodable';

export type Undecodable = {
  /** The end of a sentence that begins with what was to be read: `is broken JSON`. */
  readonly why: string;
  /** Another worker may be able to read it: this one has not the key. */
  readonly elsewhere: boolean;
};

export function markUndecodable(what: Undecodable): object {
  return { [MARK]: what };
}

/** Null for every value that was read. */
export function findUndecodable(value: unknown): Undecodable | null {
  if (typeof value !== 'object' || value === null || !(MARK in value)) return null;
  const { why, elsewhere } = (value[MARK] ?? {}) as Partial<Record<keyof Undecodable, unknown>>;
  return { why: typeof why === 'string' ? why : 'cannot be read', elsewhere: elsewhere === true };
}
