// Lists, reads, names and deletes the sessions of query(), on the server and in the store that the
// environment names, as the SDK's functions do.
import { resolve } from 'node:path';
import type { Entry, SessionInfo, Store, OpenedServer, Hash } from '../../faces/types.ts';
import { createBodyReader } from '../../faces/words.ts';
import { agentSessionId } from '../../faces/contract.ts';
import { present, parseSessionId } from '../../faces/basics.ts';
import { ClientProblem } from '../../faces/start.ts';
import { openWholeServer } from '../../faces/servers.ts';
import { keySegment, parseStored } from '../../faces/sessions.ts';
import { messagesOfEntry } from '../messages.ts';
import { uuidOf } from '../values.ts';
import type {
  ForkSessionOptions,
  ForkSessionResult,
  GetSessionInfoOptions,
  GetSessionMessagesOptions,
  GetSubagentMessagesOptions,
  ListSessionsOptions,
  ListSubagentsOptions,
  SDKSessionInfo,
  SessionMessage,
  SessionMutationOptions,
} from '../shapes/facts.ts';
import { forkUpTo } from './fork.ts';
import { removeSession } from './remove-session.ts';
import { z } from 'zod';

/** Lists the sessions, newest first, without those of agents. `dir` limits them to one folder. */
export function listSessions(options: ListSessionsOptions = {}): Promise<SDKSessionInfo[]> {
  const { dir, limit = Infinity, offset = 0 } = options;
  return withServer(options, async (opened) => {
    const listed: SessionInfo[] = [];
    for await (const info of opened.sessions.list())
      if (isInFolder(info, dir) && !info.facts?.agent && info.unreadable === undefined) {
        listed.push(info);
        if (listed.length >= offset + limit) break;
      }
    return Promise.all(listed.slice(offset).map((info) => toSdkInfo(opened, info)));
  });
}

/** Resolves to undefined for a session that does not exist, or is not of the folder `dir`. */
export function getSessionInfo(
  sessionId: string,
  options: GetSessionInfoOptions = {},
): Promise<SDKSessionInfo | undefined> {
  return withServer(options, async (opened) => {
    const info = await findSession(opened, sessionId, options);
    return info && toSdkInfo(opened, info);
  });
}

/** Reads a session's messages, oldest first, across compactions; empty without a session. */
export function getSessionMessages(
  sessionId: string,
  options: GetSessionMessagesOptions = {},
): Promise<SessionMessage[]> {
  return withServer(options, async (opened) => {
    if ((await findSession(opened, sessionId, options)) === undefined) return [];
    return readMessages(opened, sessionId, options);
  });
}

/** Sets the title that lists show. Throws ClientProblem `refused`, `no_session`. */
export function renameSession(sessionId: string, title: string, options: SessionMutationOptions = {}): Promise<void> {
  const newTitle = title.trim();
  if (newTitle === '') throw new ClientProblem('refused', 'a title of a session has at least one character');
  return withServer(options, async (opened) => {
    await writeLabel(opened.store, await requireSession(opened, sessionId, options), { title: newTitle });
  });
}

/** Sets the tag of a session; null removes it. Throws ClientProblem `no_session`. */
export function tagSession(sessionId: string, tag: string | null, options: SessionMutationOptions = {}): Promise<void> {
  return withServer(options, async (opened) => {
    await writeLabel(opened.store, await requireSession(opened, sessionId, options), { tag });
  });
}

/**
 * Ends a session that runs, and deletes it from the server. The next `perdure gc` removes what the
 * store has of it. Throws ClientProblem `no_session`, `unanswered`.
 */
export function deleteSession(sessionId: string, options: SessionMutationOptions = {}): Promise<void> {
  return withServer(options, async (opened) => {
    await removeSession(opened.temporal.client, parseSessionId(await requireSession(opened, sessionId, options)));
  });
}

/** Lists the ids of the sessions of a session's agents. */
export function listSubagents(sessionId: string, options: ListSubagentsOptions = {}): Promise<string[]> {
  return withServer(options, async (opened) => {
    const agents: string[] = [];
    for await (const { session, facts } of opened.sessions.list())
      if (facts?.agent?.root === sessionId) agents.push(session);
    return agents;
  });
}

/**
 * Reads the messages of an agent, which has a session of its own. `agentId` is the id of that
 * session, or the `agent_id` that the messages of a query have.
 */
export function getSubagentMessages(
  sessionId: string,
  agentId: string,
  options: GetSubagentMessagesOptions = {},
): Promise<SessionMessage[]> {
  return getSessionMessages(agentId.includes('.') ? agentId : agentSessionId(sessionId, agentId), options);
}

/**
 * Begins a session of its own that has the messages of another one, up to a message or all of them.
 * It works in the same folder. Throws ClientProblem `no_session`, `refused`.
 */
export function forkSession(sessionId: string, options: ForkSessionOptions = {}): Promise<ForkSessionResult> {
  return withServer(options, async (opened) => {
    const origin = await requireSession(opened, sessionId, options);
    const fork = await forkUpTo(opened, { origin, upTo: options.upToMessageId });
    await writeLabel(opened.store, fork, { title: options.title ?? (await titleOfFork(opened, origin)) });
    return { sessionId: fork };
  });
}

/** A fork without a title of its own is named after its origin. */
async function titleOfFork({ store, sessions }: OpenedServer, origin: string): Promise<string> {
  const { title = (await sessions.describe(origin)).title } = await readLabels(store, origin);
  return `${title} (fork)`;
}

type SessionScope = { dir?: string; sessionStore?: unknown };

async function withServer<Result>(
  { sessionStore }: SessionScope,
  work: (opened: OpenedServer) => Promise<Result>,
): Promise<Result> {
  if (sessionStore !== undefined)
    throw new ClientProblem('refused', 'the option "sessionStore" is refused: a store is named by PERDURE_STORE');
  const opened = await openWholeServer();
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

async function findSession(
  { sessions }: OpenedServer,
  session: string,
  { dir }: SessionScope,
): Promise<SessionInfo | undefined> {
  try {
    const info = await sessions.describe(session);
    return isInFolder(info, dir) ? info : undefined;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return undefined;
    throw error;
  }
}

/** Returns the id of an existing session. Throws ClientProblem `no_session`. */
async function requireSession(opened: OpenedServer, session: string, options: SessionScope): Promise<string> {
  if ((await findSession(opened, session, options)) !== undefined) return session;
  throw new ClientProblem('no_session', `Session ${session} not found: \`perdure list\` shows those there are`);
}

const isInFolder = ({ cwd }: SessionInfo, dir: string | undefined): boolean =>
  dir === undefined || resolve(dir) === cwd;

async function toSdkInfo({ store }: OpenedServer, info: SessionInfo): Promise<SDKSessionInfo> {
  const { session, title: firstPrompt, cwd, startedAt, closedAt } = info;
  const { title, tag } = await readLabels(store, session);
  return {
    sessionId: session,
    summary: title ?? firstPrompt,
    firstPrompt,
    cwd,
    createdAt: startedAt,
    lastModified: closedAt ?? startedAt,
    ...present({ customTitle: title, tag }),
  };
}

async function readMessages(
  { sessions, store }: OpenedServer,
  session: string,
  { limit = Infinity, offset = 0, includeSystemMessages = false }: GetSessionMessagesOptions,
): Promise<SessionMessage[]> {
  const read = createBodyReader(store);
  const messages: SessionMessage[] = [];
  let count = 0;
  for await (const { position, entry } of sessions.transcript(session)) {
    if (messages.length >= limit) break;
    const bodies = entry.kind === 'user' ? await read([entry]) : new Map<Hash, string>();
    for (const message of toSessionMessages(session, position, entry, bodies)) {
      if (message.type === 'system' && !includeSystemMessages) continue;
      if (count >= offset && messages.length < limit) messages.push(message);
      count += 1;
    }
  }
  return messages;
}

function toSessionMessages(
  session: string,
  position: number,
  entry: Entry,
  bodies: ReadonlyMap<Hash, string>,
): readonly SessionMessage[] {
  const common = { session_id: session, parent_tool_use_id: null, parent_agent_id: null };
  if (entry.kind === 'user') {
    const { body } = entry;
    const content = body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? '');
    return [{ type: 'user', uuid: uuidOf(session, position), message: { role: 'user', content }, ...common }];
  }
  return messagesOfEntry(session, entry, position, null).map((message): SessionMessage => {
    const uuid = message.uuid ?? uuidOf(session, position);
    if (message.type === 'assistant' || message.type === 'user')
      return { type: message.type, uuid, message: message.message, ...common };
    return { type: 'system', uuid, message, ...common };
  });
}

// Keeps the titles and tags of sessions in the store, so that all who share the store see them.
// Records are written once, so that each change is a record of its own, and the last one counts.
const change = z.object({ title: z.string().optional(), tag: z.string().nullable().optional() });

type LabelChange = z.infer<typeof change>;
type Labels = { readonly title?: string; readonly tag?: string; readonly changes: number };

const keyOf = (session: string, number: number): string => `labels/${keySegment(session)}/${number}`;

/** Merges all changes of a session's labels. Throws StoreError. */
export async function readLabels(store: Store, session: string): Promise<Labels> {
  let title: string | undefined;
  let tag: string | undefined;
  for (let changes = 0; ; changes += 1) {
    const bytes = await store.read(keyOf(session, changes));
    if (bytes === null) return { changes, ...present({ title, tag }) };
    const { data = {} } = change.safeParse(parseStored(bytes));
    title = data.title ?? title;
    tag = data.tag === undefined ? tag : (data.tag ?? undefined);
  }
}

/** Writes a change under the next free number, also when others write. Throws StoreError. */
export async function writeLabel(store: Store, session: string, label: LabelChange): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(label));
  let { changes } = await readLabels(store, session);
  while ((await store.create(keyOf(session, changes), bytes)).kind === 'existing') changes += 1;
}
