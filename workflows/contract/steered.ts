// The things that people do to a session beside talking to it and deciding about its calls, for the
// transcript (O12).
import { isName } from './people.ts';
import { RUN_OPTIONS } from './options-problem.ts';
import type { OptionChanges, RunOptions, TopUp } from './session.ts';

export type Steered = {
  readonly action: 'interrupt' | 'resume' | 'cancel' | 'topUp' | 'setOptions' | 'snip' | 'repair';
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Whoever did it, by name; absent where nobody said it. */
  readonly by?: string;
  readonly limits?: TopUp;
  /** For the next run. */
  readonly changes?: OptionChanges;
  /**
   * Options that were changed as well: their values are long, or hold what not everybody is to
   * read.
   */
  readonly untold?: readonly string[];
  /** So many older ones were not kept: only Temporal's history has them. */
  readonly earlier?: number;
};

/** Whoever does it, by name: goes along with a signal or an update. */
export type Signed = { readonly by?: string };

/**
 * Who has said, and when, that they cancel the session: Temporal's own cancel says nothing to it.
 */
export type Announced = Signed & { readonly since: number };

/**
 * Sent again under the same id it counts once, for nobody may stop a run that he did not mean
 * (L61). It says which signal it is of.
 */
export type SignalOnce = Signed & { readonly signal: 'interrupt' | 'resume' | 'cancel'; readonly id: string };

/**
 * An update that steers, sealed in one piece: it says which one it is of, and counts once by its
 * id. `at`: milliseconds since the epoch.
 */
export type UpdateOnce<Asked> = Signed & {
  readonly update: string;
  readonly id: string;
  readonly at: number;
  readonly asked: Asked;
};

export function isOnce<Asked>(value: Asked | UpdateOnce<Asked>): value is UpdateOnce<Asked> {
  const { update, id, at, ...rest } = (value ?? {}) as Partial<UpdateOnce<unknown>>;
  return typeof update === 'string' && typeof id === 'string' && Number.isSafeInteger(at) && 'asked' in rest;
}

/**
 * In whichever form it came: an update of an earlier release, or to a server without seals, is what
 * it asks.
 */
export const unwrapAsked = <Asked>(given: Asked | UpdateOnce<Asked>): Asked => (isOnce(given) ? given.asked : given);

/** What was done, before it is known when and by whom. */
export type Deed = Omit<Steered, 'at' | 'by' | 'earlier'>;

/** Characters of JSON of all values that one entry tells. */
const LONGEST_CHANGES = 2_000;

/**
 * Null when a session with `options` has them so already: a client may send the same ones with each
 * message. A signal cannot be refused: what is no option is passed over, for its name can be as
 * long as a message.
 */
export function changesDeed(given: OptionChanges, options: RunOptions): Deed | null {
  const before: Readonly<Record<string, unknown>> = options;
  const isNew = ([name, value]: readonly [string, unknown]): boolean =>
    Object.hasOwn(RUN_OPTIONS, name) && JSON.stringify(value ?? null) !== JSON.stringify(before[name] ?? null);
  const changes = Object.entries(given).filter(isNew);
  return changes.length === 0 ? null : optionsDeed(Object.fromEntries(changes));
}

/** The options that were set, as far as a transcript tells them. */
export function optionsDeed(given: OptionChanges): Deed {
  const changes: Record<string, unknown> = {};
  const untold: string[] = [];
  let left = LONGEST_CHANGES;
  for (const [name, value] of Object.entries(given)) {
    const size = JSON.stringify(value).length;
    const isTold = name !== 'toolEnv' && size <= left;
    if (isTold) changes[name] = value;
    else untold.push(name);
    if (isTold) left -= size;
  }
  return { action: 'setOptions', changes, ...(untold.length > 0 && { untold }) };
}

/** Without a name that will not do: a signal cannot be refused. */
export function signatureOf(signed: unknown): Signed {
  const { by } = (signed ?? {}) as { readonly by?: unknown };
  return isName(by) ? { by } : {};
}
