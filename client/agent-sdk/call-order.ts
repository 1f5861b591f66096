// Keeps the order in which a program hears of a call: the message that has the call comes first,
// then what its hooks and `canUseTool` are asked about it. They run as soon as the call does, while
// the message is still on its way through the store.
import { setImmediate as turn } from 'node:timers/promises';
import { pause } from '../../system/async.ts';
import { RecentMap } from '../../system/recent-map.ts';
import type { SDKMessage } from './shapes/messages.ts';

/** Milliseconds to wait for a message, which a lost live channel may delay. */
export const MOST_WAIT_MS = 10_000;
/** Milliseconds to wait while the program works on an earlier message: it may wait for the hook. */
const HELD_MS = 1_000;
/** The calls that are remembered; older ones are over. */
const MOST_CALLS = 10_000;

export class CallOrder {
  readonly #received = new RecentMap<string, true>(MOST_CALLS);
  #isRead: (session: string) => boolean = () => false;
  /** Since when the program has held a message; Infinity while it asks for the next one. */
  #heldSince = Infinity;
  #change = new AbortController();

  /**
   * Resolves when the program has received the message with the call, or when it is not about to:
   * nobody reads the session's messages, or the program is busy with an earlier one.
   */
  async awaitCall(session: string, toolUseId: string, signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + MOST_WAIT_MS;
    while (!this.#received.has(toolUseId) && this.#isRead(session)) {
      const left = Math.min(deadline, this.#heldSince + HELD_MS) - performance.now();
      if (left <= 0 || signal.aborted) break;
      await pause(left, AbortSignal.any([signal, this.#change.signal]));
    }
    // The program's own code runs first with a message that it has just received.
    await turn();
  }

  /** Notes calls whose message the program does not get. */
  pass(toolUseIds: readonly string[]): void {
    const unknown = toolUseIds.filter((id) => !this.#received.has(id));
    for (const id of unknown) this.#received.set(id, true);
    if (unknown.length > 0) this.#changed();
  }

  /** Passes messages on, and notes the calls in them. `isRead` names their sessions. */
  async *watch(messages: AsyncIterable<SDKMessage>, isRead: (session: string) => boolean): AsyncGenerator<SDKMessage> {
    this.#isRead = isRead;
    this.#heldSince = Infinity;
    try {
      for await (const message of messages) {
        this.#heldSince = performance.now();
        this.#changed();
        this.pass(callsOf(message));
        yield message;
        this.#heldSince = Infinity;
        this.#changed();
      }
    } finally {
      this.#isRead = () => false;
      this.#changed();
    }
  }

  #changed(): void {
    this.#change.abort();
    this.#change = new AbortController();
  }
}

function callsOf(message: SDKMessage): readonly string[] {
  if (message.type !== 'assistant') return [];
  return message.message.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
}
