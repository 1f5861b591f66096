// Records people's actions on a session, apart from messages and decisions, in the transcript (O12).
import { type Hash, isHash } from './ids.ts';
import { isName } from './people.ts';
import { RUN_OPTIONS } from './run-options.ts';
import type { RewindRecord } from './rewind.ts';
import type { NewLimits, OptionChanges, RuleChanges, RunOptions } from './session.ts';

export type SteeringRecord = {
  readonly action:
    | 'interrupt'
    | 'resume'
    | 'cancel'
    | 'topUp'
    | 'setLimits'
    | 'changeRules'
    | 'setOptions'
    | 'snip'
    | 'repair'
    | 'rewind'
    | 'move'
    | 'relabel';
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The name of the person who did it; absent where it was not given. */
  readonly by?: string;
  readonly limits?: NewLimits;
  /** The rules that the run was given, or that were taken back. */
  readonly rules?: RuleChanges;
  /** Where the session has gone back to (T6). */
  readonly rewound?: RewindRecord;
  /** The options that were changed for the next run. */
  readonly changes?: OptionChanges;
  /**
   * Options that were changed as well, but not told: their values are long, or not for everyone to
   * read.
   */
  readonly untold?: readonly string[];
  /** The labels of the session that were changed. */
  readonly labels?: SessionLabels;
  /** How many older ones were not kept: only Temporal's history has them. */
  readonly earlier?: number;
};

/**
 * What people change of a session of the Managed Agents face, as its events tell it (G27). `agent`:
 * hash of the agent; the next message brings its options.
 */
export type SessionLabels = {
  readonly title?: string | null;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly agent?: Hash;
};

/** Characters of labels, as JSON. */
const LONGEST_LABELS = 64 * 1024;

/** The value of a signal, which anyone can send: its shape is checked. */
export function isRelabel(value: unknown): value is { readonly labels: SessionLabels } {
  const { labels } = (value ?? {}) as { readonly labels?: unknown };
  if (typeof labels !== 'object' || labels === null || JSON.stringify(labels).length > LONGEST_LABELS) return false;
  const { title = null, metadata = {}, agent, ...rest } = labels as { readonly [Key in keyof SessionLabels]?: unknown };
  const isText = (words: unknown): boolean => typeof words === 'string';
  return (
    (title === null || isText(title)) &&
    typeof metadata === 'object' &&
    metadata !== null &&
    Object.values(metadata).every(isText) &&
    (agent === undefined || isHash(agent)) &&
    Object.keys(rest).length === 0
  );
}

/** The name of the person who acts; it travels with a signal or an update. */
export type Signature = { readonly by?: string };

/**
 * The person who has said that they will cancel the session, and when: Temporal's own cancel
 * carries no name.
 */
export type OpenAction = Signature & { readonly since: number };

/**
 * A signal that counts once by its id, so that a captured one cannot stop another run (L61). It
 * says which signal it is.
 */
export type SignalOnce = Signature & { readonly signal: 'interrupt' | 'resume' | 'cancel'; readonly id: string };

/**
 * An update that steers, sealed in one piece: it says which one it is, and counts once by its id.
 * `at`: milliseconds since the epoch.
 */
export type UpdateOnce<Request> = Signature & {
  readonly update: string;
  readonly id: string;
  readonly at: number;
  readonly asked: Request;
};

export function isOnce<Request>(value: Request | UpdateOnce<Request>): value is UpdateOnce<Request> {
  const { update, id, at, ...rest } = (value ?? {}) as Partial<UpdateOnce<unknown>>;
  return typeof update === 'string' && typeof id === 'string' && Number.isSafeInteger(at) && 'asked' in rest;
}

/**
 * Returns what an update asks for. An update of an earlier release, or to a server without seals,
 * is not wrapped.
 */
export const unwrapRequest = <Request>(update: Request | UpdateOnce<Request>): Request =>
  isOnce(update) ? update.asked : update;

/** An action, before its time and its author are known. */
export type SteeringAction = Omit<SteeringRecord, 'at' | 'by' | 'earlier'>;

/** Characters of JSON of all values in one entry. */
const LONGEST_CHANGES = 2_000;

/**
 * Returns null when the session's options are so already: a client may send the same ones with each
 * message. Unknown options are left out, because a signal cannot be refused and a name can be as
 * long as a message.
 */
export function changesAction(requested: OptionChanges, options: RunOptions): SteeringAction | null {
  const before: Readonly<Record<string, unknown>> = options;
  const isNew = ([name, value]: readonly [string, unknown]): boolean =>
    Object.hasOwn(RUN_OPTIONS, name) && JSON.stringify(value ?? null) !== JSON.stringify(before[name] ?? null);
  const changes = Object.entries(requested).filter(isNew);
  return changes.length === 0 ? null : optionsAction(Object.fromEntries(changes));
}

/** Returns the options that were set, with the values that a transcript may tell. */
export function optionsAction(requested: OptionChanges): SteeringAction {
  const changes: Record<string, unknown> = {};
  const untold: string[] = [];
  let left = LONGEST_CHANGES;
  for (const [name, value] of Object.entries(requested)) {
    const size = JSON.stringify(value).length;
    const isTold = name !== 'toolEnv' && size <= left;
    if (isTold) changes[name] = value;
    else untold.push(name);
    if (isTold) left -= size;
  }
  return { action: 'setOptions', changes, ...(untold.length > 0 && { untold }) };
}

/** Leaves out a name that is not valid: a signal cannot be refused. */
export function signatureOf(signed: unknown): Signature {
  const { by } = (signed ?? {}) as { readonly by?: unknown };
  return isName(by) ? { by } : {};
}
