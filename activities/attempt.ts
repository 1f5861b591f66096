// One attempt of an activity as its body sees it. Bodies get it as an argument, so they run in a
// test without a server.
import type { Client } from '@temporalio/client';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { People, FiringsSeen } from '../tools/people/ask-people.ts';
import { setMaxListeners } from 'node:events';
import type { AbortCause } from '../tools/tool.ts';
import { ApplicationFailure } from '@temporalio/common';
import { StoreError } from '../store/values/store.ts';

/**
 * The reason why an attempt's signal was aborted: someone stopped the run, the worker is going
 * away, or the attempt is no longer ours (L50).
 */
export type AbortedBy = 'stop' | 'deploy' | 'lost';

export type Attempt = {
  readonly session: SessionId;
  /** Temporal's id of the workflow run: a reset makes another, and so does a handover. */
  readonly run: string;
  /** The number of the attempt, from 1. */
  readonly number: number;
  readonly signal: AbortSignal;
  abortedBy(): AbortedBy | null;
  /**
   * Asks, right before an effect, whether this attempt is still the one that counts: a worker that
   * was frozen does not know that its work was given to another. It costs nothing while the server
   * cannot have done so yet; `now` asks in any case.
   */
  fence(when?: 'now'): Promise<boolean>;
  /**
   * Tells whether a session is known to be over; absent where the attempt runs without a server.
   */
  readonly isOver?: (session: SessionId) => Promise<boolean>;
  /**
   * Asks the server about a schedule by its id there; null for one that does not exist. Absent
   * where the attempt runs without a server.
   */
  readonly firingsOf?: (schedule: string) => Promise<FiringsSeen | null>;
  /** The server, for questions about others; absent where the attempt runs without one. */
  readonly temporal?: Client;
  /** The people that a running call may ask; absent where the attempt runs without a server. */
  readonly people?: People;
  /** The value that an earlier attempt of this activity left with `remember`. */
  readonly remembered: unknown;
  /**
   * Leaves a value for the next attempt, should this one fail or be lost. It is sent with the next
   * heartbeat, or at once when `now`.
   */
  remember(details: unknown, when?: 'now'): void;
};

/** The body of an activity, without Temporal. */
export type ActivityBody<Input, Output> = (attempt: Attempt, input: Input) => Promise<Output>;

/**
 * Describes an attempt that is over without a stop (L50): the run goes on elsewhere, with nothing
 * of this attempt.
 */
export function createGivenUpError(attempt: Attempt, what = 'the attempt'): Error {
  return new Error(`${what} was given up: ${attempt.abortedBy() ?? 'unknown'}`);
}

/** Returns the same attempt with an aborted signal, so that nothing begins in it. */
export function stopAttempt(attempt: Attempt): Attempt {
  return { ...attempt, signal: AbortSignal.abort(), abortedBy: () => 'stop' };
}

/** Bounds an attempt by a signal: out of time it is stopped, and says what it was billed. */
export function boundAttempt(attempt: Attempt, signal: AbortSignal): Attempt {
  return { ...attempt, signal, abortedBy: () => attempt.abortedBy() ?? (signal.aborted ? 'stop' : null) };
}

/** Tells whether an attempt's signal was aborted by something other than a stop. */
export function isGivenUp(attempt: Attempt): boolean {
  const by = attempt.abortedBy();
  return by !== null && by !== 'stop';
}

/** A deploy must not look like an interrupt to tools (L50). */
const CAUSES: Readonly<Record<AbortedBy, AbortCause>> = { stop: 'interrupt', deploy: 'deploy', lost: 'superseded' };

/**
 * Returns the attempt's signal as tools understand it: it is aborted, with an AbortCause, when the
 * attempt is.
 */
export function attemptSignal(attempt: Attempt): AbortSignal {
  const abort = new AbortController();
  // Every call of a batch may listen, and Node takes more than ten listeners for a leak.
  setMaxListeners(0, attempt.signal);
  const pass = (): void => abort.abort(CAUSES[attempt.abortedBy() ?? 'lost']);
  if (attempt.signal.aborted) pass();
  else attempt.signal.addEventListener('abort', pass, { once: true });
  return abort.signal;
}

const KINDS = [
  'NewerVersion',
  'NoRealModel',
  'HooksMissing',
  'StopsOnly',
  'KeyMissing',
  'FolderElsewhere',
  'Busy',
] as const;

/**
 * Makes the failure that leaves work which this worker cannot take to another one; it is not a
 * failure of the run, and is tried again after a while until a worker takes it. `message` says what
 * this worker lacks and what to do. `soon`: another worker is likely to be running.
 */
export function forAnotherWorker(kind: (typeof KINDS)[number], message: string, soon = false): ApplicationFailure {
  return ApplicationFailure.create({ type: kind, message, nextRetryDelay: soon ? '500ms' : '5s' });
}

/**
 * The number of attempts that are left to workers of other hosts; the first of them follow soon.
 * After them no host is left to ask.
 */
const LEFT_TO_OTHERS = 40;
const LEFT_SOON = 20;

/** Throws what leaves a folder to another host, as long as one is left to ask. */
export function leaveFolderToOthers(number: number, message: string): void {
  if (number <= LEFT_TO_OTHERS) throw forAnotherWorker('FolderElsewhere', message, number <= LEFT_SOON);
}

/**
 * Tells whether an error leaves the work to another worker; a value that a newer Perdure stored
 * counts too, because `createActivity` makes such a failure of it.
 */
export function isForAnotherWorker(error: unknown): boolean {
  if (error instanceof StoreError) return error.problem === 'newer';
  return error instanceof ApplicationFailure && KINDS.some((kind) => kind === error.type);
}
