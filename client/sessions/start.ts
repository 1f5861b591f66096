// Opens a session with its first message, or sends an open one its next. Also defines the options
// of a client, and checks that a session belongs to the client's store.
import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { QuerySource } from '../../workflows/contract/facts.ts';
import type { SessionId, MessageId } from '../../workflows/contract/ids.ts';
import { withChanges } from '../../workflows/contract/options-problem.ts';
import {
  type CompactionRequest,
  type SystemMessage,
  TASK_QUEUE,
  type RunOptions,
  type SessionInput,
  type OptionChanges,
} from '../../workflows/contract/session.ts';
import { describe, elsewhereProblem, signalWithStart } from './send.ts';
import { type GoalOnce, messageOf, findWrongOption } from './message.ts';
import type { Abortable } from '../async.ts';
import type { ActOptions } from './waiting-approval.ts';
import { ClientProblem } from '../problem.ts';
import { type Prompt, parsePrompt, titleOf } from './prompt.ts';
import type { SessionDescription } from './info.ts';
import { parseSessionId, newSessionId } from './ids.ts';
import type { SnapshotsAt } from '../../store/snapshots/snapshot-points.ts';
import type { ShadowReading } from '../../store/snapshots/compare.ts';
import type { Store } from '../../store/values/store.ts';
import type { ChannelItem } from '../../store/live/events.ts';
import type { LivePeek } from '../../store/live/peek.ts';
import type { Profile } from '../../workflows/contract/profiles.ts';
import type { ForWorkers } from '../../workflows/contract/task-queue.ts';
import type { Env } from '../../connection/data-folder.ts';
import { present } from '../../workflows/contract/present.ts';

/**
 * Only a Temporal client is required: store, live channel and visibility default to those of the
 * data folder.
 */
export type CreateClient = {
  readonly temporal: Client;
  /** The store that the client's workers use. */
  readonly store?: Store;
  readonly live?: LiveEvents;
  /** Tells whether the server has all search attributes registered. */
  readonly visibility?: () => Promise<boolean>;
  /** Task queue of the sessions that it begins. */
  readonly taskQueue?: string;
  /**
   * Id of the store. The client refuses sessions of another store and unreadable ones. Absent: not
   * checked.
   */
  readonly storeId?: () => Promise<string>;
  /** Profile of the sessions that it opens; absent: `machine`. */
  readonly profile?: Profile;
  /** Whether the payloads of the sessions that it opens are sealed. */
  readonly sealed?: boolean;
  /**
   * Name of the person who acts, for transcripts, unless a method names one (O12). Absent: the
   * Temporal client's identity for decisions, and no name for messages.
   */
  readonly by?: string;
  /** Source of its prompts unless a method gives one. Absent: `sdk`. */
  readonly querySource?: QuerySource;
  /**
   * W3C trace context of the span that its messages belong to (O15), unless a message gives one.
   */
  readonly traceparent?: string;
  /** Milliseconds between looks at a followed session. */
  readonly lookMs?: number;
  /** Environment that names the data folder. Absent: this process's environment. */
  readonly env?: Env;
};

/** Ports that only the product's own clients have. */
type FolderPorts = {
  /**
   * Looks at the end of a session's live channel. Absent: only stored steps show that it is alive.
   */
  readonly peek?: (session: SessionId) => Promise<LivePeek>;
  /**
   * Opens the snapshots of files on this machine (T11). Throws ClientProblem where it has none,
   * unless `willBring` is set: a shared store will bring some.
   * Absent: the client compares no files.
   */
  readonly snapshots?: (willBring?: boolean) => ShadowReading;
  /**
   * Returns the snapshots of the folders with which this machine was left when the session moved to
   * another host (T19); null where it was not. Absent with `snapshots`.
   */
  readonly lostSnapshots?: (session: SessionId) => SnapshotsAt | null;
};

export type ClientSettings = CreateClient & FolderPorts;

/** The settings of a client with everything that it works with. */
export type ClientOptions = Omit<ClientSettings, 'env' | 'store' | 'live' | 'visibility'> &
  Required<Pick<CreateClient, 'store' | 'live' | 'visibility'>>;

export async function describeOwnSession(
  { temporal, storeId }: ClientOptions,
  session: SessionId,
): Promise<SessionDescription> {
  const description = await describe(temporal, session);
  const problem = elsewhereProblem(description, await storeId?.());
  if (problem) throw problem;
  return description;
}

/** Returns null when the session does not exist. */
async function findOpenedSession(client: ClientOptions, session: SessionId): Promise<SessionDescription | null> {
  try {
    return await describeOwnSession(client, session);
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
    systemMessage,
    goalOnce,
    ...changes
  } = start;
  const named = id ?? newId ?? (messageId === undefined ? undefined : sessionIdOfMessage(by ?? client.by, messageId));
  const session = parseSessionId(named ?? newSessionId());
  // In a new session null has no effect: there is no value of its own to remove.
  const options: RunOptions = { cwd: process.cwd(), ...ifNew, ...withChanges<Partial<RunOptions>>({}, changes) };
  // Options go along with the message only when the session was named: they apply from its next run
  // on. A session that this opens has them in its input.
  const facts = {
    id: messageId,
    options: id === undefined ? undefined : changes,
    traceparent,
    by,
    querySource,
    compact,
    systemMessage,
    goalOnce,
  };
  const message = await messageOf(client, task, facts);
  const problem = await findWrongOption(options);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const input = await sessionInput(client, options, titleOf(parsePrompt(task).text));
  const any = { taskQueue: client.taskQueue ?? TASK_QUEUE, configuration: null };
  const followsFromMessage = newId === undefined && id === undefined && messageId !== undefined;
  if ((id !== undefined || followsFromMessage) && client.storeId) await findOpenedSession(client, session);
  const store = await client.storeId?.();
  const opening = { session, input, message, workers: workers ?? any, store, now: Date.now() };
  await signalWithStart(client.temporal, opening).catch((error: unknown) => {
    // The first attempt of the same start opened it, and it is closed by now: nothing is lost.
    if (!followsFromMessage || !(error instanceof ClientProblem) || error.kind !== 'closed') throw error;
  });
  return { session, messageId: message.id };
}

/**
 * Derives the session's id from the message's id for a start that names no session, so that a
 * repeated start, even from another process, finds what the first began.
 */
export function sessionIdOfMessage(by: string | undefined, messageId: string): string {
  const digest = createHash('sha256').update(JSON.stringify([by, messageId]));
  return `s-${digest.digest('hex').slice(0, 20)}`;
}

/** Makes the input of a session that this client opens. */
export async function sessionInput(client: ClientOptions, options: RunOptions, title: string): Promise<SessionInput> {
  return {
    options,
    title,
    ...((await client.visibility()) ? { visibility: true, attributes: true } : { visibility: false }),
    ...present({ profile: client.profile, sealed: client.sealed || undefined }),
  };
}

export type Sent = { readonly session: SessionId; readonly messageId: MessageId };

/**
 * Yields events as they happen. `onTrouble` gets the reason why events are interrupted, and null
 * when they continue.
 */
export type LiveEvents = (
  session: SessionId,
  signal: AbortSignal,
  onTrouble?: (why: string | null) => void,
) => AsyncIterable<ChannelItem>;

/**
 * A retry with the same `messageId` is the same message. Without a session the session's id is
 * derived from `messageId` and `by`: a repeated start opens no second session, whatever its prompt
 * and options say, even when the first is closed by then.
 */
export type StartOptions = OptionChanges &
  Abortable & {
    /**
     * Absent: chosen here. An open session takes the given options, and null removes the session's
     * own value.
     */
    readonly session?: string;
    readonly messageId?: string;
    /**
     * Options for those that are absent or null, used only when this opens the session: an open one
     * keeps its own.
     */
    readonly ifNew?: Partial<RunOptions>;
    /** Id made with newSessionId() for a session that this opens, when `session` is absent. */
    readonly newId?: string;
    /** Workers for a session that this opens; absent: those of the client's task queue. */
    readonly workers?: ForWorkers;
    /** Name of the sender, for the transcript; absent: the client's. */
    readonly by?: string;
    /** Source of the prompt; absent: the client's. */
    readonly querySource?: QuerySource;
    /**
     * W3C trace context of the sending span; the run becomes a part of that trace (O15). Absent:
     * the client's.
     */
    readonly traceparent?: string;
    /** Requests a compaction in place of a prompt: the model is not asked (L10). */
    readonly compact?: CompactionRequest;
    /** Read by the model after the prompt as its system prompt is, from then on (G46). */
    readonly systemMessage?: SystemMessage;
    /** The goal of the run that takes the prompt, in the place of the options’ (X10). */
    readonly goalOnce?: GoalOnce;
  };

/** A retry with the same `messageId` asks once, so that it cannot stop a later run. */
export type OnceOptions = ActOptions & { readonly messageId?: string };

/** `by`, `querySource`, `traceparent` and `compact` mean the same as in StartOptions. */
export type SendOptions = Abortable & {
  readonly by?: string;
  readonly querySource?: QuerySource;
  readonly traceparent?: string;
  readonly compact?: CompactionRequest;
  readonly now?: boolean;
  readonly messageId?: string;
  readonly options?: OptionChanges;
};
