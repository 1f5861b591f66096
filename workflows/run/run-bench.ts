// The bench that a run performs its moves with, and a batch of its calls: how many run, work or
// wait, and when one may begin.
import { condition, isCancellation } from '@temporalio/workflow';
import type { Call, ToolResult } from '../contract/activities.ts';
import type { PendingApproval } from '../contract/session.ts';
import type { OpenDelegation } from '../delegated/delegations.ts';
import type { CallResult } from '../machine/events.ts';
import type { Session } from '../session/session.ts';
import type { RunSnapshot } from '../contract/loop.ts';
import type { RunClock } from '../updates/run-limits.ts';
import type { RunState } from '../machine/state.ts';
import type { Held, RunCarry } from '../session/session-state.ts';

/** Shared by the model call, the tools and the approvals of one run. */
export type RunBench = {
  readonly session: Session;
  /** Its limits may have been raised meanwhile. */
  readonly snapshot: RunSnapshot;
  readonly clock: RunClock;
  readonly carried: (state: RunState, held: Held) => RunCarry;
};

/** Calls that run together, and what is known of all calls of the reply. */
export type Batch = {
  readonly calls: readonly Call[];
  readonly cut: boolean;
  readonly batch: readonly Call[];
  readonly results: Map<number, CallResult>;
  /** Asked before a handover, by the call's index. */
  readonly asked: ReadonlyMap<number, PendingApproval>;
  /** Delegated before a handover, by the call's index. */
  readonly delegated: ReadonlyMap<number, OpenDelegation>;
  /** How many of the batch have neither an outcome, nor wait for a decision, nor are delegated. */
  running: number;
  /** Those that are delegated to something that works: the runtime limit goes on for them. */
  readonly working: Set<OpenDelegation>;
  /** Activities of the batch that run now, and whether it is one that nothing may run beside. */
  active: number;
  alone: boolean;
};

type Known = Pick<Batch, 'calls' | 'cut' | 'batch' | 'results' | 'asked' | 'delegated'>;

/** Runs a batch of which nothing has begun. */
export function inBatch(bench: RunBench, known: Known, run: (batch: Batch) => Promise<void>): Promise<void> {
  const batch = { ...known, running: known.batch.length, working: new Set<OpenDelegation>(), active: 0, alone: false };
  return bench.session.pauses.during(
    () => waitOrWork(bench, batch),
    () => run(batch),
  );
}

/**
 * An edited input was never judged safe: it runs when nothing of the batch does, and nothing begins
 * beside it (L35). Null when it was cancelled before it began.
 */
export async function admitted(
  batch: Batch,
  alone: boolean,
  run: () => Promise<ToolResult>,
): Promise<ToolResult | null> {
  const free = (): boolean => !batch.alone && (!alone || batch.active === 0);
  try {
    while (!free()) await condition(free);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    return null;
  }
  batch.active += 1;
  batch.alone = alone;
  try {
    return await run();
  } finally {
    batch.active -= 1;
    if (alone) batch.alone = false;
  }
}

/**
 * One of the batch has its outcome, waits or is delegated; when all that is left waits, so does the
 * run.
 */
export function countSettled(bench: RunBench, batch: Batch): void {
  batch.running -= 1;
  waitOrWork(bench, batch);
}

/** What it waited for has come. */
export function goOn(bench: RunBench, batch: Batch): void {
  batch.running += 1;
  waitOrWork(bench, batch);
}

/**
 * Time spent waiting for a decision, or for a time that the model asked for, does not count, also
 * where it is agents that wait (L51, L82).
 */
function waitOrWork({ session, clock }: RunBench, { running, working }: Batch): void {
  const until = session.delegations.longestWait;
  const asks = session.approvals.pending.length > 0;
  const works = running > 0 || [...working].some(({ child }) => !session.pauses.isWaiting(child));
  const waits = running === 0 && working.size === 0 && (asks || until !== null);
  session.park(waits && !asks ? until : null);
  if (waits || (!works && working.size > 0)) clock.pause();
  else clock.resume();
  session.enter(waits ? (asks ? 'waiting_approval' : 'parked') : 'running');
}
