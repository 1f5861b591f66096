// Opens a session with its first message, or gives one that is open its next; and looks at one, which must be of this store.
import { randomUUID } from 'node:crypto';
import {
  type Client,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { QuerySource } from '../../workflows/contract/facts.ts';
import type { SessionId, MessageId } from '../../workflows/contract/ids.ts';
import { withChanges } from '../../workflows/contract/options-problem.ts';
import {
  TASK_QUEUE,
  type RunOptions,
  type SessionInput,
  type Configuration,
  type OptionChanges,
} from '../../workflows/contract/session.ts';
import { messageOf, findWrongOption, describe, elsewhereProblem, signalWithStart, closedProblem } from './send.ts';
import type { Signed } from '../../workflows/contract/steered.ts';
import type { Abortable } from '../async.ts';
import type { ActOptions } from './decide.ts';
import { ClientProblem } from '../problem.ts';
import { type Prompt, readPrompt, titleOf } from './prompt.ts';
import { checkedId, newSessionId, type SessionDescription } from './info.ts';
import { lastPoll, describeNoWorker } from './worker-polls.ts';
import { NotYet, patience, persist, type Patience } from './persist.ts';
import type { Store } from '../../activities/transcript/store/store.ts';
import type { Told } from '../../activities/live/events.ts';
import type { Profile } from '../../workflows/contract/failures.ts';
import type { ForWorkers } from '../../worker/config/queue.ts';
import type { Env } from '../../worker/embedded/data-folder.ts';

/** A client of Temporal is enough: store, live channel and visibility are those of the data folder unless they are given. */
export type CreateClient = Pick<ClientOptions, 'temporal'> &
  Partial<ClientOptions> & {
    /** Where the data folder is. Absent: as this process's environment says. */
    readonly env?: Env;
  };

export async function describeHere(
  { temporal, storeId }: ClientOptions,
  session: SessionId,
): Promise<SessionDescription> {
  const description = await describe(temporal, session);
  const problem = elsewhereProblem(description, await storeId?.());
  if (problem) throw problem;
  return description;
}

/** Null when nobody has opened it. */
async function openedBefore(client: ClientOptions, session: SessionId): Promise<SessionDescription | null> {
  try {
    return await describeHere(client, session);
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return null;
    throw error;
  }
}

export async function startSession(client: ClientOptions, task: Prompt, start: StartOptions): Promise<Sent> {
  const {
    session: id,
    newId,
    messageId,
    ifNew = {},
    workers,
    signal: _,
    traceparent,
    by,
    querySource,
    ...given
  } = start;
  const session = checkedId(id ?? newId ?? newSessionId());
  // A new session has nothing that null could take back.
  const options: RunOptions = { cwd: process.cwd(), ...ifNew, ...withChanges<Partial<RunOptions>>({}, given) };
  // A session that is open already has options of its own: those given hold from its next run on.
  const facts = { id: messageId, options: id === undefined ? undefined : given, traceparent, by, querySource };
  const message = await messageOf(client, task, facts);
  const problem = findWrongOption(options);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const input = await sessionInput(client, options, titleOf(readPrompt(task).text));
  const any = { taskQueue: client.taskQueue ?? TASK_QUEUE, configuration: null };
  if (id !== undefined && client.storeId) await openedBefore(client, session);
  const store = await client.storeId?.();
  await signalWithStart(client.temporal, { session, input, message, workers: workers ?? any, store, now: Date.now() });
  return { session, messageId: message.id };
}

/** Of a session that is opened by this client. */
export async function sessionInput(client: ClientOptions, options: RunOptions, title: string): Promise<SessionInput> {
  return {
    options,
    title,
    ...((await client.visibility()) ? { visibility: true, attributes: true } : { visibility: false }),
    ...(client.profile === undefined ? {} : { profile: client.profile }),
    ...(client.sealed ? { sealed: true } : {}),
  };
}

// Decisions reach a session as updates: a worker answers them, and may refuse them with a sentence (L55). Few at a time, and
// again with the same id when the server did not answer: an error does not mean that nothing was applied.

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

/** Throws ClientProblem: `no_session`, `closed`, `no_worker`, `unanswered`, or `refused` with what the session says. */
export async function update(asked: Update): Promise<void> {
  const { temporal, session, name, arg, signed } = asked;
  const id = randomUUID();
  const once = { update: name, id, at: Date.now(), asked: arg, ...signed };
  const args: [unknown] = [signed === undefined ? arg : once];
  const options = { args, updateId: id };
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
    // The effect of an earlier try is unknown: its answer was lost.
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

export type Sent = { readonly session: SessionId; readonly messageId: MessageId };

/** What is said while it happens. `onTrouble`: told why nothing comes for now, and null when it does again. */
export type LiveEvents = (
  session: SessionId,
  signal: AbortSignal,
  onTrouble?: (why: string | null) => void,
) => AsyncIterable<Told>;

export type ClientOptions = {
  readonly temporal: Client;
  /** The store its workers use. */
  readonly store: Store;
  readonly live: LiveEvents;
  /** Whether the server has all search attributes registered. */
  readonly visibility: () => Promise<boolean>;
  /** For sessions that it begins. */
  readonly taskQueue?: string;
  /** The store's own id: a session of another one, or one that cannot be read, is refused. Absent: not checked. */
  readonly storeId?: () => Promise<string>;
  /** For sessions that are opened here; absent: `machine`. */
  readonly profile?: Profile;
  /** Whether the payloads of sessions that are opened here are sealed. */
  readonly sealed?: boolean;
  /** Whoever acts by it, for transcripts, where a method names nobody (O12). Absent: as the client of Temporal names itself, and its messages say nothing. */
  readonly by?: string;
  /** How its prompts come, where a method does not say it. Absent: `sdk`. */
  readonly querySource?: QuerySource;
  /** The span that what it sends is a part of, by its W3C trace context (O15), where a message names none. */
  readonly traceparent?: string;
  /** Milliseconds between looks at a session that is followed. */
  readonly lookMs?: number;
};

/** `messageId`: the same on a retry is the same message. */
export type StartOptions = OptionChanges &
  Abortable & {
    /** Chosen here when absent. One that is open takes the options given, and null takes one of its own back. */
    readonly session?: string;
    readonly messageId?: MessageId;
    /** Options for those not given, or null, when this opens the session: one that is open keeps its own. */
    readonly ifNew?: Partial<RunOptions>;
    /** For a session that is opened by this, where `session` names none: made with newSessionId(). */
    readonly newId?: string;
    /** Which workers a session that is opened by this is for; absent: those of the client's task queue. */
    readonly workers?: ForWorkers;
    /** Whoever sends it, by name, for the transcript; absent: the client's. */
    readonly by?: string;
    /** How it came; absent: as the client's do. */
    readonly querySource?: QuerySource;
    /** The span that sends it, by its W3C trace context: the run it opens is a part of that trace (O15). Absent: the client's. */
    readonly traceparent?: string;
  };

/** `messageId`: the same on a retry asks once, so that no later run is stopped by it. */
export type OnceOptions = ActOptions & { readonly messageId?: MessageId };

/** `by`, `querySource` and `traceparent`: as in StartOptions. */
export type SendOptions = Abortable & {
  readonly by?: string;
  readonly querySource?: QuerySource;
  readonly traceparent?: string;
  readonly now?: boolean;
  readonly messageId?: MessageId;
  readonly options?: OptionChanges;
};
