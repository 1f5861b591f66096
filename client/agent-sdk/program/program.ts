// Who asks. Programs for in-process agents know no ids, so that what is asked again after a crash
// is known by a name alone: one that the program has for itself, or the session that a query is to
// open. Under it a query is all that shapes it; its session's id and its messages' ids follow from
// that, and what it has received is noted in the data folder, so that it gets what it missed, once.
// Without a name each is a new one, whatever was asked before: the same words may be another
// person's.
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import { newSessionId } from '../../sessions/session-id.ts';
import { newMessageId } from '../../sessions/message-id.ts';
import { leftByOthers, type OpenSessions, openedHere } from './left-over.ts';
import { readIfThere, shortHash } from './program-files.ts';
import type { Options } from '../shapes/options.ts';
import type { QueryPrompt } from '../shapes/query.ts';

export type ProgramQuery = {
  /** For a session that it begins. */
  readonly session: string;
  /**
   * The position after the last entry of the transcript that the program has received, in this
   * process or the one before it.
   */
  readonly received: number;
  /** It was asked before, under its name. */
  readonly isKnown: boolean;
  /**
   * The session that it found to continue, or its own where there was none, in this process or the
   * one before it.
   */
  readonly continued: string | undefined;
  continues(session: string): void;
  /** Under a name the same for the same message in the same place. */
  messageId(content: string): MessageId;
  note(received: number): void;
  /** The position after the last entry of an agent's transcript that the program has received. */
  receivedOf(agent: string): number;
  noteOf(agent: string, received: number): void;
  /** It got no result, and what ran for it was interrupted: asked again, it is another message. */
  leave(message: MessageId): void;
  /** Nothing of it is under way any more in this process. */
  end(): void;
};

export type Asked = {
  /** All that shapes the query, as text. */
  readonly identity: string;
  /** What the program calls itself (`PERDURE_SESSION`). */
  readonly program: string | undefined;
  /** The session that the query is to open (`sessionId`). */
  readonly session: string | undefined;
  /** The session that it goes on with. */
  readonly resume?: string | undefined;
};

/**
 * `root`: the data folder. `say` is told of sessions that an earlier process left in the middle.
 */
export function programQuery(root: string, asked: Asked, say: (line: string) => void): ProgramQuery {
  const folder = join(root, 'programs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { identity, program, session, resume } = asked;
  if (session !== undefined) return opening(folder, session, shortHash(identity));
  if (program !== undefined) return ofProgram(folder, program, shortHash(identity));
  for (const left of leftByOthers(folder))
    say(`session ${left}, which an earlier process of this program began, was cut off: options.resume goes on with it`);
  return unnamed(resume ?? newSessionId(), openedHere(folder));
}

/** How often a named program of this process has asked each query. */
const counts = new Map<string, number>();

function ofProgram(folder: string, name: string, identity: string): ProgramQuery {
  const id = `named-${shortHash(name)}`;
  const key = `${join(folder, id)} ${identity}`;
  const count = counts.get(key) ?? 0;
  counts.set(key, count + 1);
  const query = `${identity}-${count}`;
  const session = `${sessionName(name)}-${shortHash(query)}`;
  return noted({ log: join(folder, `${id}.log`), id, query, session });
}

/**
 * Only what opens a session is asked again under its id: the same words later are its next message.
 */
function opening(folder: string, session: string, query: string): ProgramQuery {
  const id = `session-${shortHash(session)}`;
  const log = join(folder, `${id}.log`);
  const [first] = readLog(log).received.keys();
  if (first !== undefined && first !== query) return unnamed(session);
  return noted({ log, id, query, session });
}

function unnamed(session: string, open?: OpenSessions): ProgramQuery {
  let at = session;
  open?.add(at);
  return {
    session,
    received: 0,
    isKnown: false,
    continued: undefined,
    continues: (found) => {
      open?.remove(at);
      at = found;
      open?.add(at);
    },
    messageId: () => newMessageId(),
    note: () => undefined,
    receivedOf: () => 0,
    noteOf: () => undefined,
    leave: () => undefined,
    end: () => open?.remove(at),
  };
}

type Noted = { readonly log: string; readonly id: string; readonly query: string; readonly session: string };

function noted({ log, id, query, session }: Noted): ProgramQuery {
  const { received, ofAgents, continued, left } = readLog(log);
  const isKnown = received.has(query);
  if (!isKnown) appendFileSync(log, `${query} 0\n`);
  const messages = new Map<string, number>();
  const given = new Map<MessageId, string>();
  return {
    session,
    received: received.get(query) ?? 0,
    isKnown,
    continued: continued.get(query),
    continues: (found) => appendFileSync(log, `${query} =${found}\n`),
    messageId: (content) => {
      const before = messages.get(content) ?? 0;
      messages.set(content, before + 1);
      const first = `m-${shortHash(id, query, content, String(before))}`;
      const times = left.get(`${query} ${first}`) ?? 0;
      const message = (times === 0 ? first : `${first}-${times + 1}`) as MessageId;
      given.set(message, first);
      return message;
    },
    note: (position) => appendFileSync(log, `${query} ${position}\n`),
    receivedOf: (agent) => ofAgents.get(`${query} ${agent}`) ?? 0,
    noteOf: (agent, position) => appendFileSync(log, `${query} @${agent}:${position}\n`),
    leave: (message) => {
      const first = given.get(message);
      if (first !== undefined) appendFileSync(log, `${query} !${first}\n`);
    },
    end: () => undefined,
  };
}

/** A name may be anything; an id of a session may not. */
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
 * By query, the last position, and the session that it continues. A line that was cut off by a
 * crash counts for nothing.
 */
function readLog(log: string): Log {
  const [received, ofAgents, left] = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()];
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
 * What a query is, so that the same one asked again under a name is known as the same. Of
 * functions, and of objects of classes that are no values, only that they are there: a program
 * whose tool was mended goes on with what it began. `cwd`: as it holds.
 */
export function identityOf(prompt: QueryPrompt, options: Options, cwd: string): string {
  const { env, ...others } = options;
  const asked = typeof prompt === 'string' ? prompt : null;
  return JSON.stringify([asked, plain({ ...others, cwd, ...(env && { env: changedEnv(env) }) })]);
}

/**
 * What it adds to the variables of the process, or changes. The name of a program is not in what it
 * asks.
 */
function changedEnv(env: NonNullable<Options['env']>): Record<string, string | undefined> {
  const changed = Object.entries(env).filter(
    ([name, value]) => name !== 'PERDURE_SESSION' && value !== process.env[name],
  );
  return Object.fromEntries(changed);
}

/** The same text for the same values, in whatever order their fields come. */
function plain(value: unknown, within: readonly object[] = []): unknown {
  if (typeof value === 'function') return 'function';
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (within.includes(value)) return 'itself';
  const inside = [...within, value];
  if (Array.isArray(value)) return value.map((each) => plain(each, inside));
  const given = value as Readonly<Record<string, unknown>>;
  if (typeof given['toJSON'] === 'function') return plain((given['toJSON'] as () => unknown)(), inside);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value.constructor.name;
  const fields = Object.keys(given)
    .filter((name) => given[name] !== undefined)
    .toSorted();
  return fields.map((name) => [name, plain(given[name], inside)]);
}
