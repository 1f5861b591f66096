// Notifies the streams of this process as soon as one of its requests has sent something. Events
// sent by other processes are found by polling.
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';

/** News of a session. Empty for most changes: the listener then looks for itself. */
export type BusNews = {
  /** An event that is queued and not processed yet. */
  readonly queued?: BetaManagedAgentsSessionEvent;
};

type Listener = (news: BusNews) => void;

export class EventBus {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** Returns the function that ends listening. */
  listen(session: string, listener: Listener): () => void {
    const all = this.#listeners.get(session) ?? new Set();
    this.#listeners.set(session, all.add(listener));
    return () => {
      all.delete(listener);
      if (all.size === 0) this.#listeners.delete(session);
    };
  }

  publish(session: string, news: BusNews): void {
    for (const listener of this.#listeners.get(session) ?? []) listener(news);
  }
}
