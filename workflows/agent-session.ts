// The workflow: one session, one conversation. It waits for messages, opens a run for what waits, and lives until it is cancelled.
import { ApplicationFailure, CancelledFailure, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import { committed } from './ports.ts';
import { undecodable } from './contract/failures.ts';
import { handoverIfDue, handoverReady } from './handover.ts';
import { openAndRun, run } from './run.ts';
import { firstCarry, type ResumedInput } from './session-state.ts';
import { Session } from './session.ts';

export async function agentSession(argument: ResumedInput): Promise<void> {
  const input = checkedArgument(argument);
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
  session.told.tell();
  throw new CancelledFailure('session cancelled');
}

/**
 * Any client can start a session, with anything: it fails with a sentence. One that has a history was readable to the worker before
 * this one, which lacks a key or has one too many: its task fails, and is tried again until a worker can read it.
 */
function checkedArgument(argument: unknown): ResumedInput {
  const unread = undecodable(argument);
  const why = unread ? unread.why : isSessionInput(argument) ? null : 'is not what a session is opened with';
  if (why === null) return argument as ResumedInput;
  const { unsafe, continuedFromExecutionRunId } = workflowInfo();
  const message = `the session's argument ${why}`;
  if (unread?.elsewhere || unsafe.isReplaying || continuedFromExecutionRunId !== undefined) throw new Error(message);
  throw ApplicationFailure.nonRetryable(message, 'UnreadableSession');
}

/** Shape only: what its options ask for is judged when a run opens with them. */
function isSessionInput(value: unknown): boolean {
  const { options, title, carry } = (value ?? {}) as Partial<Record<keyof ResumedInput, unknown>>;
  const isObject = (given: unknown): boolean => typeof given === 'object' && given !== null && !Array.isArray(given);
  return isObject(options) && typeof title === 'string' && (carry === undefined || isObject(carry));
}
