// Writes a session as lines of JSON: its description, then each entry, then the damage.
import type { Entry, Outcome } from '../../store/log/entries.ts';
import type { SessionReading } from './read.ts';
import { isDamage, type Store } from '../../store/values/store.ts';

/**
 * Yields one object per line. `whole` fills in prompts and whole results that are stored apart;
 * with null they stay hashes.
 */
export async function* sessionJson(
  { description, runs, entries, first, bodies, problems }: SessionReading,
  whole: ((outcome: Outcome) => Promise<string>) | null,
): AsyncIterable<object> {
  const { session, ...rest } = description;
  yield { kind: 'session', sessionId: session, ...rest, results: runs };
  for (const [index, entry] of entries.entries())
    yield { position: first + index, ...(whole ? await fillBodies(entry, bodies, whole) : entry) };
  for (const { entry, problem } of problems) yield { kind: 'problem', position: entry, problem };
}

async function fillBodies(
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

/**
 * Returns a reader of whole results, also where the model was sent a preview (L6). When a result
 * cannot be read it says so and gives the preview. Throws StoreError `unavailable`.
 */
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
