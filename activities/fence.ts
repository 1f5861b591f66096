// Finds out whether an attempt is still the one that counts. Temporal gives the work to another
// worker when heartbeats stop coming, and a worker that was frozen meanwhile learns of it late.
// The answer to a heartbeat says so for certain.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
} from '@temporalio/client';

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
  let lost = false;
  // Both clocks are needed: one can be set back, the other stands still while the machine sleeps.
  let lastSeen = { at: scheduled, tick: performance.now() };
  const isFresh = (): boolean => Date.now() - lastSeen.at < leaseMs && performance.now() - lastSeen.tick < leaseMs;
  const check = async (when?: 'now'): Promise<boolean> => {
    if (lost || (when !== 'now' && isFresh())) return !lost;
    const asked = { at: Date.now(), tick: performance.now() };
    const current = await isCurrent(beat, signal);
    if (current) lastSeen = asked;
    else lost = true;
    return current;
  };
  return { check, isLost: () => lost };
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
