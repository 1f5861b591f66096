// Opens a session with its first message, or gives one that is open its next; and looks at one,
// which must be of this store.
import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { QuerySource } from '../../workflows/contract/facts.ts';
import type { SessionId, MessageId } from '../../workflows/contract/ids.ts';
import { withChanges } from '../../workflows/contract/options-problem.ts';
import {
  type CompactionAsked,
  TASK_QUEUE,
  type RunOptions,
  type SessionInput,
  type OptionChanges,
} from '../../workflows/contract/session.ts';
import { messageOf, findWrongOption, describe, elsewhereProblem, signalWithStart } from './send.ts';
import type { Abortable } from '../async.ts';
import type { ActOptions } from './decide.ts';
import { ClientProblem } from '../problem.ts';
import { type Prompt, readPrompt, titleOf } from './prompt.ts';
import { checkedId, newSessionId, type SessionDescription } from './info.ts';
import type { Store } from '../../store/values/store.ts';
import type { Told } from '../../store/live/events.ts';
import type { Profile } from '../../workflows/contract/profiles.ts';
import type { ForWorkers } from '../../workflows/contract/task-queue.ts';
import type { Env } from '../../connection/data-folder.ts';

/**
 * A client of Temporal is enough: store, live channel and visibility are those of the data folder
 * unless they are given.
 */
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
    compact,
    ...given
  } = start;
  const named = id ?? newId ?? (messageId === undefined ? undefined : sessionOfMessage(by ?? client.by, messageId));
  const session = checkedId(named ?? newSessionId());
  // A new session has nothing that null could take back.
  const options: RunOptions = { cwd: process.cwd(), ...ifNew, ...withChanges<Partial<RunOptions>>({}, given) };
  // A session that is open already has options of its own: those given hold from its next run on.
  const facts = { id: messageId, options: id === undefined ? undefined : given, traceparent, by, querySource, compact };
  const message = await messageOf(client, task, facts);
  const problem = findWrongOption(options);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const input = await sessionInput(client, options, titleOf(readPrompt(task).text));
  const any = { taskQueue: client.taskQueue ?? TASK_QUEUE, configuration: null };
  const followsFromMessage = newId === undefined && id === undefined && messageId !== undefined;
  if ((id !== undefined || followsFromMessage) && client.storeId) await openedBefore(client, session);
  const store = await client.storeId?.();
  const opening = { session, input, message, workers: workers ?? any, store, now: Date.now() };
  await signalWithStart(client.temporal, opening).catch((error: unknown) => {
    // The first try of the same start began it.
    if (!followsFromMessage || !(error instanceof ClientProblem) || error.kind !== 'closed') throw error;
  });
  return { session, messageId: message.id };
}

/**
 * Of a start that names a message and no session: sent again, from another process or for another
 * try, it finds what the first began.
 */
function sessionOfMessage(by: string | undefined, messageId: string): string {
  const digest = createHash('sha256').update(JSON.stringify([by, messageId]));
  return `s-${digest.digest('hex').slice(0, 20)}`;
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

export type Sent = { readonly session: SessionId; readonly messageId: MessageId };

/**
 * What is said while it happens. `onTrouble`: told why nothing comes for now, and null when it does
 * again.
 */
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
  /**
   * The store's own id: a session of another one, or one that cannot be read, is refused. Absent:
   * not checked.
   */
  readonly storeId?: () => Promise<string>;
  /** For sessions that are opened here; absent: `machine`. */
  readonly profile?: Profile;
  /** Whether the payloads of sessions that are opened here are sealed. */
  readonly sealed?: boolean;
  /**
   * Whoever acts by it, for transcripts, where a method names nobody (O12). Absent: as the client
   * of Temporal names itself, and its messages say nothing.
   */
  readonly by?: string;
  /** How its prompts come, where a method does not say it. Absent: `sdk`. */
  readonly querySource?: QuerySource;
  /**
   * The span that what it sends is a part of, by its W3C trace context (O15), where a message names
   * none.
   */
  readonly traceparent?: string;
  /** Milliseconds between looks at a session that is followed. */
  readonly lookMs?: number;
};

/**
 * `messageId`: the same on a retry is the same message. Where no session is named, the session's id
 * follows from it and from `by`: a start that is sent again opens no second session, whatever its
 * prompt and options say, and also when the first is closed by then.
 */
export type StartOptions = OptionChanges &
  Abortable & {
    /**
     * Chosen here when absent. One that is open takes the options given, and null takes one of its
     * own back.
     */
    readonly session?: string;
    readonly messageId?: string;
    /**
     * Options for those not given, or null, when this opens the session: one that is open keeps its
     * own.
     */
    readonly ifNew?: Partial<RunOptions>;
    /**
     * For a session that is opened by this, where `session` names none: made with newSessionId().
     */
    readonly newId?: string;
    /**
     * Which workers a session that is opened by this is for; absent: those of the client's task
     * queue.
     */
    readonly workers?: ForWorkers;
    /** Whoever sends it, by name, for the transcript; absent: the client's. */
    readonly by?: string;
    /** How it came; absent: as the client's do. */
    readonly querySource?: QuerySource;
    /**
     * The span that sends it, by its W3C trace context: the run it opens is a part of that trace
     * (O15). Absent: the client's.
     */
    readonly traceparent?: string;
    /** It is no prompt: the conversation is to be summed up, and the model is not asked (L10). */
    readonly compact?: CompactionAsked;
  };

/** `messageId`: the same on a retry asks once, so that no later run is stopped by it. */
export type OnceOptions = ActOptions & { readonly messageId?: string };

/** `by`, `querySource`, `traceparent` and `compact`: as in StartOptions. */
export type SendOptions = Abortable & {
  readonly by?: string;
  readonly querySource?: QuerySource;
  readonly traceparent?: string;
  readonly compact?: CompactionAsked;
  readonly now?: boolean;
  readonly messageId?: string;
  readonly options?: OptionChanges;
};
