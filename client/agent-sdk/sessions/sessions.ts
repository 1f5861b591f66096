// Sessions as programs for in-process agents list, read, name and delete them: those of query(), on
// the server and in the store that the environment names.
import { resolve } from 'node:path';
import type { Entry } from '../../../store/log/entries.ts';
import { createBodyReader } from '../../../store/log/bodies.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { type Opened, openServer } from '../../runtime/open-server.ts';
import { ClientProblem } from '../../problem.ts';
import type { SessionInfo } from '../../sessions/info.ts';
import { parseSessionId } from '../../sessions/session-id.ts';
import { messageOfEntry, uuidOf } from '../messages.ts';
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
} from '../shapes/sessions.ts';
import { readLabels, removeSession, writeLabel } from './change-session.ts';

/** Newest first; those of agents are not among them. `dir`: of this folder. */
export function listSessions(options: ListSessionsOptions = {}): Promise<SDKSessionInfo[]> {
  const { dir, limit = Infinity, offset = 0 } = options;
  return onServer(options, async (opened) => {
    const listed: SessionInfo[] = [];
    for await (const info of opened.sessions.list())
      if (isMeant(info, dir) && !info.facts?.agent && info.unreadable === undefined) {
        listed.push(info);
        if (listed.length >= offset + limit) break;
      }
    return Promise.all(listed.slice(offset).map((info) => shown(opened, info)));
  });
}

/** Undefined when there is no such session, or it is of another folder than `dir`. */
export function getSessionInfo(
  sessionId: string,
  options: GetSessionInfoOptions = {},
): Promise<SDKSessionInfo | undefined> {
  return onServer(options, async (opened) => {
    const info = await found(opened, sessionId, options);
    return info && shown(opened, info);
  });
}

/** What was said, oldest first, over compactions; none when there is no such session. */
export function getSessionMessages(
  sessionId: string,
  options: GetSessionMessagesOptions = {},
): Promise<SessionMessage[]> {
  return onServer(options, async (opened) => {
    if ((await found(opened, sessionId, options)) === undefined) return [];
    return messagesOf(opened, sessionId, options);
  });
}

/** Its title, in lists of programs. */
export function renameSession(sessionId: string, title: string, options: SessionMutationOptions = {}): Promise<void> {
  const given = title.trim();
  if (given === '') throw new ClientProblem('refused', 'a title of a session has at least one character');
  return onServer(options, async (opened) => {
    await writeLabel(opened.store, await known(opened, sessionId, options), { title: given });
  });
}

/** Null takes it away. */
export function tagSession(sessionId: string, tag: string | null, options: SessionMutationOptions = {}): Promise<void> {
  return onServer(options, async (opened) => {
    await writeLabel(opened.store, await known(opened, sessionId, options), { tag });
  });
}

/**
 * It ends, if it is under way, and is gone from the server; what the store has of it goes with the
 * next `perdure gc`.
 */
export function deleteSession(sessionId: string, options: SessionMutationOptions = {}): Promise<void> {
  return onServer(options, async (opened) => {
    await removeSession(opened.temporal.client, parseSessionId(await known(opened, sessionId, options)));
  });
}

/** Ids of the sessions of its agents. */
export function listSubagents(sessionId: string, options: ListSubagentsOptions = {}): Promise<string[]> {
  return onServer(options, async (opened) => {
    const agents: string[] = [];
    for await (const { session, facts } of opened.sessions.list())
      if (facts?.agent?.root === sessionId) agents.push(session);
    return agents;
  });
}

/** What an agent said, which is a session of its own. */
export function getSubagentMessages(
  _sessionId: string,
  agentId: string,
  options: GetSubagentMessagesOptions = {},
): Promise<SessionMessage[]> {
  return getSessionMessages(agentId, options);
}

/** Throws: there are no forks yet. */
export function forkSession(_sessionId: string, _options?: ForkSessionOptions): Promise<ForkSessionResult> {
  return Promise.reject(
    new ClientProblem('refused', 'sessions are not forked yet: options.resume goes on with the same session'),
  );
}

type Asked = { dir?: string; sessionStore?: unknown };

async function onServer<Result>({ sessionStore }: Asked, work: (opened: Opened) => Promise<Result>): Promise<Result> {
  if (sessionStore !== undefined)
    throw new ClientProblem('refused', 'the option "sessionStore" is refused: a store is named by PERDURE_STORE');
  const opened = await openServer();
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

async function found({ sessions }: Opened, session: string, { dir }: Asked): Promise<SessionInfo | undefined> {
  try {
    const info = await sessions.describe(session);
    return isMeant(info, dir) ? info : undefined;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return undefined;
    throw error;
  }
}

/** Throws ClientProblem `no_session`. */
async function known(opened: Opened, session: string, options: Asked): Promise<string> {
  if ((await found(opened, session, options)) !== undefined) return session;
  throw new ClientProblem('no_session', `Session ${session} not found: \`perdure list\` shows those there are`);
}

const isMeant = ({ cwd }: SessionInfo, dir: string | undefined): boolean => dir === undefined || resolve(dir) === cwd;

async function shown({ store }: Opened, info: SessionInfo): Promise<SDKSessionInfo> {
  const { session, title: firstPrompt, cwd, startedAt, closedAt } = info;
  const { title, tag } = await readLabels(store, session);
  return {
    sessionId: session,
    summary: title ?? firstPrompt,
    firstPrompt,
    cwd,
    createdAt: startedAt,
    lastModified: closedAt ?? startedAt,
    ...(title !== undefined && { customTitle: title }),
    ...(tag !== undefined && { tag }),
  };
}

async function messagesOf(
  { sessions, store }: Opened,
  session: string,
  { limit = Infinity, offset = 0, includeSystemMessages = false }: GetSessionMessagesOptions,
): Promise<SessionMessage[]> {
  const read = createBodyReader(store);
  const messages: SessionMessage[] = [];
  let seen = 0;
  for await (const { position, entry } of sessions.transcript(session)) {
    if (messages.length >= limit) break;
    const message = messageOf(session, position, entry, entry.kind === 'user' ? await read([entry]) : new Map());
    if (message === null || (message.type === 'system' && !includeSystemMessages)) continue;
    if (seen >= offset) messages.push(message);
    seen += 1;
  }
  return messages;
}

function messageOf(
  session: string,
  position: number,
  entry: Entry,
  bodies: ReadonlyMap<Hash, string>,
): SessionMessage | null {
  const common = { session_id: session, parent_tool_use_id: null, parent_agent_id: null };
  if (entry.kind === 'user') {
    const { body } = entry;
    const content = body.kind === 'text' ? body.text : (bodies.get(body.hash) ?? '');
    return { type: 'user', uuid: uuidOf(session, position), message: { role: 'user', content }, ...common };
  }
  const told = messageOfEntry(session, entry, position);
  if (told === null) return null;
  const uuid = uuidOf(session, position);
  if (told.type === 'assistant' || told.type === 'user')
    return { type: told.type, uuid, message: told.message, ...common };
  return { type: 'system', uuid, message: told, ...common };
}
