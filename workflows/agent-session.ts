// The workflow: one session, one conversation. It waits for messages, opens a run for what waits, and lives until it is cancelled.
import { CancelledFailure, CancellationScope, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import { handoverIfDue } from './handover.ts';
import { commit } from './ports.ts';
import { openAndRun, run } from './run.ts';
import { firstCarry, type ResumedInput } from './session-state.ts';
import { Session } from './session.ts';

export async function agentSession(input: ResumedInput): Promise<void> {
  const carry = input.carry ?? firstCarry(input, workflowInfo().firstExecutionRunId);
  const session = new Session(input, carry);
  try {
    if (carry.run) await run(session, carry.run);
    for (;;) {
      if (session.stopCause !== 'cancel' && session.inbox.waiting.length === 0) await idle(session);
      if (session.stopCause === 'cancel') break;
      await openAndRun(session);
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  await close(session);
}

async function idle(session: Session): Promise<void> {
  session.enter('idle');
  await handoverIfDue(session, () => null);
  await condition(() => session.inbox.waiting.length > 0);
}

/** Cancelled: what still waits is recorded as not taken (L49, L61), then the workflow ends as Cancelled. */
async function close(session: Session): Promise<never> {
  const { head } = session.facts;
  const notTaken = session.inbox.takeAll().map((message) => message.id);
  const closed = await CancellationScope.nonCancellable(() =>
    commit({ head, append: [{ kind: 'session_closed', notTaken }], step: session.nextStep() }),
  );
  session.facts = { ...session.facts, head: closed.head };
  session.enter('closed');
  throw new CancelledFailure('session cancelled');
}
