// Decisions reach a session as updates: a worker answers them, and may refuse them with a sentence (L55). Few at a time, and
// again with the same id when the server did not answer: an error does not mean that nothing was applied.
import { randomUUID } from 'node:crypto';
import {
  type Client,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { Configuration } from '../workflows/contract/session.ts';
import { lastPoll } from './connect/worker-polls.ts';
import { nobodyWorks } from './connect/worker-words.ts';
import { NotYet, patience, persist, type Patience } from './persist.ts';
import { ClientProblem } from './problem.ts';
import { closedProblem, describe } from './session-send.ts';

/** More than ten in flight wedge a session. */
export const MOST_UPDATES = 8;

/** One call waits for a worker so long; a person is told within ten seconds that there is none. */
export const updatePatience: Patience = { ...patience, oneCall: 8_000 };

export type Update = {
  readonly temporal: Client;
  readonly session: SessionId;
  readonly name: string;
  readonly arg: unknown;
  readonly taskQueue: string;
  readonly configuration?: Configuration | null;
  readonly patience?: Patience;
};

/** Throws ClientProblem: `no_session`, `closed`, `no_worker`, `unanswered`, or `refused` with what the session says. */
export async function update(asked: Update): Promise<void> {
  const { temporal, session, name, arg } = asked;
  const options: { readonly args: [unknown]; readonly updateId: string } = { args: [arg], updateId: randomUUID() };
  const asking: Asking = { ...asked, tries: 0, polled: null };
  const call = async (): Promise<void> => {
    asking.tries += 1;
    try {
      // Without a run id: the session may continue as new at any time.
      await temporal.workflow.getHandle(session).executeUpdate<void, [unknown]>(name, options);
    } catch (error) {
      throw await problemOf(asking, error);
    }
  };
  await persist(temporal, `reach session ${session}`, call, asked.patience ?? updatePatience);
}

/** `polled`: the last poll that was seen when the first try was not answered. */
type Asking = Update & { tries: number; polled: number | null };

async function problemOf(asking: Asking, error: unknown): Promise<unknown> {
  const { temporal, session, taskQueue, tries } = asking;
  if (error instanceof WorkflowUpdateFailedError) {
    const why = error.cause?.message ?? error.message;
    // What an earlier try did is not known: its answer was lost.
    const doubt = tries > 1 ? ' (the server was asked before and did not answer: it may be this decision)' : '';
    return new ClientProblem('refused', `session ${session}: ${why}${doubt}`);
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

/**
 * A task that a busy worker keeps for 5 s goes back to the queue, from where the SDK fetches it and polls again, also without JavaScript;
 * a worker that takes over polls as well. Of one that froze or went away only its last poll is known.
 */
function unanswered(asking: Asking, last: number | null): Error {
  const { session, taskQueue, configuration = null } = asking;
  if (last === null) {
    const nobody = nobodyWorks({ taskQueue, configuration }, session);
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
