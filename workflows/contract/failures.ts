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

// The value in place of a payload that cannot be read. Payloads are decoded before any handler
// runs, so one that threw would fail the workflow task on every try; this is a value that everybody
// passes over.

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

// The times after which one counts as lost, between sessions, workers and the server: those that
// were measured for one machine, where a call to the server costs little and dead workers are seen
// to be dead, and those for a fleet, where each heartbeat is a write to a server that many share.

export type Profile = 'machine' | 'fleet';

export type Times = {
  /** An attempt that says nothing for so long is lost. */
  readonly heartbeatTimeout: '30s' | '15s';
  /** The same, of a few writes that an interrupt or a run's end waits for. */
  readonly recordsTimeout: '10s';
  /** How long a workflow task may take before it is given to another worker. */
  readonly workflowTask: '5s' | '10s';
  /** How long a worker that holds a session in memory is waited for. */
  readonly sticky: '1s' | '5s';
  /**
   * Between two heartbeats: also how late a cancel may arrive, and L48 leaves tools five seconds.
   */
  readonly throttle: '500ms' | '2s';
};

/**
 * On one machine a heartbeat timeout is the last resort: the next worker sees that the one before
 * is dead.
 */
export const profiles: Readonly<Record<Profile, Times>> = {
  machine: { heartbeatTimeout: '30s', recordsTimeout: '10s', workflowTask: '5s', sticky: '1s', throttle: '500ms' },
  fleet: { heartbeatTimeout: '15s', recordsTimeout: '10s', workflowTask: '10s', sticky: '5s', throttle: '2s' },
};
