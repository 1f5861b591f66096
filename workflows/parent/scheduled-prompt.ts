// One firing of a schedule (L87), as a workflow of its own. Temporal puts a colon into the id of
// what a schedule starts, which a session's id may not have; and a schedule's overlap policy needs
// a workflow that runs as long as the prompt's run.
import {
  ApplicationFailure,
  getExternalWorkflowHandle,
  isCancellation,
  patched,
  startChild,
  TemporalFailure,
  workflowInfo,
  type ChildWorkflowHandle,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { firingOf, scheduleId, type FiringResult, type ScheduledInput } from '../contract/schedules/firing.ts';
import { findUndecodable } from '../contract/undecodable.ts';
import { profiles } from '../contract/profiles.ts';
import type { MessageId } from '../contract/ids.ts';
import {
  MEMO_KEY,
  SIGNALS,
  WORKFLOW_TYPE,
  type RunReport,
  type SessionInput,
  type SessionMemo,
  type UserMessage,
} from '../contract/session.ts';
import { isNotFound } from '../delegated/reports.ts';
import { isMessage } from '../session/inbox.ts';
import { createPorts } from '../ports.ts';

/** Memo key of the client: when the session began. */
const STARTED_KEY = 'perdureStarted';

/**
 * Ends when the run of the session that it opens has, or as soon as an existing session has taken
 * the message. Throws ApplicationFailure with a sentence: NotDue, NotSent, Closed, SessionExists or
 * UnreadableSchedule.
 */
export async function scheduledPrompt(argument: ScheduledInput): Promise<FiringResult> {
  const input = parseArgument(argument);
  await refuseForeign(input);
  // Each firing has one message id, however often its task is tried (L61).
  const id = workflowInfo().workflowId as MessageId;
  const message: UserMessage = { id, body: input.body, by: `schedule ${input.schedule}`, querySource: 'schedule' };
  if (input.kind === 'open') return openSession(input, message);
  const { session, options } = input;
  try {
    await getExternalWorkflowHandle(session).signal(SIGNALS.message, { ...message, ...(options && { options }) });
  } catch (error) {
    if (!(error instanceof TemporalFailure) || isCancellation(error)) throw error;
    if (!isNotFound(error))
      throw ApplicationFailure.nonRetryable(`session ${session} took no prompt: ${error.message}`, 'NotSent');
    const remedy = `delete schedule ${input.schedule}, or make it anew for another session`;
    throw ApplicationFailure.nonRetryable(
      `session ${session} is closed and takes no more prompts: ${remedy}`,
      'Closed',
    );
  }
  return { session };
}

/** Refuses a firing that the server's schedule has not started: someone has copied its argument. */
async function refuseForeign({ schedule }: ScheduledInput): Promise<void> {
  if (!patched('perdure-firing-due')) return;
  const { workflowId, startTime } = workflowInfo();
  const { schedule: id = scheduleId(schedule) } = firingOf(workflowId) ?? {};
  const found = await createPorts().lookAtFiring({ schedule: id, begun: startTime.getTime(), step: 0 });
  if (found.due) return;
  throw ApplicationFailure.nonRetryable(`nothing was done for schedule ${schedule}: ${found.why}`, 'NotDue');
}

async function openSession({ input, memo }: Extract<ScheduledInput, { kind: 'open' }>, first: UserMessage) {
  const firing = firingOf(workflowInfo().workflowId);
  if (firing === null) throw ApplicationFailure.nonRetryable('no schedule has started this', 'NoFiring');
  const { session } = firing;
  const { reason } = await (await startSession(session, { ...input, first, until: 'run' }, memo)).result();
  return { session, reason };
}

async function startSession(
  session: string,
  input: SessionInput,
  memo: Readonly<Record<string, unknown>>,
): Promise<ChildWorkflowHandle<(argument: SessionInput) => Promise<RunReport>>> {
  try {
    return await startChild<(argument: SessionInput) => Promise<RunReport>>(WORKFLOW_TYPE, {
      workflowId: session,
      args: [input],
      memo: { ...memo, [STARTED_KEY]: Date.now(), [MEMO_KEY]: firstMemo(input) },
      staticSummary: input.title,
      workflowTaskTimeout: profiles[input.profile ?? 'machine'].workflowTask,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      // A session cleans up before it ends, and the next firing waits for that where it cancels
      // this one.
      cancellationType: 'WAIT_CANCELLATION_COMPLETED',
      parentClosePolicy: 'REQUEST_CANCEL',
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    throw ApplicationFailure.nonRetryable(`session ${session} is here already: nothing was started`, 'SessionExists');
  }
}

function firstMemo({ options: { cwd, model, tags }, title }: SessionInput): SessionMemo {
  const chosen = { ...(model !== undefined && { model }), ...(tags && { tags }) };
  const facts = { turns: 0, tokens: 0, cents: 0, ...chosen, querySource: 'schedule' } as const;
  return { phase: 'running', head: null, cwd, title, runs: 0, last: null, facts };
}

/**
 * Any client can start it with any argument: it fails with a sentence. An argument that another
 * worker can read waits for that worker.
 */
function parseArgument(argument: unknown): ScheduledInput {
  const unread = findUndecodable(argument);
  if (unread?.elsewhere) throw new Error(`what the schedule says ${unread.why}`);
  const { schedule, body, kind, input, session } = (argument ?? {}) as Readonly<Record<string, unknown>>;
  const isOurs = typeof schedule === 'string' && isMessage({ id: schedule, body });
  const target = kind === 'open' ? typeof input === 'object' && input !== null : typeof session === 'string';
  if (!unread && isOurs && target) return argument as ScheduledInput;
  const why = unread ? unread.why : 'is not what a schedule says';
  throw ApplicationFailure.nonRetryable(`the argument ${why}`, 'UnreadableSchedule');
}
