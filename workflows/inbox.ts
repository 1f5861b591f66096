// The session's queue of user messages: each id once, in order of arrival (L61). Signal handlers push, nothing else.
import type { MessageId } from './contract/ids.ts';
import type { UserMessage } from './contract/session.ts';

/** How many ids are remembered against repeats; a repeat older than this would be taken as new. */
const REMEMBERED_IDS = 1_000;

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

  /** These were taken by a run. */
  remove(taken: readonly UserMessage[]): void {
    this.queue = this.queue.filter((message) => !taken.includes(message));
  }

  takeAll(): readonly UserMessage[] {
    const all = this.queue;
    this.queue = [];
    return all;
  }

  snapshot(): InboxSnapshot {
    return { queue: this.queue, seen: [...this.seen] };
  }
}
