// The whole result of a call, also where the model was sent a preview (L6).
import type { Outcome } from '../activities/transcript/log/entries.ts';
import { isDamage, type Store } from '../activities/transcript/store/store.ts';

/** What cannot be read is said, before the preview. Throws StoreError `unavailable`. */
export function wholeResult(store: Store): (outcome: Outcome) => Promise<string> {
  return async ({ content, whole }) => {
    if (!whole) return content;
    try {
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(await store.get(whole.hash));
    } catch (error) {
      if (!isDamage(error)) throw error;
      return `(the whole result cannot be read: ${error.message})\n${content}`;
    }
  };
}
