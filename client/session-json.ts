// A session as lines of JSON: what is known of it, then one entry each, then what is damaged.
import type { Entry, Outcome } from '../activities/transcript/log/entries.ts';
import type { SessionReading } from './session-reading.ts';

/** `whole`: fills in what is stored apart, prompts and whole results; null: leaves them as hashes. */
export async function* sessionJson(
  { description, runs, entries, bodies, problems }: SessionReading,
  whole: ((outcome: Outcome) => Promise<string>) | null,
): AsyncIterable<object> {
  const { session, ...rest } = description;
  yield { kind: 'session', sessionId: session, ...rest, results: runs };
  for (const [position, entry] of entries.entries())
    yield { position, ...(whole ? await filled(entry, bodies, whole) : entry) };
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
