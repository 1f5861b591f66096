// Makes activities of bodies: Temporal's attempt of one, its heartbeats, and the fence that checks
// whether the attempt still counts.
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { ActivityAnswer } from '../workflows/contract/activities.ts';
import { STORE_CORRUPT } from '../workflows/contract/failures.ts';
import { findUndecodable } from '../workflows/contract/undecodable.ts';
import { isSessionOver, readFirings, createPeople } from '../tools/people/ask-people.ts';
import { isDamage, StoreError } from '../store/values/store.ts';
import { forAnotherWorker, isForAnotherWorker, type AbortedBy, type ActivityBody, type Attempt } from './attempt.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
} from '@temporalio/client';

/**
 * Milliseconds. A cancel, which travels in a heartbeat's answer, so arrives within half a second;
 * an activity that is over sooner sends no heartbeat, for each costs the server a write.
 */
const HEARTBEAT_MS = 250;

/**
 * Makes an activity of a body. Heartbeats come from a timer, not from the body's work. A damaged
 * store is not retried; a value of a newer Perdure is left to a newer worker; an attempt that lost
 * its worker is made again at once.
 */
export function createActivity<Input, Output>(
  body: ActivityBody<Input, Output>,
): (input: Input) => Promise<ActivityAnswer<Output>> {
  return async (input) => {
    refuseUnread(input);
    const context = Context.current();
    const attempt = createAttempt(context);
    const timer = setInterval(() => context.heartbeat(attempt.latest()), HEARTBEAT_MS);
    try {
      // JSON has no undefined, and an answer says that it is one.
      return { done: (await body(attempt, input)) ?? (null as Output) };
    } catch (error) {
      throw toFailure(error, attempt.abortedBy());
    } finally {
      clearInterval(timer);
    }
  };
}

/** Refuses an input that cannot be read; a worker that has its key may still run it. */
function refuseUnread(input: unknown): void {
  const unread = findUndecodable(input);
  if (!unread) return;
  const message = `the input of this step ${unread.why}`;
  if (unread.elsewhere) throw forAnotherWorker('KeyMissing', message);
  throw ApplicationFailure.nonRetryable(message, 'UnreadableInput');
}

function createAttempt(context: Context): Attempt & { latest(): unknown } {
  const { workflowExecution, attempt, heartbeatDetails, activityId, namespace, isLocal, taskToken } = context.info;
  if (!workflowExecution) throw new Error('this activity runs only for a workflow');
  const { workflowId, runId } = workflowExecution;
  // A client does not know whose token it is: without this context the next attempt could not open
  // what it seals.
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
    abortedBy: () => (fence.isLost() ? 'lost' : readAbortCause(context)),
    fence: fence.check,
    isOver: (session) => isSessionOver(context.client, session),
    firingsOf: (schedule) => readFirings(context.client, schedule),
    temporal: context.client,
    people: createPeople(() => context.client.workflow.getHandle(workflowId)),
    remembered,
    latest: () => latest,
    remember: (details, when) => {
      latest = details;
      if (when === 'now') context.heartbeat(details);
    },
  };
}

function readAbortCause(context: Context): AbortedBy | null {
  if (!context.cancellationSignal.aborted) return null;
  const details = context.cancellationDetails;
  if (details?.cancelRequested) return 'stop';
  return details?.workerShutdown ? 'deploy' : 'lost';
}

function toFailure(error: unknown, by: AbortedBy | null): unknown {
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

// Finds out whether an attempt is still the one that counts. Temporal gives the work to another
// worker when heartbeats stop coming, and a worker that was frozen meanwhile learns of it late.
// The answer to a heartbeat says so for certain.
type FencePorts = {
  /** Sends a heartbeat and waits for its answer; rejects with a client's error. */
  readonly beat: () => Promise<void>;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly currentAttemptScheduledTimestampMs: number;
  readonly heartbeatTimeoutMs?: number | undefined;
};

type Fence = {
  check(when?: 'now'): Promise<boolean>;
  /** Tells whether the attempt was found to count no longer. */
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
  let superseded = false;
  // Both clocks are needed: one can be set back, the other stands still while the machine sleeps.
  let lastSeen = { at: scheduled, tick: performance.now() };
  const isFresh = (): boolean => Date.now() - lastSeen.at < leaseMs && performance.now() - lastSeen.tick < leaseMs;
  const check = async (when?: 'now'): Promise<boolean> => {
    if (superseded || (when !== 'now' && isFresh())) return !superseded;
    const sent = { at: Date.now(), tick: performance.now() };
    const current = await isCurrent(beat, signal);
    if (current) lastSeen = sent;
    else superseded = true;
    return current;
  };
  return { check, isLost: () => superseded };
}

/** Asks a server that cannot be reached again, until the attempt is ended for another reason. */
async function isCurrent(beat: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    const answer = await beat().then(
      () => 'current' as const,
      (error: unknown) => readBeatError(error),
    );
    if (answer !== 'unknown') return answer === 'current';
    if (signal.aborted) return false;
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Reads the answer to a heartbeat. An attempt that is to be cancelled is still ours. */
function readBeatError(error: unknown): 'current' | 'lost' | 'unknown' {
  if (error instanceof ActivityCancelledError) return 'current';
  const isLost =
    error instanceof ActivityNotFoundError ||
    error instanceof ActivityPausedError ||
    error instanceof ActivityResetError;
  return isLost ? 'lost' : 'unknown';
}
