// Whether an attempt is still the one that counts. Temporal gives an attempt to another worker when its heartbeats stay out, and a
// worker that was frozen meanwhile learns of it late. The answer to a heartbeat says so for certain.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
} from '@temporalio/client';

export type FencePorts = {
  /** A heartbeat that waits for its answer; rejects with a client's error. */
  readonly beat: () => Promise<void>;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly currentAttemptScheduledTimestampMs: number;
  readonly heartbeatTimeoutMs?: number | undefined;
};

export type Fence = {
  check(when?: 'now'): Promise<boolean>;
  /** It has been found out that the attempt counts no more. */
  isLost(): boolean;
};

/** Of the heartbeat timeout: two thirds are left for clocks that differ between machines. */
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

/** A server that cannot be reached is asked again, until the attempt is ended for another reason. */
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
