// A session as lines of JSON: what is known of it, then one entry each, then what is damaged.
import type { Entry, Outcome } from '../../store/log/entries.ts';
import type { SessionReading } from './read.ts';
import { isDamage, type Store } from '../../store/values/store.ts';

/**
 * `whole`: fills in what is stored apart, prompts and whole results; null: leaves them as hashes.
 */
export async function* sessionJson(
  { description, runs, entries, first, bodies, problems }: SessionReading,
  whole: ((outcome: Outcome) => Promise<string>) | null,
): AsyncIterable<object> {
  const { session, ...rest } = description;
  yield { kind: 'session', sessionId: session, ...rest, results: runs };
  for (const [index, entry] of entries.entries())
    yield { position: first + index, ...(whole ? await filled(entry, bodies, whole) : entry) };
  for (const { entry, problem } of problems) yield { kind: 'problem', position: entry, problem };
}

async function filled(
  entry: Entry,
  bodies: SessionReading['bodies'],
  whole: (outcome: Outcome) => Promise<string>,
): Promise<object> {
  if (entry.kind === 'user' && entry.body.kind === 'stored')
    return { ...entry, body: { ...entry.body, text: bodies.get(entry.body.hash) ?? null } };
  if (entry.kind !== 'outcomes') return entry;
  const outcomes: object[] = [];
  for (const outcome of entry.outcomes)
    outcomes.push(outcome.whole ? { ...outcome, whole: { ...outcome.whole, text: await whole(outcome) } } : outcome);
  return { ...entry, outcomes };
}

// The whole result of a call, also where the model was sent a preview (L6).

/** Says what cannot be read before the preview. Throws StoreError `unavailable`. */
export function readWholeResult(store: Store): (outcome: Outcome) => Promise<string> {
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
