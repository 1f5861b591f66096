// Decisions reach a session as updates: a worker answers them, and may refuse them with a sentence
// (L55). Few at a time, and again with the same id when the server did not answer: an error does
// not mean that nothing was applied.
import { randomUUID } from 'node:crypto';
import {
  type Client,
  type WorkflowHandle,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import type { Configuration } from '../../../workflows/contract/session.ts';
import type { Signed } from '../../../workflows/contract/steered.ts';
import { ClientProblem } from '../../problem.ts';
import { NotYet, patience, type Patience, persist } from '../persist.ts';
import { closedProblem, describe } from '../send.ts';
import { lastPoll } from '../worker-polls.ts';
import { describeNoWorker } from '../no-worker.ts';

/** More than ten in flight wedge a session. */
export const MOST_UPDATES = 8;

/** One call waits for a worker so long; a person is told within ten seconds that there is none. */
const updatePatience: Patience = { ...patience, oneCall: 8_000 };

type Update = {
  readonly temporal: Client;
  readonly session: SessionId;
  readonly name: string;
  readonly arg: unknown;
  readonly signed?: Signed | undefined;
  readonly taskQueue: string;
  readonly configuration?: Configuration | null;
  readonly patience?: Patience;
};

/**
 * Throws ClientProblem: `no_session`, `closed`, `no_worker`, `unanswered`, or `refused` with what
 * the session says.
 */
export function update(asked: Update): Promise<void> {
  return reachSession(asked, (handle, options) => handle.executeUpdate<void, [unknown]>(asked.name, options));
}

/**
 * One that is answered when what it asks for is done, within `answerMs`. Throws as `update` does.
 */
export async function updateAndWait<Answer>(asked: Update, answerMs: number): Promise<Answer> {
  const { temporal, session, name } = asked;
  const accepted = await reachSession(asked, (handle, options) =>
    handle.startUpdate<Answer, [unknown]>(name, { ...options, waitForStage: 'ACCEPTED' }),
  );
  const answer = async (): Promise<Answer> => {
    try {
      return await accepted.result();
    } catch (error) {
      if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) throw new NotYet(error);
      if (error instanceof WorkflowUpdateFailedError) throw refusal(session, error);
      throw error;
    }
  };
  const long = { ...patience, total: answerMs, oneCall: ONE_WAIT_MS };
  return persist(temporal, `learn what session ${session} answers`, answer, long);
}

const ONE_WAIT_MS = 30_000;

type Options = { readonly args: [unknown]; readonly updateId: string };

function reachSession<T>(asked: Update, send: (handle: WorkflowHandle, options: Options) => Promise<T>): Promise<T> {
  const { temporal, session, name, arg, signed } = asked;
  const id = randomUUID();
  const once = { update: name, id, at: Date.now(), asked: arg, ...signed };
  const options: Options = { args: [signed === undefined ? arg : once], updateId: id };
  const asking: Asking = { ...asked, tries: 0, polled: null };
  const call = async (): Promise<T> => {
    asking.tries += 1;
    try {
      // Without a run id: the session may continue as new at any time.
      return await send(temporal.workflow.getHandle(session), options);
    } catch (error) {
      throw await problemOf(asking, error);
    }
  };
  return persist(temporal, `reach session ${session}`, call, asked.patience ?? updatePatience);
}

/** `polled`: the last poll that was seen when the first try was not answered. */
type Asking = Update & { tries: number; polled: number | null };

async function problemOf(asking: Asking, error: unknown): Promise<unknown> {
  const { temporal, session, taskQueue, tries } = asking;
  if (error instanceof WorkflowUpdateFailedError) {
    // The effect of an earlier try is unknown: its answer was lost.
    return refusal(session, error, tries > 1 ? DOUBT : '');
  }
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return unanswered(asking, await lastPoll({ temporal, taskQueue }));
  }
  if (error instanceof WorkflowNotFoundError) {
    const described = await describe(temporal, session);
    // Between two runs of its workflow.
    return described.status === 'open' ? new NotYet(error) : closedProblem(described);
  }
  return error;
}

const DOUBT = ' (the server was asked before and did not answer: it may be this decision)';

function refusal(session: SessionId, error: WorkflowUpdateFailedError, doubt = ''): ClientProblem {
  const why = error.cause?.message ?? error.message;
  const said = why.startsWith('No registered handler for update')
    ? 'its worker is of an older release, which does not know how to do this: update the worker'
    : why;
  return new ClientProblem('refused', `session ${session}: ${said}${doubt}`);
}

/**
 * A task that a busy worker keeps for 5 s goes back to the queue, from where the SDK fetches it and
 * polls again, also without JavaScript; a worker that takes over polls as well. Of one that froze
 * or went away only its last poll is known.
 */
function unanswered(asking: Asking, last: number | null): Error {
  const { session, taskQueue, configuration = null } = asking;
  if (last === null) {
    const nobody = describeNoWorker({ taskQueue, configuration }, session);
    return new ClientProblem('no_worker', `${nobody}; nothing was decided`);
  }
  if (asking.polled !== null && last <= asking.polled) {
    const ago = Math.round((Date.now() - last) / 1000);
    const what = `no worker answers for session ${session}: one began to poll task queue ${taskQueue} ${ago} s ago, and none since`;
    return new ClientProblem(
      'unanswered',
      `${what}; the decision may still be taken: see that a worker runs, and ask again`,
    );
  }
  asking.polled ??= last;
  return new NotYet(new Error(`a worker polls task queue ${taskQueue} and did not answer in time`));
}
