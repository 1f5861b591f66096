// The session's queue of user messages: each id once, in order of arrival (L61). Signal handlers
// push, nothing else.
import type { Place } from '../contract/activities.ts';
import { isName, MEDIA_TYPES, MOST_MEDIA, type MessageBody } from '../contract/people.ts';
import { isQuerySource } from '../contract/facts.ts';
import { isHash, isTraceparent, type MessageId } from '../contract/ids.ts';
import { sizeProblem, withChanges } from '../contract/options-problem.ts';
import {
  type CompactionAsked,
  LISTED_MESSAGES,
  LONGEST_ID,
  LONGEST_INSTRUCTIONS,
  type RunOptions,
  type UserMessage,
} from '../contract/session.ts';
import type { SignalOnce } from '../contract/steered.ts';

/** How many ids are remembered against repeats; a repeat older than this would be taken as new. */
const REMEMBERED_IDS = 1_000;
/** Their characters together: what a handover carries has a bound in bytes. */
const REMEMBERED_SIZE = 64 * 1024;

/**
 * Characters of messages, as JSON, that one step takes: what goes into an activity stays far below
 * the server's limit of 2 MiB, also where a character is three bytes.
 */
const STEP_SIZE = 64 * 1024;

/** Characters that a handover may carry, for the same reason. */
const CARRIED_SIZE = 128 * 1024;

/** Characters of a text that travels in its message; the client puts longer ones into the store. */
export const LONGEST_TEXT = 64 * 1024;

/** For lists: of a session, by its first prompt. */
export const titleOf = (prompt: string): string => prompt.trim().slice(0, 120);

export type InboxSnapshot = { readonly queue: readonly UserMessage[]; readonly seen: readonly string[] };

/**
 * With its characters as JSON, counted once: how much waits is asked after every signal of a burst.
 */
type Waiting = { readonly message: UserMessage; readonly size: number };

export class Inbox {
  /** Grows in place: what is handed out is a copy, which stays as it was. */
  private queue: Waiting[];
  /** Characters of all that wait. */
  private size: number;
  private readonly seen: Set<string>;
  private seenSize: number;

  constructor(snapshot: InboxSnapshot) {
    this.queue = snapshot.queue.map(sized);
    this.size = sizeOf(this.queue);
    this.seen = new Set(snapshot.seen);
    this.seenSize = snapshot.seen.reduce((sum, id) => sum + id.length, 0);
  }

  /** How many wait. */
  get count(): number {
    return this.queue.length;
  }

  get waiting(): readonly UserMessage[] {
    return this.queue.map(({ message }) => message);
  }

  /** False when the id was seen before: what was sent again counts once (L61). */
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

  /** False when the id was seen before. */
  push(message: UserMessage): boolean {
    if (!this.isNew(message.id)) return false;
    const last = sized(message);
    this.queue.push(last);
    this.size += last.size;
    return true;
  }

  /**
   * The oldest that go together into one step; what is left goes into the next one. One that asks
   * for a compaction goes alone.
   */
  next(): readonly UserMessage[] {
    let sum = 0;
    const isAlone = this.queue[0]?.message.compact !== undefined;
    const end = this.queue.findIndex(
      ({ message, size }, at) => ((sum += size) > STEP_SIZE || isAlone || message.compact !== undefined) && at > 0,
    );
    return (end < 0 ? this.queue : this.queue.slice(0, end)).map(({ message }) => message);
  }

  /** These were taken by a run. */
  remove(taken: readonly UserMessage[]): void {
    const gone = new Set(taken);
    this.queue = this.queue.filter(({ message }) => !gone.has(message));
    this.size = sizeOf(this.queue);
  }

  takeAll(): readonly UserMessage[] {
    const all = this.waiting;
    this.queue = [];
    this.size = 0;
    return all;
  }

  /**
   * Whether a handover can carry it. If not, iterations go on in this workflow run until they have
   * taken enough.
   */
  get isCarriable(): boolean {
    return this.size <= CARRIED_SIZE;
  }

  snapshot(): InboxSnapshot {
    return { queue: this.waiting, seen: [...this.seen] };
  }
}

function sized(message: UserMessage): Waiting {
  return { message, size: JSON.stringify(message).length };
}

function sizeOf(queue: readonly Waiting[]): number {
  return queue.reduce((sum, { size }) => sum + size, 0);
}

/**
 * Why it is no message, a sentence; undefined when it is one. Shape only: what its options ask for
 * is judged when a run opens with them.
 */
export function messageProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return 'a message is an object with `id` and `body`';
  const { body, options = {}, compact, ended } = value as Partial<Record<keyof UserMessage, unknown>>;
  if (!hasId(value)) return `\`id\` is no text of 1 to ${LONGEST_ID} characters`;
  if (!isBody(body)) return '`body` is not { "kind": "text", "text": … }, nor a text of the store';
  if (typeof options !== 'object' || options === null) return '`options` is no object';
  if (compact !== undefined && !isCompactionAsked(compact))
    return `\`compact\` is not {} or {"instructions": "…"} of at most ${LONGEST_INSTRUCTIONS} characters`;
  return ended === undefined ? undefined : '`ended` is for the session itself to say';
}

export function isMessage(value: unknown): value is UserMessage {
  return messageProblem(value) === undefined;
}

/** A value that is sealed for one signal must not do for another. */
export function isSignalOnce(value: unknown, name: string): value is SignalOnce {
  return hasId(value) && (value as Partial<SignalOnce>).signal === name;
}

/** `refused`: why no run can open with what it asks for. */
export type Taken = { readonly message: UserMessage; readonly refused?: string };

/**
 * A signal cannot be refused, and what is too large to be carried would hold up every handover. So
 * its place in the conversation says that it was not taken, and the next run is refused for its
 * options: either way whoever sent it can see it.
 */
export function carriable(sent: UserMessage): Taken {
  const { body, options, by, traceparent, querySource, ...rest } = sent;
  const tooLong = body.kind === 'text' && body.text.length > LONGEST_TEXT;
  const text = tooLong
    ? `(A message of ${body.text.length} characters stood here and was not taken: send at most ${LONGEST_TEXT} in a signal, and put a longer text into the store, as \`perdure send\` does.)`
    : '';
  const message = {
    ...rest,
    body: tooLong ? ({ kind: 'text', text } as const) : body,
    ...(isName(by) ? { by } : {}),
    ...(isTraceparent(traceparent) ? { traceparent } : {}),
    ...(isQuerySource(querySource) ? { querySource } : {}),
  };
  const refused = options && sizeProblem(options as Partial<RunOptions>);
  if (refused !== undefined) return { message, refused };
  return { message: options ? { ...message, options } : message };
}

/** So that it counts once. */
function hasId(value: unknown): boolean {
  const { id } = (value ?? {}) as { readonly id?: unknown };
  return typeof id === 'string' && id !== '' && id.length <= LONGEST_ID;
}

/** Shape only. */
function isCompactionAsked(value: unknown): value is CompactionAsked {
  if (typeof value !== 'object' || value === null) return false;
  const { instructions = '' } = value as { readonly instructions?: unknown };
  return typeof instructions === 'string' && instructions.length <= LONGEST_INSTRUCTIONS;
}

/** Positions of entries (L7). */
export function isSnip(value: unknown): value is { readonly entries: readonly number[] } {
  const { entries } = (value ?? {}) as { readonly entries?: unknown };
  return Array.isArray(entries) && entries.every((entry) => Number.isSafeInteger(entry) && entry >= 0);
}

/** Shape only. */
export function isBody(value: unknown): value is MessageBody {
  const { kind, text, hash, bytes, media = [] } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(media) || media.length > MOST_MEDIA || !media.every(isMedium)) return false;
  if (kind === 'text') return typeof text === 'string';
  return kind === 'stored' && isHash(hash) && typeof bytes === 'number';
}

function isMedium(value: unknown): boolean {
  const { hash, mediaType, ...sizes } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isSize = (size: unknown): boolean => Number.isSafeInteger(size) && Number(size) >= 0;
  const isKnown = MEDIA_TYPES.some((type) => type === mediaType);
  return isHash(hash) && isKnown && [sizes['bytes'], sizes['characters'], sizes['at']].every(isSize);
}

/** A message, or another that brings options. */
export type Bringing = Pick<UserMessage, 'options'>;

/** Options a message brings, or takes back, hold from the run it opens on. */
export function withOptions(options: RunOptions, messages: readonly Bringing[]): RunOptions {
  return messages.reduce((merged, { options: more }) => (more ? withChanges(merged, more) : merged), options);
}

/** A workspace that a caller gives, also the same again, is taken as it is now. */
export function placeAfter(place: Place | null | undefined, messages: readonly Bringing[]): Place | null {
  return messages.some((message) => typeof message.options?.cwd === 'string') ? null : (place ?? null);
}

export const listed = (messages: readonly MessageId[]): readonly MessageId[] => messages.slice(0, LISTED_MESSAGES);

/** Those of people. */
export const idsOf = (messages: readonly UserMessage[]): readonly MessageId[] =>
  messages.filter(({ ended }) => !ended).map(({ id }) => id);
