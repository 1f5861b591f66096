// One attempt of an activity as its body sees it. Bodies get it as an argument, so they run in a
// test without a server.
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
} from '@temporalio/client';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { ActivityAnswer } from '../workflows/contract/activities.ts';
import { STORE_CORRUPT } from '../workflows/contract/failures.ts';
import { findUndecodable } from '../workflows/contract/undecodable.ts';
import { firingsOf, type FiringsSeen, isOver } from '../tools/people/ask-server.ts';
import { peopleOf, type People } from '../tools/people/ask-people.ts';
import { isDamage, StoreError } from '../store/values/store.ts';

/**
 * Why an attempt's signal was aborted: someone stopped the run, the worker is going away, or the
 * attempt is no longer ours (L50).
 */
export type AbortedBy = 'stop' | 'deploy' | 'lost';

export type Attempt = {
  readonly session: SessionId;
  /** Temporal's id of the workflow run: a reset makes another, and so does a handover. */
  readonly run: string;
  /** From 1. */
  readonly number: number;
  readonly signal: AbortSignal;
  abortedBy(): AbortedBy | null;
  /**
   * Whether this attempt is still the one that counts: to be asked right before an effect, for a
   * worker that was frozen does not know that its work was given to another. Costs nothing while
   * the server cannot have done so yet; `now` asks it in any case.
   */
  fence(when?: 'now'): Promise<boolean>;
  /** Whether a session is known to be over; absent where there is no server to ask. */
  readonly isOver?: (session: SessionId) => Promise<boolean>;
  /**
   * What the server tells of a schedule, by its id there, null when there is none; absent where
   * there is no server.
   */
  readonly firingsOf?: (schedule: string) => Promise<FiringsSeen | null>;
  /** Those who are asked by a call that runs; absent where there is no server. */
  readonly people?: People;
  /** The value that an earlier attempt of this activity left with `remember`. */
  readonly remembered: unknown;
  /**
   * For the next attempt, should this one fail or be lost. Sent with the next heartbeat, or at once
   * when `now`.
   */
  remember(details: unknown, when?: 'now'): void;
};

/** The body of an activity, without Temporal. */
export type Body<Input, Output> = (attempt: Attempt, input: Input) => Promise<Output>;

/**
 * Not a stop (L50): the attempt is over, the run goes on elsewhere, with nothing of this attempt.
 */
export function describeGivenUp(attempt: Attempt, what = 'the attempt'): Error {
  return new Error(`${what} was given up: ${attempt.abortedBy() ?? 'unknown'}`);
}

/** The same attempt, in which nothing begins any more. */
export function stopAttempt(attempt: Attempt): Attempt {
  return { ...attempt, signal: AbortSignal.abort(), abortedBy: () => 'stop' };
}

/** Out of time it is stopped, and says what it was billed. */
export function boundAttempt(attempt: Attempt, signal: AbortSignal): Attempt {
  return { ...attempt, signal, abortedBy: () => attempt.abortedBy() ?? (signal.aborted ? 'stop' : null) };
}

/** Whether an attempt's signal was aborted by something that is no stop. */
export function isGivenUp(attempt: Attempt): boolean {
  const by = attempt.abortedBy();
  return by !== null && by !== 'stop';
}

/**
 * Often enough that a cancel, which travels in a heartbeat's answer, arrives within half a second;
 * an activity that is over sooner sends none, for each costs the server a write.
 */
const HEARTBEAT_MS = 250;

/**
 * Makes an activity of a body. Heartbeats come from a timer, not from what the body does. A damaged
 * store is not retried; what a newer Perdure wrote is left to a newer worker; an attempt that lost
 * its worker is made again at once.
 */
export function activity<Input, Output>(body: Body<Input, Output>): (input: Input) => Promise<ActivityAnswer<Output>> {
  return async (input) => {
    refuseUnread(input);
    const context = Context.current();
    const attempt = temporalAttempt(context);
    const timer = setInterval(() => context.heartbeat(attempt.latest()), HEARTBEAT_MS);
    try {
      // JSON has no undefined, and an answer says that it is one.
      return { done: (await body(attempt, input)) ?? (null as Output) };
    } catch (error) {
      throw failureOf(error, attempt.abortedBy());
    } finally {
      clearInterval(timer);
    }
  };
}

/** Nothing is done with an input that cannot be read; a worker that has its key may still do it. */
function refuseUnread(input: unknown): void {
  const unread = findUndecodable(input);
  if (!unread) return;
  const message = `the input of this step ${unread.why}`;
  if (unread.elsewhere) throw forAnotherWorker('KeyMissing', message);
  throw ApplicationFailure.nonRetryable(message, 'UnreadableInput');
}

function temporalAttempt(context: Context): Attempt & { latest(): unknown } {
  const { workflowExecution, attempt, heartbeatDetails, activityId, namespace, isLocal, taskToken } = context.info;
  if (!workflowExecution) throw new Error('this activity runs only for a workflow');
  const { workflowId, runId } = workflowExecution;
  // A client does not know whose token it is: what it sealed for nobody, the next attempt could not
  // open.
  const serializationContext = { type: 'activity', namespace, workflowId, activityId, isLocal } as const;
  const remembered: unknown = findUndecodable(heartbeatDetails) ? undefined : heartbeatDetails;
  let latest = remembered;
  const fence = createFence({
    beat: () => context.client.activity.heartbeat(taskToken, latest, { serializationContext }),
    signal: context.cancellationSignal,
    ...context.info,
  });
  return {
    session: workflowId as SessionId,
    run: runId,
    number: attempt,
    signal: context.cancellationSignal,
    abortedBy: () => (fence.isLost() ? 'lost' : abortedBy(context)),
    fence: fence.check,
    isOver: (session) => isOver(context.client, session),
    firingsOf: (schedule) => firingsOf(context.client, schedule),
    people: peopleOf(() => context.client.workflow.getHandle(workflowId)),
    remembered,
    latest: () => latest,
    remember: (details, when) => {
      latest = details;
      if (when === 'now') context.heartbeat(details);
    },
  };
}

function abortedBy(context: Context): AbortedBy | null {
  if (!context.cancellationSignal.aborted) return null;
  const details = context.cancellationDetails;
  if (details?.cancelRequested) return 'stop';
  return details?.workerShutdown ? 'deploy' : 'lost';
}

function failureOf(error: unknown, by: AbortedBy | null): unknown {
  if (isDamage(error)) {
    return ApplicationFailure.create({ type: STORE_CORRUPT, message: error.message, nonRetryable: true });
  }
  if (error instanceof StoreError && isForAnotherWorker(error)) return forAnotherWorker('NewerVersion', error.message);
  if (by === 'deploy' || by === 'lost') {
    const message = `the attempt ended: ${by}`;
    const category = ApplicationFailureCategory.BENIGN;
    return ApplicationFailure.create({ type: 'AttemptLost', message, nextRetryDelay: 1, category });
  }
  return error;
}

// Whether an attempt is still the one that counts. Temporal gives an attempt to another worker when
// its heartbeats stay out, and a worker that was frozen meanwhile learns of it late. The answer to
// a heartbeat says so for certain.

type FencePorts = {
  /** A heartbeat that waits for its answer; rejects with a client's error. */
  readonly beat: () => Promise<void>;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly currentAttemptScheduledTimestampMs: number;
  readonly heartbeatTimeoutMs?: number | undefined;
};

type Fence = {
  check(when?: 'now'): Promise<boolean>;
  /** It has been found out that the attempt counts no more. */
  isLost(): boolean;
};

/**
 * A share of the heartbeat timeout: two thirds are left for clocks that differ between machines.
 */
const LEASE = 1 / 3;

const AGAIN_MS = 250;

export function createFence({
  beat,
  signal,
  currentAttemptScheduledTimestampMs: scheduled,
  heartbeatTimeoutMs = 0,
}: FencePorts): Fence {
  const leaseMs = heartbeatTimeoutMs * LEASE;
  let lost = false;
  // By both clocks: one can be set back, the other stands still while the machine sleeps.
  let known = { at: scheduled, tick: performance.now() };
  const isFresh = (): boolean => Date.now() - known.at < leaseMs && performance.now() - known.tick < leaseMs;
  const check = async (when?: 'now'): Promise<boolean> => {
    if (lost || (when !== 'now' && isFresh())) return !lost;
    const asked = { at: Date.now(), tick: performance.now() };
    const current = await isCurrent(beat, signal);
    if (current) known = asked;
    else lost = true;
    return current;
  };
  return { check, isLost: () => lost };
}

/**
 * A server that cannot be reached is asked again, until the attempt is ended for another reason.
 */
async function isCurrent(beat: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    const answer = await beat().then(
      () => 'current' as const,
      (error: unknown) => meaningOf(error),
    );
    if (answer !== 'unknown') return answer === 'current';
    if (signal.aborted) return false;
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** An attempt that is to be cancelled is still ours. */
function meaningOf(error: unknown): 'current' | 'lost' | 'unknown' {
  if (error instanceof ActivityCancelledError) return 'current';
  const isLost =
    error instanceof ActivityNotFoundError ||
    error instanceof ActivityPausedError ||
    error instanceof ActivityResetError;
  return isLost ? 'lost' : 'unknown';
}

// Work that this worker cannot take and another may is not a failure of the run. It is tried again
// after a while, until one takes it.

const kinds = [
  'NewerVersion',
  'NoRealModel',
  'HooksMissing',
  'StopsOnly',
  'KeyMissing',
  'FolderElsewhere',
  'Busy',
] as const;

/** `message`: what this worker lacks, and what to do. `soon`: another one is likely to be there. */
export function forAnotherWorker(kind: (typeof kinds)[number], message: string, soon = false): ApplicationFailure {
  return ApplicationFailure.create({ type: kind, message, nextRetryDelay: soon ? '500ms' : '5s' });
}

/** Also of what a newer Perdure stored: `activity` makes one of it. */
export function isForAnotherWorker(error: unknown): boolean {
  if (error instanceof StoreError) return error.problem === 'newer';
  return error instanceof ApplicationFailure && kinds.some((kind) => kind === error.type);
}
