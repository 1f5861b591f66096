// Stores a text that is too long to travel in a message, a piece at a time, for a workflow that
// starts an agent with it (Q4).
import type { StoredText, StoreText } from '../../workflows/contract/activities.ts';
import type { Deps } from '../deps.ts';

/** Stores a text by its content, so that a second attempt returns the same hash. */
export function storeText({ store }: Deps): (attempt: unknown, input: StoreText) => Promise<StoredText> {
  return async (_attempt, { text, after }) => {
    const before = after === undefined ? new Uint8Array() : await store.get(after);
    const whole = Buffer.concat([before, new TextEncoder().encode(text)]);
    return { hash: await store.put(whole), bytes: whole.length };
  };
}
