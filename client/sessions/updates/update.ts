// Sends decisions to a session as updates: a worker answers them and may refuse them with a
// sentence (L55). Few are sent at a time, and one without an answer is repeated with the same id:
// an error does not mean that nothing was applied.
import { randomUUID } from 'node:crypto';
import {
  type Client,
  type WorkflowHandle,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { lastPollTime } from '../../../connection/worker-polls.ts';
import type { AsideAnswer } from '../../../workflows/contract/aside.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import type { Usage } from '../../../workflows/contract/loop.ts';
import { UPDATES } from '../../../workflows/contract/session.ts';
import type { Signature } from '../../../workflows/contract/steered.ts';
import { ClientProblem } from '../../problem.ts';
import type { SessionDescription } from '../info.ts';
import { describeNoWorker } from '../watch-pollers.ts';
import { callUntilAnswered, NotYet, patience, type Patience } from '../persist.ts';
import { describe, sessionClosedProblem } from '../send.ts';

/** More than ten in flight wedge a session. */
export const MOST_UPDATES = 8;

/**
 * Each call waits this long for a worker, so that a person learns within ten seconds that none
 * runs.
 */
const updatePatience: Patience = { ...patience, oneCall: 8_000 };

type NeededWorkers = Pick<SessionDescription, 'taskQueue' | 'configuration'>;

type Update = {
  readonly temporal: Client;
  readonly session: SessionId;
  readonly name: string;
  readonly arg: unknown;
  readonly signed?: Signature | undefined;
  /** Looks up which workers the session needs; asked only when the update is not answered. */
  readonly workers: () => Promise<NeededWorkers>;
  readonly patience?: Patience;
};

/**
 * Resolves when the session has applied the update. Throws ClientProblem: `no_session`, `closed`,
 * `no_worker`, `unanswered`, or `refused` with the session's sentence.
 */
export function update(request: Update): Promise<void> {
  return sendUpdate(request, (handle, options) => handle.executeUpdate<void, [unknown]>(request.name, options));
}

/**
 * Sends an update whose answer comes when the work is done, within `answerMs`. Throws as `update`
 * does.
 */
export async function updateAndWait<Answer>(request: Update, answerMs: number): Promise<Answer> {
  const { temporal, session, name } = request;
  const accepted = await sendUpdate(request, (handle, options) =>
    handle.startUpdate<Answer, [unknown]>(name, { ...options, waitForStage: 'ACCEPTED' }),
  );
  const answer = async (): Promise<Answer> => {
    try {
      return await accepted.result();
    } catch (error) {
      if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) throw new NotYet(error);
      if (error instanceof WorkflowUpdateFailedError) throw refusalProblem(session, error);
      throw error;
    }
  };
  const long = { ...patience, total: answerMs, oneCall: ONE_WAIT_MS };
  return callUntilAnswered(temporal, `learn what session ${session} answers`, answer, long);
}

const ONE_WAIT_MS = 30_000;

type Options = { readonly args: [unknown]; readonly updateId: string };

function sendUpdate<T>(request: Update, send: (handle: WorkflowHandle, options: Options) => Promise<T>): Promise<T> {
  const { temporal, session, name, arg, signed } = request;
  const id = randomUUID();
  const once = { update: name, id, at: Date.now(), asked: arg, ...signed };
  const options: Options = { args: [signed === undefined ? arg : once], updateId: id };
  const asking: Asking = { ...request, tries: 0, polled: null };
  const call = async (): Promise<T> => {
    asking.tries += 1;
    try {
      // Use no run id: the session may continue as new at any time.
      return await send(temporal.workflow.getHandle(session), options);
    } catch (error) {
      throw await problemOf(asking, error);
    }
  };
  return callUntilAnswered(temporal, `reach session ${session}`, call, request.patience ?? updatePatience);
}

/** `polled` is the last poll seen when the first try was not answered. */
type Asking = Update & { tries: number; polled: number | null };

async function problemOf(asking: Asking, error: unknown): Promise<unknown> {
  const { temporal, session, workers, tries } = asking;
  if (error instanceof WorkflowUpdateFailedError) {
    // The effect of an earlier try is unknown, since its answer was lost.
    return refusalProblem(session, error, tries > 1 ? wordsFor(asking).doubt : '');
  }
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    const needed = await workers();
    return noAnswerError(asking, needed, await lastPollTime({ temporal, taskQueue: needed.taskQueue }));
  }
  if (error instanceof WorkflowNotFoundError) {
    const described = await describe(temporal, session);
    // The workflow is between two runs.
    return described.status === 'open' ? new NotYet(error) : sessionClosedProblem(described);
  }
  return error;
}

const DECISIONS: ReadonlySet<string> = new Set([UPDATES.approve, UPDATES.deny, UPDATES.answer]);

/** Most updates decide no call. */
function wordsFor({ name }: Update): { readonly doubt: string; readonly nothing: string; readonly maybe: string } {
  const before = 'the server was asked before and did not answer';
  return DECISIONS.has(name)
    ? {
        doubt: ` (${before}: it may be this decision)`,
        nothing: 'nothing was decided',
        maybe: 'the decision may still be taken',
      }
    : { doubt: ` (${before}: it may have been done then)`, nothing: 'nothing was done', maybe: 'it may still be done' };
}

function refusalProblem(session: SessionId, error: WorkflowUpdateFailedError, doubt = ''): ClientProblem {
  const why = error.cause?.message ?? error.message;
  const sentence = why.startsWith('No registered handler for update')
    ? 'its worker is of an older release, which does not know how to do this: update the worker'
    : why;
  return new ClientProblem('refused', `session ${session}: ${sentence}${doubt}`);
}

/**
 * Decides whether to wait on. A task that a busy worker keeps for 5 s returns to the queue, from
 * where the SDK fetches it and polls again, even without JavaScript; a worker that takes over polls
 * as well. A worker that froze or went away shows only its last poll.
 */
function noAnswerError(asking: Asking, { taskQueue, configuration }: NeededWorkers, last: number | null): Error {
  const { session } = asking;
  const { nothing, maybe } = wordsFor(asking);
  if (last === null) {
    const nobody = describeNoWorker({ taskQueue, configuration }, session);
    return new ClientProblem('no_worker', `${nobody}; ${nothing}`);
  }
  if (asking.polled !== null && last <= asking.polled) {
    const ago = Math.round((Date.now() - last) / 1000);
    const what = `no worker answers for session ${session}: one began to poll task queue ${taskQueue} ${ago} s ago, and none since`;
    return new ClientProblem('unanswered', `${what}; ${maybe}: see that a worker runs, and ask again`);
  }
  asking.polled ??= last;
  return new NotYet(new Error(`a worker polls task queue ${taskQueue} and did not answer in time`));
}

// Asks a session's own model a question aside, in parallel with the current run and without a trace
// in the conversation.
/** Milliseconds: longer than a worker may take for it. */
const ANSWER_MS = 11 * 60_000;

/** An answer. `cut`: it had more text than is kept. `costUsd`: null when a price is not known. */
export type SideAnswer = {
  readonly answer: string;
  readonly cut: boolean;
  readonly model: string;
  readonly usage: Usage;
  readonly costUsd: number | null;
};

/** Throws ClientProblem. */
export async function requestAside(
  temporal: Client,
  described: SessionDescription,
  question: string,
  by: string,
): Promise<SideAnswer> {
  const { session } = described;
  const workers = () => Promise.resolve(described);
  const about = { temporal, session, name: UPDATES.aside, arg: { question }, signed: { by }, workers };
  const { text: answer, usd: costUsd, ...rest } = await updateAndWait<AsideAnswer>(about, ANSWER_MS);
  return { answer, costUsd, ...rest };
}
