// Continues as new, anywhere between two iterations (L4), on Temporal's suggestion or at our own
// limits. The check, the snapshot and the command are made with no await between them, so that
// nothing can arrive unseen; later arrivals are in the new run.
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  makeContinueAsNewFunc,
  workflowInfo,
} from '@temporalio/workflow';
import { defaultHandover } from '../contract/session.ts';
import { findUndecodable } from '../contract/undecodable.ts';
import type { Carry, ResumedInput, RunCarry } from './session-state.ts';
import type { Session } from './session.ts';
import { present } from '../contract/present.ts';

/**
 * Waits for the handlers of an earlier run (L56) when Temporal suggests the handover; otherwise
 * puts it off while they run.
 */
export async function handOverIfDue(session: Session, run: () => RunCarry | null): Promise<void> {
  const idle = session.run === null && session.inbox.count === 0;
  if (!idle && workflowInfo().continueAsNewSuggested) {
    const canGoOn = (): boolean => session.sideWork.isSettled || isStopping(session);
    await CancellationScope.nonCancellable(() => condition(canGoOn));
  }
  if (canHandOver(session)) await handOverSession(session, run());
}

/** Never returns. Call it only where `canHandOver` has just been true. */
export async function handOverSession(session: Session, run: RunCarry | null): Promise<never> {
  const { open } = session.alerts;
  const { answered } = session.approvals;
  const { open: steered, announced: canceller } = session.steered;
  const once = session.steered.once.snapshot();
  const { asked: elicited } = session.elicitations;
  const parts = {
    ...(open.length > 0 && { alerts: open }),
    ...(answered.length > 0 && { answered }),
    ...(steered.length > 0 && { steered }),
    ...present({ canceller: canceller ?? undefined, once: once ?? undefined }),
    ...(elicited.length > 0 && { elicited }),
  };
  const delegated = { ...session.delegations.carry, ...session.pauses.carry };
  session.memoWriter.write();
  const { carry: webhooks } = session.webhooks;
  const carry: Carry = {
    ...session.facts.now,
    inbox: session.inbox.snapshot(),
    ...parts,
    ...present({ webhooks }),
    ...delegated,
    run,
  };
  // The options travel in `carry`.
  const options = { cwd: carry.options.cwd };
  const { first: _taken, ...input } = session.input;
  const go = makeContinueAsNewFunc<(input: ResumedInput) => Promise<unknown>>(
    present({ memo: memoAsItIs(), initialVersioningBehavior: versioningAfter() }),
  );
  return go({ ...input, options, carry });
}

/**
 * A session that is pinned to its build begins its next run on the current one, where the server
 * knows how (D5). Without a Worker Deployment there is nothing to say.
 */
const versioningAfter = (): 'AUTO_UPGRADE' | undefined => workflowInfo().currentDeploymentVersion && 'AUTO_UPGRADE';

/**
 * Returns the memo as it was written last: without one the next run begins with the memo of the
 * session's start, in which it runs, until its first task is done. What cannot be read here cannot
 * be passed on either.
 */
function memoAsItIs(): Record<string, unknown> | undefined {
  const { memo = {} } = workflowInfo();
  return Object.values(memo).some((value) => findUndecodable(value) !== null) ? undefined : memo;
}

/** A handover is due, and loses nothing. */
export function canHandOver(session: Session): boolean {
  if (isStopping(session) || session.hosting.isMoving || !isHandoverDue(session)) return false;
  const isAllTold = session.asks.isSettled && session.pauses.isSettled && session.waits.isSettled;
  return session.isCarriable && session.sideWork.isSettled && isAllTold && allHandlersFinished();
}

/** This workflow run must deal with a stop itself: its scope is cancelled already. */
function isStopping({ stopCause, interruptWaits }: Session): boolean {
  return stopCause !== null || interruptWaits;
}

export function isHandoverDue(session: Session): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  const limits = session.input.handover ?? defaultHandover;
  const events = session.run === null ? (limits.betweenRuns ?? limits.events) : limits.events;
  return (
    continueAsNewSuggested ||
    historyLength >= events ||
    session.signals >= limits.signals ||
    (limits.iterations !== undefined && session.iterations >= limits.iterations)
  );
}
