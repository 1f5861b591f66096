// The session's queue of user messages: each id once, in order of arrival (L61). Signal handlers push, nothing else.
import { isHash, type MessageId } from './contract/ids.ts';
import { LONGEST_ID, type UserMessage } from './contract/session.ts';

/** How many ids are remembered against repeats; a repeat older than this would be taken as new. */
const REMEMBERED_IDS = 1_000;

/**
 * Characters of messages, as JSON, that one step takes: what goes into an activity stays far below the server's limit of 2 MiB,
 * also where a character is three bytes.
 */
const STEP_SIZE = 64 * 1024;

/** Characters that a handover may carry, for the same reason. */
const CARRIED_SIZE = 128 * 1024;

/** Characters of a text that travels in its message; the client puts longer ones into the store. */
const LONGEST_TEXT = 64 * 1024;

export type InboxSnapshot = { readonly queue: readonly UserMessage[]; readonly seen: readonly MessageId[] };

export class Inbox {
  private queue: readonly UserMessage[];
  private readonly seen: Set<MessageId>;

  constructor(snapshot: InboxSnapshot) {
    this.queue = snapshot.queue;
    this.seen = new Set(snapshot.seen);
  }

  get waiting(): readonly UserMessage[] {
    return this.queue;
  }

  /** False when the id was seen before. */
  push(message: UserMessage): boolean {
    if (this.seen.has(message.id)) return false;
    this.seen.add(message.id);
    for (const oldest of this.seen) {
      if (this.seen.size <= REMEMBERED_IDS) break;
      this.seen.delete(oldest);
    }
    this.queue = [...this.queue, message];
    return true;
  }

  /** The oldest that go together into one step; what is left goes into the next one. */
  next(): readonly UserMessage[] {
    let size = 0;
    const end = this.queue.findIndex((message, at) => (size += sizeOf(message)) > STEP_SIZE && at > 0);
    return end < 0 ? this.queue : this.queue.slice(0, end);
  }

  /** These were taken by a run. */
  remove(taken: readonly UserMessage[]): void {
    const gone = new Set(taken);
    this.queue = this.queue.filter((message) => !gone.has(message));
  }

  takeAll(): readonly UserMessage[] {
    const all = this.queue;
    this.queue = [];
    return all;
  }

  /** Whether a handover can carry it. If not, iterations go on in this workflow run until they have taken enough. */
  isCarriable(): boolean {
    let size = 0;
    return this.queue.every((message) => (size += sizeOf(message)) <= CARRIED_SIZE);
  }

  snapshot(): InboxSnapshot {
    return { queue: this.queue, seen: [...this.seen] };
  }
}

function sizeOf(message: UserMessage): number {
  return JSON.stringify(message).length;
}

/** Shape only: what its options ask for is judged when a run opens with them. */
export function isMessage(value: unknown): value is UserMessage {
  const { id, body, options = {} } = (value ?? {}) as Partial<Record<keyof UserMessage, unknown>>;
  const named = typeof id === 'string' && id !== '' && id.length <= LONGEST_ID;
  return named && isBody(body) && typeof options === 'object' && options !== null;
}

/** Positions of entries (L7). */
export function isSnip(value: unknown): value is { readonly entries: readonly number[] } {
  const { entries } = (value ?? {}) as { readonly entries?: unknown };
  return Array.isArray(entries) && entries.every((entry) => Number.isSafeInteger(entry) && entry >= 0);
}

function isBody(value: unknown): boolean {
  const { kind, text, hash, bytes } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === 'text') return typeof text === 'string' && text.length <= LONGEST_TEXT;
  return kind === 'stored' && isHash(hash) && typeof bytes === 'number';
}
