// Continue as new, anywhere between two iterations (L4): on Temporal's suggestion or our own limits. The snapshot and the
// command are made with no await between them, so nothing can arrive unseen; what arrives after is in the new run.
import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import { defaultHandover } from './contract/session.ts';
import type { Carry, ResumedInput, RunCarry } from './session-state.ts';
import type { Session } from './session.ts';

export async function handoverIfDue(session: Session, run: () => RunCarry | null): Promise<void> {
  // A stop is dealt with in this run: its scope is cancelled already.
  if (session.stopCause || session.interruptWaits) return;
  if (!handoverDue(session) || !session.inbox.isCarriable()) return;
  await session.beside.settled();
  await condition(allHandlersFinished);
  const carry: Carry = { ...session.facts, inbox: session.inbox.snapshot(), run: run() };
  await continueAsNew<(input: ResumedInput) => Promise<void>>({ ...session.input, carry });
}

export function handoverDue(session: Session): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  const limits = session.input.handover ?? defaultHandover;
  return (
    continueAsNewSuggested ||
    historyLength >= limits.events ||
    session.signals >= limits.signals ||
    (limits.iterations !== undefined && session.iterations >= limits.iterations)
  );
}
