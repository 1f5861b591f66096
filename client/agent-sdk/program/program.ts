// Recognises a query that is asked again after a crash. Programs for in-process agents know no ids,
// so a name identifies them: one that the program has for itself, or the session that a query is to
// open. Under a name, the prompt and options of a query determine the ids of its session and of its
// messages. What the program has received is noted in the data folder, so that it gets what it
// missed, once. Without a name every query is new: the same words may be another person's.
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MessageId, PerdureConfig, OpenedServer, ForWorkers } from '../../faces/types.ts';
import { newSessionId } from '../../faces/basics.ts';
import { newMessageId, openSessionsIn } from '../../faces/sessions.ts';
import { isForItsProgram } from '../../faces/contract.ts';
import { forWorkersOf } from '../../faces/tools.ts';
import { openWholeServer } from '../../faces/servers.ts';
import type { Options } from '../shapes/options.ts';
import type { QueryPrompt } from '../shapes/query.ts';
import { createHash, randomUUID } from 'node:crypto';
import { codeOf } from '../../../system/text.ts';
import { formatIdentity, isAlive, parseIdentity, processIdentity } from '../../../system/process/identity.ts';
import type { Env } from '../../../connection/data-folder.ts';

export type ProgramQuery = {
  /** The id of the session that the query begins. */
  readonly session: string;
  /**
   * The position after the last entry of the transcript that the program has received, in this
   * process or the one before it.
   */
  readonly received: number;
  /** Whether the query was asked before, under its name. */
  readonly isKnown: boolean;
  /**
   * The session that it found to continue, or its own when it found none, in this process or the
   * one before it.
   */
  readonly continuedSession: string | undefined;
  noteContinued(session: string): void;
  /** Under a name, the same message in the same place gets the same id. */
  messageId(content: string): MessageId;
  noteReceived(received: number): void;
  /** The position after the last entry of an agent's transcript that the program has received. */
  receivedOf(agent: string): number;
  noteReceivedOf(agent: string, received: number): void;
  /** Notes that the message was interrupted without a result. It gets a new id next time. */
  leave(message: MessageId): void;
  /** Notes that nothing of the query runs in this process. */
  end(): void;
};

export type QueryRequest = {
  /** All that shapes the query, as text. */
  readonly identity: string;
  /** The name of the program (`PERDURE_SESSION`). */
  readonly program: string | undefined;
  /** The session that the query is to open (`sessionId`). */
  readonly session: string | undefined;
  /** The session that it goes on with. */
  readonly resume?: string | undefined;
};

/**
 * `root` is the path of the data folder. `say` is told of sessions that an earlier process left
 * unfinished.
 */
export function programQuery(root: string, request: QueryRequest, say: (line: string) => void): ProgramQuery {
  const folder = join(root, 'programs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { identity, program, session, resume } = request;
  if (session !== undefined) return sessionQuery(folder, session, shortHash(identity));
  if (program !== undefined) return openNamedQuery(folder, program, shortHash(identity));
  for (const left of takeLeftSessions(folder))
    say(`session ${left}, which an earlier process of this program began, was cut off: options.resume goes on with it`);
  return anonymousQuery(resume ?? newSessionId(), trackOpenSessions(folder));
}

/** How often a named program of this process has asked each query. */
const counts = new Map<string, number>();

function openNamedQuery(folder: string, name: string, identity: string): ProgramQuery {
  const id = `named-${shortHash(name)}`;
  const key = `${join(folder, id)} ${identity}`;
  const count = counts.get(key) ?? 0;
  counts.set(key, count + 1);
  const query = `${identity}-${count}`;
  const session = `${sessionName(name)}-${shortHash(query)}`;
  return queryWithLog({ log: join(folder, `${id}.log`), id, query, session });
}

/**
 * Only the query that opened a session is known under the session's id. A later query is new: its
 * words are the session's next message.
 */
function sessionQuery(folder: string, session: string, query: string): ProgramQuery {
  const id = `session-${shortHash(session)}`;
  const log = join(folder, `${id}.log`);
  const [first] = readLog(log).received.keys();
  if (first !== undefined && first !== query) return anonymousQuery(session);
  return queryWithLog({ log, id, query, session });
}

function anonymousQuery(session: string, open?: OpenSessions): ProgramQuery {
  let at = session;
  open?.add(at);
  return {
    session,
    received: 0,
    isKnown: false,
    continuedSession: undefined,
    noteContinued: (found) => {
      open?.remove(at);
      at = found;
      open?.add(at);
    },
    messageId: () => newMessageId(),
    noteReceived: () => undefined,
    receivedOf: () => 0,
    noteReceivedOf: () => undefined,
    leave: () => undefined,
    end: () => open?.remove(at),
  };
}

type LogPlace = { readonly log: string; readonly id: string; readonly query: string; readonly session: string };

function queryWithLog({ log, id, query, session }: LogPlace): ProgramQuery {
  const { received, ofAgents, continued, left } = readLog(log);
  const isKnown = received.has(query);
  if (!isKnown) appendFileSync(log, `${query} 0\n`);
  const messages = new Map<string, number>();
  const firstIds = new Map<MessageId, string>();
  return {
    session,
    received: received.get(query) ?? 0,
    isKnown,
    continuedSession: continued.get(query),
    noteContinued: (found) => appendFileSync(log, `${query} =${found}\n`),
    messageId: (content) => {
      const before = messages.get(content) ?? 0;
      messages.set(content, before + 1);
      const first = `m-${shortHash(id, query, content, String(before))}`;
      const times = left.get(`${query} ${first}`) ?? 0;
      const message = (times === 0 ? first : `${first}-${times + 1}`) as MessageId;
      firstIds.set(message, first);
      return message;
    },
    noteReceived: (position) => appendFileSync(log, `${query} ${position}\n`),
    receivedOf: (agent) => ofAgents.get(`${query} ${agent}`) ?? 0,
    noteReceivedOf: (agent, position) => appendFileSync(log, `${query} @${agent}:${position}\n`),
    leave: (message) => {
      const first = firstIds.get(message);
      if (first !== undefined) appendFileSync(log, `${query} !${first}\n`);
    },
    end: () => undefined,
  };
}

/** Replaces the characters of a name that an id of a session may not have. */
function sessionName(name: string): string {
  return name
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[^A-Za-z0-9]/, 'p')
    .slice(0, 60);
}

type Log = {
  readonly received: Map<string, number>;
  /** The positions in the transcripts of agents, by query and session. */
  readonly ofAgents: Map<string, number>;
  readonly continued: Map<string, string>;
  /** By query and message, how often it was left without a result. */
  readonly left: Map<string, number>;
};

/**
 * Reads the last position and the continued session of each query. A line that a crash cut off is
 * ignored.
 */
function readLog(log: string): Log {
  const received = new Map<string, number>();
  const ofAgents = new Map<string, number>();
  const left = new Map<string, number>();
  const continued = new Map<string, string>();
  for (const line of readIfThere(log).split('\n').slice(0, -1)) {
    const [query = '', what = ''] = line.split(' ');
    const message = `${query} ${what.slice(1)}`;
    if (what.startsWith('=')) continued.set(query, what.slice(1));
    else if (what.startsWith('@')) {
      const [agent = '', position] = what.slice(1).split(':');
      ofAgents.set(`${query} ${agent}`, Number(position));
    } else if (what.startsWith('!')) left.set(message, (left.get(message) ?? 0) + 1);
    else received.set(query, Number(what));
  }
  return { received, ofAgents, continued, left };
}

/**
 * Returns the text that identifies a query when it is asked again under a name. Functions, and
 * objects of classes without `toJSON`, count only as present, so that a program whose tool was
 * fixed goes on with what it began. `cwd` is the folder in effect.
 */
export function identityOf(prompt: QueryPrompt, options: Options, cwd: string): string {
  const { env, ...others } = options;
  const text = typeof prompt === 'string' ? prompt : null;
  return JSON.stringify([text, toPlainValue({ ...others, cwd, env: env && envChanges(env) })]);
}

/**
 * Returns the variables that the query adds to those of the process, or changes. The name of the
 * program does not count.
 */
function envChanges(env: NonNullable<Options['env']>): Record<string, string | undefined> {
  const changed = Object.entries(env).filter(
    ([name, value]) => name !== 'PERDURE_SESSION' && value !== process.env[name],
  );
  return Object.fromEntries(changed);
}

/** Returns the same value for equal values, in whatever order their fields come. */
function toPlainValue(value: unknown, within: readonly object[] = []): unknown {
  if (typeof value === 'function') return 'function';
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (within.includes(value)) return 'itself';
  const inside = [...within, value];
  if (Array.isArray(value)) return value.map((each) => toPlainValue(each, inside));
  const record = value as Readonly<Record<string, unknown>>;
  if (typeof record['toJSON'] === 'function') return toPlainValue((record['toJSON'] as () => unknown)(), inside);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value.constructor.name;
  const fields = Object.keys(record)
    .filter((name) => record[name] !== undefined)
    .toSorted();
  return fields.map((name) => [name, toPlainValue(record[name], inside)]);
}

// Notes the open sessions of programs without a name, by process, so that the next start of the
// program can say which were cut off. Its folder, script and arguments identify a program here. The
// sessions are only reported, since it is unknown which query asked for them.
type OpenSessions = { add(session: string): void; remove(session: string): void };

/** The open sessions of this process, by the folder of programs. */
const tracked = new Map<string, OpenSessions>();
const searchedFolders = new Set<string>();

/**
 * Returns the sessions that dead processes of this program left open. The process that removes a
 * file reports its sessions, so that each is reported once.
 */
function takeLeftSessions(folder: string): readonly string[] {
  if (searchedFolders.has(folder)) return [];
  searchedFolders.add(folder);
  const files = readdirSync(folder).filter((file) => file.startsWith(`${thisProgram()}-`) && file.endsWith('.open'));
  return files.flatMap((file) => {
    const [owner = '', ...sessions] = readIfThere(join(folder, file)).trim().split('\n');
    const identity = parseIdentity(owner);
    return identity !== null && isAlive(identity, 'here') === 'dead' && tryRemove(join(folder, file)) ? sessions : [];
  });
}

/** Tracks the open sessions of this process in a file, which exists only while there are some. */
function trackOpenSessions(folder: string): OpenSessions {
  const known = tracked.get(folder);
  if (known) return known;
  const file = join(folder, `${thisProgram()}-${randomUUID()}.open`);
  const owner = formatIdentity(processIdentity());
  const sessions = new Set<string>();
  const write = (): void => {
    // The data folder may be deleted by now, and an error here would surface in the program.
    if (!existsSync(folder)) return;
    if (sessions.size === 0) rmSync(file, { force: true });
    else writeFileSync(file, [owner, ...sessions, ''].join('\n'));
  };
  const opened: OpenSessions = {
    add: (session) => {
      sessions.add(session);
      write();
    },
    remove: (session) => {
      sessions.delete(session);
      write();
    },
  };
  tracked.set(folder, opened);
  return opened;
}

function thisProgram(): string {
  return shortHash(process.cwd(), ...process.argv.slice(1));
}

function tryRemove(file: string): boolean {
  try {
    rmSync(file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Returns 16 hexadecimal digits that depend on the texts and their order. */
function shortHash(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
}

/** Returns an empty text when the file does not exist. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}

/** The last session of this process by place, since the server may list it late. */
const lastSessions = new Map<string, string>();

type QueryPlace = { readonly root: string; readonly cwd: string; readonly config: PerdureConfig };

/**
 * Returns the workers that a new session of the program would be for, or null when only its own
 * program may work on it.
 */
const workersOf = (config: PerdureConfig): ForWorkers | null => forWorkersOf(config, { kind: 'given' }, '');

function placeOf({ root, cwd, config }: QueryPlace): string {
  return JSON.stringify([root, cwd, workersOf(config)?.taskQueue]);
}

export function rememberSession(where: QueryPlace, session: string): void {
  lastSessions.set(placeOf(where), session);
}

/**
 * `session` is null for a new one. Call `close` only once the session's own server is open, so that
 * a local server is not started twice.
 */
export type ContinuedSession = { readonly session: string | null; readonly close: () => Promise<void> };

/**
 * Finds the session to continue. A program that was killed goes on with the session that it found
 * before, even if newer ones have begun since.
 */
export async function findContinued(
  where: QueryPlace,
  program: Pick<ProgramQuery, 'session' | 'continuedSession' | 'noteContinued'>,
  open: { readonly env: Env; readonly say: (line: string) => void },
): Promise<ContinuedSession> {
  const known = program.continuedSession ?? lastSessions.get(placeOf(where));
  const opened = known === undefined ? await openWholeServer({ env: open.env, say: open.say }) : null;
  try {
    const session = known ?? (opened && (await findNewest(opened, where)));
    if (session === null) open.say(`there is no session of ${where.cwd} to continue: a new one begins`);
    if (program.continuedSession === undefined) program.noteContinued(session ?? program.session);
    return { session: session === program.session ? null : session, close: async () => opened?.close() };
  } catch (error) {
    await opened?.close();
    throw error;
  }
}

async function findNewest({ sessions }: OpenedServer, { cwd, config }: QueryPlace): Promise<string | null> {
  const workers = workersOf(config);
  for await (const { taskQueue, session } of openSessionsIn(sessions, cwd)) {
    const isFor = workers === null ? isForItsProgram({ taskQueue }, session) : taskQueue === workers.taskQueue;
    if (isFor) return session;
  }
  return null;
}
