// The workflow: one session, one conversation. It waits for messages, opens a run for what waits, and lives until it is cancelled.
import { CancelledFailure, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import { committed } from './committed.ts';
import { handoverIfDue, handoverReady } from './handover.ts';
import { openAndRun, run } from './run.ts';
import { firstCarry, type ResumedInput } from './session-state.ts';
import { Session } from './session.ts';

export async function agentSession(input: ResumedInput): Promise<void> {
  const carry = input.carry ?? firstCarry(input, workflowInfo().firstExecutionRunId);
  const session = new Session(input, carry);
  try {
    if (carry.run) await run(session, carry.run);
    const cancelled = (): boolean => session.stopCause === 'cancel';
    while (!cancelled()) {
      if (session.inbox.count === 0) session.enter('idle');
      await handoverIfDue(session, () => null);
      await condition(() => session.inbox.count > 0 || handoverReady(session));
      // A message and a cancel may have arrived together.
      if (session.inbox.count > 0 && !cancelled()) await openAndRun(session);
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  await close(session);
}

/** Cancelled: what still waits, also what arrives meanwhile, is recorded as not taken (L49, L61); then it ends as Cancelled. */
async function close(session: Session): Promise<never> {
  do {
    const notTaken = session.inbox.takeAll().map((message) => message.id);
    const head = await committed(session, session.facts.head, [{ kind: 'session_closed', notTaken }]);
    session.facts = { ...session.facts, head };
    await session.beside.settled();
  } while (session.inbox.count > 0);
  session.enter('closed');
  throw new CancelledFailure('session cancelled');
}
