// Sends messages and stops to a session as signals. They are durable once the server has
// acknowledged them; no worker has to be alive (L61).
import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import type { QuerySource } from '../../workflows/contract/facts.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { ForWorkers } from '../../workflows/contract/task-queue.ts';
import {
  CONFIGURATION_KEY,
  MEMO_KEY,
  SIGNALS,
  WORKFLOW_TYPE,
  type SessionInput,
  type SessionMemo,
  type UserMessage,
  type RunOptions,
} from '../../workflows/contract/session.ts';
import { profiles } from '../../workflows/contract/profiles.ts';
import { ATTRIBUTES, type AttributeKey, attributeValues } from '../../workflows/contract/visibility.ts';
import { callUntilAnswered } from './persist.ts';
import { ClientProblem } from '../problem.ts';
import {
  sessionDescription,
  type SessionDescription,
  type SessionInfo,
  STARTED_KEY,
  STORE_KEY,
  IMPORTED_KEY,
} from './info.ts';
import { present } from '../../workflows/contract/present.ts';

type Opening = {
  readonly session: SessionId;
  readonly input: SessionInput;
  readonly message: UserMessage;
  readonly workers: ForWorkers;
  /** Id of the store that holds the session's content. */
  readonly store?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
};

/** Opens the session with its first message. An open session gets it as its next message. */
export async function signalWithStart(client: Client, opening: Opening): Promise<void> {
  const { session, input, message } = opening;
  const start = () =>
    client.workflow.signalWithStart(WORKFLOW_TYPE, {
      ...startOptions(opening, firstMemo(input.options, input.title, message.querySource)),
      signal: SIGNALS.message,
      signalArgs: [message],
    });
  try {
    await callUntilAnswered(client, `start session ${session}`, start);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    throw new ClientProblem('closed', `session ${session} is closed and takes no more messages: give another id`);
  }
}

type CarriedOpening = Omit<Opening, 'message'> & {
  readonly memo: Pick<SessionMemo, 'head' | 'runs' | 'last'>;
  /** Other keys of the memo. */
  readonly more?: Readonly<Record<string, unknown>>;
};

/**
 * Opens a session that continues from what its input carries and waits. Returns false and changes
 * nothing when it was opened from the same head before, say by a try whose answer was lost. Throws
 * ClientProblem when another session has its id, open or closed.
 */
export async function startCarried(client: Client, { memo, more = {}, ...opening }: CarriedOpening): Promise<boolean> {
  const { session, input } = opening;
  const first = { ...firstMemo(input.options, input.title), ...memo, phase: 'idle' } as const;
  const options = startOptions(opening, first);
  const start = () =>
    client.workflow.start(WORKFLOW_TYPE, {
      ...options,
      memo: { ...options.memo, ...more, [IMPORTED_KEY]: memo.head },
      workflowIdConflictPolicy: 'FAIL',
    });
  try {
    await callUntilAnswered(client, `start session ${session}`, start);
    return true;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    const { memo: there } = await client.workflow.getHandle(session).describe();
    if (there?.[IMPORTED_KEY] === memo.head && there?.[STORE_KEY] === opening.store) return false;
    throw new ClientProblem('refused', `session ${session} is here already: \`perdure show ${session}\` shows it`);
  }
}

function startOptions({ session, input, workers, now, store }: Omit<Opening, 'message'>, memo: SessionMemo) {
  const { title, visibility } = input;
  return {
    workflowId: session,
    taskQueue: workers.taskQueue,
    args: [input] as [SessionInput],
    // Never set an execution timeout: it would skip the clean-up.
    workflowTaskTimeout: profiles[input.profile ?? 'machine'].workflowTask,
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    memo: {
      [MEMO_KEY]: memo,
      [STARTED_KEY]: now,
      ...present({ [STORE_KEY]: store }),
      ...(workers.configuration && { [CONFIGURATION_KEY]: workers.configuration }),
    },
    staticSummary: title,
    ...(visibility ? { typedSearchAttributes: [...firstAttributes(memo, input.sealed === true)] } : {}),
  } as const;
}

function firstMemo({ cwd, model, tags }: RunOptions, title: string, querySource?: QuerySource): SessionMemo {
  const facts = { turns: 0, tokens: 0, cents: 0, ...present({ model, tags, querySource }) };
  return { phase: 'running', head: null, cwd, title, runs: 0, last: null, facts };
}

function firstAttributes(memo: SessionMemo, sealed: boolean): readonly SearchAttributePair[] {
  return Object.entries(attributeValues(memo, sealed)).flatMap(([key, value]) => {
    const { name, type } = ATTRIBUTES[key as AttributeKey];
    return value === null ? [] : [{ key: defineSearchAttributeKey(name, type), value } as SearchAttributePair];
  });
}

export async function sendSignal(client: Client, session: SessionId, name: string, args: unknown[]): Promise<void> {
  await callSession(client, session, `reach session ${session}`, () =>
    client.workflow.getHandle(session).signal(name, ...args),
  );
}

export async function describe(client: Client, session: SessionId): Promise<SessionDescription> {
  try {
    return sessionDescription(await client.workflow.getHandle(session).describe());
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw noSessionProblem(session);
    throw error;
  }
}

/**
 * Returns a sentence when the session's content is in another store or cannot be read here, since
 * messages to it would be lost. Without `own` the store is not checked.
 */
export function elsewhereProblem(
  { session, store, unreadable }: SessionInfo,
  own: string | undefined,
): ClientProblem | undefined {
  if (unreadable !== undefined) {
    const remedy = 'use the key file (PERDURE_CODEC_KEYS) or the codec that its worker has';
    return new ClientProblem('refused', `session ${session} cannot be read here: its memo ${unreadable}; ${remedy}`);
  }
  if (own === undefined || store === undefined || store === own) return undefined;
  const remedy = 'set PERDURE_STORE to it, or PERDURE_DATA to the data folder that has it';
  return new ClientProblem(
    'refused',
    `session ${session} is kept in store ${store}, and here is store ${own}: ${remedy}`,
  );
}

/** Throws ClientProblem `no_session` or `closed`. */
export async function callSession(
  client: Client,
  session: SessionId,
  doing: string,
  call: () => Promise<unknown>,
): Promise<void> {
  try {
    await callUntilAnswered(client, doing, call);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    // The server gives the same answer for a closed session and for one that never existed.
    throw sessionClosedProblem(await describe(client, session));
  }
}

export function sessionClosedProblem({
  session,
  status,
}: Pick<SessionDescription, 'session' | 'status'>): ClientProblem {
  const how = status === 'cancelled' ? 'was cancelled' : `is ${status.replace('_', ' ')}`;
  return new ClientProblem('closed', `session ${session} ${how} and takes nothing more: \`perdure show ${session}\``);
}

function noSessionProblem(session: SessionId): ClientProblem {
  return new ClientProblem('no_session', `no session ${session}: \`perdure list\` shows those there are`);
}
