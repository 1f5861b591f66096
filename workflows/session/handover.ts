// Continue as new, anywhere between two iterations (L4): on Temporal's suggestion or our own
// limits. The check, the snapshot and the command are made with no await between them, so nothing
// can arrive unseen; what arrives after is in the new run.
import { allHandlersFinished, CancellationScope, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import { defaultHandover } from '../contract/session.ts';
import type { Carry, ResumedInput, RunCarry } from './session-state.ts';
import type { Session } from './session.ts';

/**
 * While handlers of an earlier run still run (L56) it is put off, unless Temporal suggests it: then
 * they are waited for.
 */
export async function handoverIfDue(session: Session, run: () => RunCarry | null): Promise<void> {
  const idle = session.run === null && session.inbox.count === 0;
  if (!idle && workflowInfo().continueAsNewSuggested) {
    const over = (): boolean => session.beside.isSettled || isStopping(session);
    await CancellationScope.nonCancellable(() => condition(over));
  }
  if (handoverReady(session)) await handOver(session, run());
}

/** Never returns. To be called where `handoverReady` was seen to be true. */
export async function handOver(session: Session, run: RunCarry | null): Promise<never> {
  const { open } = session.alerts;
  const { answered } = session.approvals;
  const { open: steered, announced: canceller } = session.steered;
  const once = session.steered.once.snapshot();
  const { asked: elicited } = session.elicitations;
  const told = {
    ...(open.length > 0 ? { alerts: open } : {}),
    ...(answered.length > 0 ? { answered } : {}),
    ...(steered.length > 0 ? { steered } : {}),
    ...(canceller === null ? {} : { canceller }),
    ...(once === null ? {} : { once }),
    ...(elicited.length > 0 ? { elicited } : {}),
  };
  const delegated = { ...session.delegations.carry, ...session.pauses.carry };
  const carry: Carry = { ...session.facts.now, inbox: session.inbox.snapshot(), ...told, ...delegated, run };
  // The options travel in `carry`.
  const options = { cwd: carry.options.cwd };
  session.told.tell();
  const { first: _taken, ...input } = session.input;
  return continueAsNew<(input: ResumedInput) => Promise<unknown>>({ ...input, options, carry });
}

/** Due, and nothing would be lost by it. */
export function handoverReady(session: Session): boolean {
  if (isStopping(session) || !handoverDue(session)) return false;
  const told = session.asks.isSettled && session.pauses.isSettled;
  return session.isCarriable && session.beside.isSettled && told && allHandlersFinished();
}

/** A stop is dealt with in this run: its scope is cancelled already. */
function isStopping({ stopCause, interruptWaits }: Session): boolean {
  return stopCause !== null || interruptWaits;
}

export function handoverDue(session: Session): boolean {
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
