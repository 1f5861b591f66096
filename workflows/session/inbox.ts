// The session's queue of user messages: each id once, in order of arrival (L61). Only signal
// handlers push to it.
import type { WorkspacePlace } from '../contract/activities.ts';
import { isBody, isName, systemTextProblem } from '../contract/people.ts';
import { isQuerySource } from '../contract/facts.ts';
import { isTraceparent, type MessageId } from '../contract/ids.ts';
import { optionsSizeProblem, withChanges } from '../contract/options-problem.ts';
import {
  type CompactionRequest,
  LISTED_MESSAGES,
  LONGEST_ID,
  LONGEST_INSTRUCTIONS,
  type RunOptions,
  type UserMessage,
} from '../contract/session.ts';
import { LONGEST_GOAL, MOST_ROUNDS } from '../contract/run-options.ts';
import type { SignalOnce } from '../contract/steered.ts';

/** How many ids are remembered against repeats. A repeat of an older one would count as new. */
const REMEMBERED_IDS = 1_000;
/** Characters of the remembered ids together: a handover is bounded in bytes. */
const REMEMBERED_SIZE = 64 * 1024;

/**
 * Characters of messages, as JSON, that one step takes: the input of an activity stays far below
 * the server's limit of 2 MiB, also where a character is three bytes.
 */
const STEP_SIZE = 64 * 1024;

/** Characters that a handover may carry, for the same reason. */
const CARRIED_SIZE = 128 * 1024;

/** Characters of a text that travels in its message; the client puts longer ones into the store. */
export const LONGEST_TEXT = 64 * 1024;

/** Lists show a session by the beginning of its first prompt. */
export const sessionTitle = (prompt: string): string => prompt.trim().slice(0, 120);

export type InboxSnapshot = { readonly queue: readonly UserMessage[]; readonly seen: readonly string[] };

/** `size`: characters as JSON, counted once: each signal of a burst needs the total. */
type WaitingMessage = { readonly message: UserMessage; readonly size: number };

export class Inbox {
  /** Grows in place; callers receive copies. */
  private queue: WaitingMessage[];
  /** Characters of all messages that wait. */
  private size: number;
  private readonly seen: Set<string>;
  private seenSize: number;

  constructor(snapshot: InboxSnapshot) {
    this.queue = snapshot.queue.map(measureMessage);
    this.size = sizeOf(this.queue);
    this.seen = new Set(snapshot.seen);
    this.seenSize = snapshot.seen.reduce((sum, id) => sum + id.length, 0);
  }

  /** How many messages wait. */
  get count(): number {
    return this.queue.length;
  }

  get waiting(): readonly UserMessage[] {
    return this.queue.map(({ message }) => message);
  }

  /** Returns false when the id was seen before: a message that is sent again counts once (L61). */
  isNew(id: string): boolean {
    if (this.seen.has(id)) return false;
    this.seen.add(id);
    this.seenSize += id.length;
    for (const oldest of this.seen) {
      if (this.seen.size <= REMEMBERED_IDS && this.seenSize <= REMEMBERED_SIZE) break;
      this.seen.delete(oldest);
      this.seenSize -= oldest.length;
    }
    return true;
  }

  /** Returns false when the message's id was seen before. */
  push(message: UserMessage): boolean {
    if (!this.isNew(message.id)) return false;
    const last = measureMessage(message);
    this.queue.push(last);
    this.size += last.size;
    return true;
  }

  /**
   * Returns the oldest messages that fit into one step together; the rest goes into the next one.
   * A message that asks for a compaction goes alone.
   */
  next(): readonly UserMessage[] {
    let sum = 0;
    const isAlone = this.queue[0]?.message.compact !== undefined;
    const end = this.queue.findIndex(
      ({ message, size }, at) => ((sum += size) > STEP_SIZE || isAlone || message.compact !== undefined) && at > 0,
    );
    return (end < 0 ? this.queue : this.queue.slice(0, end)).map(({ message }) => message);
  }

  /** Removes messages that a run has taken. */
  remove(messages: readonly UserMessage[]): void {
    const removed = new Set(messages);
    this.queue = this.queue.filter(({ message }) => !removed.has(message));
    this.size = sizeOf(this.queue);
  }

  takeAll(): readonly UserMessage[] {
    const all = this.waiting;
    this.queue = [];
    this.size = 0;
    return all;
  }

  /** Whether a handover can carry the queue; if not, iterations go on in this workflow run. */
  get isCarriable(): boolean {
    return this.size <= CARRIED_SIZE;
  }

  snapshot(): InboxSnapshot {
    return { queue: this.waiting, seen: [...this.seen] };
  }
}

function measureMessage(message: UserMessage): WaitingMessage {
  return { message, size: JSON.stringify(message).length };
}

function sizeOf(queue: readonly WaitingMessage[]): number {
  return queue.reduce((sum, { size }) => sum + size, 0);
}

/**
 * Returns a sentence that says why the value is not a message; undefined when it is one. Checks the
 * shape alone: its options are judged when a run opens with them.
 */
export function messageProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'a message is an object with `id` and `body`';
  const {
    body,
    options = {},
    compact,
    goal,
    ended: news,
    system,
  } = value as Partial<Record<keyof UserMessage, unknown>>;
  if (!hasId(value)) return `\`id\` is no text of 1 to ${LONGEST_ID} characters`;
  if (!isBody(body)) return '`body` is not { "kind": "text", "text": … }, nor a text of the store';
  if (typeof options !== 'object' || options === null) return '`options` is no object';
  if (compact !== undefined && !isCompactionAsked(compact))
    return `\`compact\` is not {} or {"instructions": "…"} of at most ${LONGEST_INSTRUCTIONS} characters`;
  if (goal !== undefined && !isGoal(goal))
    return `\`goal\` is not { "rubric": …, "rounds": … } with a rubric as \`body\` is and 1 to ${MOST_ROUNDS} rounds`;
  if (news !== undefined) return '`ended` is for the session itself to say';
  return system === undefined ? undefined : systemTextProblem(system);
}

export function isMessage(value: unknown): value is UserMessage {
  return messageProblem(value) === undefined;
}

/** Checks the signal's name: a value that is sealed for one signal must not do for another. */
export function isSignalOnce(value: unknown, name: string): value is SignalOnce {
  return hasId(value) && (value as Partial<SignalOnce>).signal === name;
}

/** `refused`: why no run can open with the message's options. */
type CarriableMessage = { readonly message: UserMessage; readonly refused?: string };

/**
 * Makes a message that a handover can carry. A signal cannot be refused, and one that is too large
 * would hold up every handover. So a text in its place says that it was not taken, or the next run
 * is refused for its options: its sender can see either.
 */
export function makeCarriable(sent: UserMessage): CarriableMessage {
  const { body, options, by, traceparent, querySource, ...rest } = sent;
  const tooLong = body.kind === 'text' && body.text.length > LONGEST_TEXT;
  const text = tooLong
    ? `(A message of ${body.text.length} characters stood here and was not taken: send at most ${LONGEST_TEXT} in a signal, and put a longer text into the store, as \`perdure send\` does.)`
    : '';
  const message = {
    ...rest,
    body: tooLong ? ({ kind: 'text', text } as const) : body,
    ...(isName(by) && { by }),
    ...(isTraceparent(traceparent) && { traceparent }),
    ...(isQuerySource(querySource) && { querySource }),
  };
  const refused = options && optionsSizeProblem(options as Partial<RunOptions>);
  if (refused !== undefined) return { message, refused };
  return { message: options ? { ...message, options } : message };
}

/** The id makes the message count once. */
function hasId(value: unknown): boolean {
  const { id } = (value ?? {}) as { readonly id?: unknown };
  return typeof id === 'string' && id !== '' && id.length <= LONGEST_ID;
}

/** Checks the shape alone. */
function isCompactionAsked(value: unknown): value is CompactionRequest {
  if (typeof value !== 'object' || value === null) return false;
  const { instructions = '' } = value as { readonly instructions?: unknown };
  return typeof instructions === 'string' && instructions.length <= LONGEST_INSTRUCTIONS;
}

/** `entries`: positions of entries in the transcript (L7). */
export function isSnip(value: unknown): value is { readonly entries: readonly number[] } {
  const { entries } = (value ?? {}) as { readonly entries?: unknown };
  return Array.isArray(entries) && entries.every((entry) => Number.isSafeInteger(entry) && entry >= 0);
}

/** Checks the shape alone; a longer rubric travels by hash. */
function isGoal(value: unknown): boolean {
  const { rubric, command = '', rounds } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (!isBody(rubric) || (rubric.kind === 'text' && rubric.text.length > LONGEST_TEXT)) return false;
  if (typeof command !== 'string' || command.length > LONGEST_GOAL) return false;
  return Number.isInteger(rounds) && Number(rounds) >= 1 && Number(rounds) <= MOST_ROUNDS;
}

/** A message, or anything else that brings options. */
export type BringsOptions = Pick<UserMessage, 'options'>;

/**
 * Applies the options that messages bring or take back: they hold from the run that the messages
 * open.
 */
export function withOptions(options: RunOptions, messages: readonly BringsOptions[]): RunOptions {
  return messages.reduce((merged, { options: more }) => (more ? withChanges(merged, more) : merged), options);
}

/** A workspace that a caller gives is looked up anew, even if it is the same again. */
export function keepPlaceUnlessGiven(
  place: WorkspacePlace | null | undefined,
  messages: readonly BringsOptions[],
): WorkspacePlace | null {
  return messages.some((message) => typeof message.options?.cwd === 'string') ? null : (place ?? null);
}

export const listMessages = (messages: readonly MessageId[]): readonly MessageId[] =>
  messages.slice(0, LISTED_MESSAGES);

/** Returns the ids of the messages that people sent. */
export const idsFromPeople = (messages: readonly UserMessage[]): readonly MessageId[] =>
  messages.filter(({ ended: news }) => !news).map(({ id }) => id);
