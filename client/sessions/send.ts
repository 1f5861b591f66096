// How messages and stops reach a session: signals, durable when the server has acknowledged them,
// with no worker alive (L61).
import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { type QuerySource, querySourceProblem } from '../../workflows/contract/facts.ts';
import { isName, LONGEST_NAME, type MessageBody } from '../../workflows/contract/people.ts';
import { traceparentProblem, type SessionId } from '../../workflows/contract/ids.ts';
import type { ForWorkers } from '../../workflows/contract/task-queue.ts';
import {
  CONFIGURATION_KEY,
  MEMO_KEY,
  SIGNALS,
  WORKFLOW_TYPE,
  type SessionInput,
  type SessionMemo,
  type UserMessage,
  type OptionChanges,
  type RunOptions,
} from '../../workflows/contract/session.ts';
import { profiles } from '../../workflows/contract/failures.ts';
import { ATTRIBUTES, type AttributeKey, attributeValues } from '../../workflows/contract/visibility.ts';
import { storeTextBody } from '../../store/log/bodies.ts';
import { persist } from './persist.ts';
import { ClientProblem } from '../problem.ts';
import { checkedMessageId, newMessageId, type Prompt, type ReadPrompt, readPrompt } from './prompt.ts';
import {
  sessionDescription,
  type SessionDescription,
  type SessionInfo,
  STARTED_KEY,
  STORE_KEY,
  IMPORTED_KEY,
} from './info.ts';
import { withChanges, optionsProblem } from '../../workflows/contract/options-problem.ts';
import { schemaProblem } from '../../system/schema/json-schema.ts';
import type { Store } from '../../store/values/store.ts';
import { modelProblem } from '../../models/find-model.ts';

type Opening = {
  readonly session: SessionId;
  readonly input: SessionInput;
  readonly message: UserMessage;
  readonly workers: ForWorkers;
  /** The id of the store that holds what the session says. */
  readonly store?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
};

/**
 * Opens the session with its first message; a session that is open already gets the message as its
 * next.
 */
export async function signalWithStart(client: Client, opening: Opening): Promise<void> {
  const { session, input, message } = opening;
  const start = () =>
    client.workflow.signalWithStart(WORKFLOW_TYPE, {
      ...startOptions(opening, firstMemo(input.options, input.title, message.querySource)),
      signal: SIGNALS.message,
      signalArgs: [message],
    });
  try {
    await persist(client, `start session ${session}`, start);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    throw new ClientProblem('closed', `session ${session} is closed and takes no more messages: give another id`);
  }
}

/**
 * Opens a session that goes on from what its input carries, and waits. False when it was opened
 * from the same head before, by a try whose answer was lost, say: it is left as it is. Throws
 * ClientProblem when there is another one of its id, open or closed.
 */
export async function startCarried(
  client: Client,
  { memo, ...opening }: Omit<Opening, 'message'> & { readonly memo: Pick<SessionMemo, 'head' | 'runs' | 'last'> },
): Promise<boolean> {
  const { session, input } = opening;
  const first = { ...firstMemo(input.options, input.title), ...memo, phase: 'idle' } as const;
  const options = startOptions(opening, first);
  const start = () =>
    client.workflow.start(WORKFLOW_TYPE, {
      ...options,
      memo: { ...options.memo, [IMPORTED_KEY]: memo.head },
      workflowIdConflictPolicy: 'FAIL',
    });
  try {
    await persist(client, `start session ${session}`, start);
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
    // Never an execution timeout: it would skip the clean-up.
    workflowTaskTimeout: profiles[input.profile ?? 'machine'].workflowTask,
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    memo: {
      [MEMO_KEY]: memo,
      [STARTED_KEY]: now,
      ...(store === undefined ? {} : { [STORE_KEY]: store }),
      ...(workers.configuration && { [CONFIGURATION_KEY]: workers.configuration }),
    },
    staticSummary: title,
    ...(visibility ? { typedSearchAttributes: [...firstAttributes(memo, input.sealed === true)] } : {}),
  } as const;
}

function firstMemo({ cwd, model, tags }: RunOptions, title: string, querySource?: QuerySource): SessionMemo {
  const named = { ...(model === undefined ? {} : { model }), ...(tags === undefined ? {} : { tags }) };
  const facts = { turns: 0, tokens: 0, cents: 0, ...named, ...(querySource && { querySource }) };
  return { phase: 'running', head: null, cwd, title, runs: 0, last: null, facts };
}

function firstAttributes(memo: SessionMemo, sealed: boolean): readonly SearchAttributePair[] {
  return Object.entries(attributeValues(memo, sealed)).flatMap(([key, value]) => {
    const { name, type } = ATTRIBUTES[key as AttributeKey];
    return value === null ? [] : [{ key: defineSearchAttributeKey(name, type), value } as SearchAttributePair];
  });
}

export async function signal(client: Client, session: SessionId, name: string, args: unknown[]): Promise<void> {
  await reach(client, session, `reach session ${session}`, () =>
    client.workflow.getHandle(session).signal(name, ...args),
  );
}

export async function describe(client: Client, session: SessionId): Promise<SessionDescription> {
  try {
    return sessionDescription(await client.workflow.getHandle(session).describe());
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw noSession(session);
    throw error;
  }
}

/**
 * A sentence when another store, or nothing that we can read, holds what the session says; what is
 * sent there would be lost. `own`: absent where it is not checked.
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
export async function reach(
  client: Client,
  session: SessionId,
  doing: string,
  call: () => Promise<unknown>,
): Promise<void> {
  try {
    await persist(client, doing, call);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
    // The server says the same of a session that is closed and of one that never was.
    throw closedProblem(await describe(client, session));
  }
}

export function closedProblem({ session, status }: Pick<SessionDescription, 'session' | 'status'>): ClientProblem {
  const how = status === 'cancelled' ? 'was cancelled' : `is ${status.replace('_', ' ')}`;
  return new ClientProblem('closed', `session ${session} ${how} and takes nothing more: \`perdure show ${session}\``);
}

function noSession(session: SessionId): ClientProblem {
  return new ClientProblem('no_session', `no session ${session}: \`perdure list\` shows those there are`);
}

// A user's text on its way into a session: short ones travel with the signal, longer ones are
// stored first and travel by hash.

/**
 * Durable before it is sent, so that a message never refers to what is not there. Throws
 * StoreError.
 */
async function messageBody(store: Store, { text, media }: ReadPrompt): Promise<MessageBody> {
  const stored = await Promise.all(
    media.map(async ({ bytes, ...medium }) => ({ ...medium, bytes: bytes.length, hash: await store.put(bytes) })),
  );
  return { ...(await storeTextBody(store, text)), ...(stored.length > 0 ? { media: stored } : {}) };
}

type MessageFacts = {
  readonly id?: string | undefined;
  readonly options?: OptionChanges | undefined;
  readonly traceparent?: string | undefined;
  readonly by?: string | undefined;
  readonly querySource?: QuerySource | undefined;
};

/** Throws ClientProblem `refused`, StoreError. */
export async function messageOf(
  client: { readonly store: Store } & Omit<MessageFacts, 'id' | 'options'>,
  prompt: Prompt,
  { id = newMessageId(), options, traceparent = client.traceparent, by = client.by, ...how }: MessageFacts,
): Promise<UserMessage> {
  const read = readPrompt(prompt);
  const unsigned = by === undefined ? undefined : nameProblem(by);
  const problem =
    unsigned ??
    querySourceProblem(how.querySource ?? client.querySource) ??
    traceparentProblem(traceparent) ??
    (options && findWrongOption(options));
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const checked = checkedMessageId(id);
  const changes = options && Object.keys(options).length > 0 ? { options } : {};
  const body = await messageBody(client.store, read);
  const { querySource = client.querySource ?? 'sdk' } = how;
  return { id: checked, body, ...changes, ...(traceparent && { traceparent }), ...(by && { by }), querySource };
}

/** A sentence that says what is wrong with the name of whoever acts, or undefined. */
export function nameProblem(by: string): string | undefined {
  const { length } = by;
  if (isName(by)) return undefined;
  return `the name of who acts has ${length} characters: give 1 to ${LONGEST_NAME}`;
}

/** A sentence that says what is wrong with the options, or undefined. */
export function findWrongOption(changes: OptionChanges): string | undefined {
  const options = withChanges<Partial<RunOptions>>({}, changes);
  return optionsProblem(options) ?? modelProblem(options) ?? schemaProblem(options.outputSchema);
}
