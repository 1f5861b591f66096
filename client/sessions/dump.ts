// Writes a session as lines of JSON: its description, then each entry, then the damage.
import type { Entry, Outcome } from '../../store/log/entries.ts';
import type { LeftBehind } from './history/left-behind.ts';
import type { MessageBody } from '../../workflows/contract/people.ts';
import type { SessionReading } from './read.ts';
import { isDamage, type Store } from '../../store/values/store.ts';

/**
 * Yields one object per line. `whole` fills in prompts and whole results that are stored apart;
 * with null they stay hashes. What a rewind has left behind names the position of its entry, and
 * comes before that.
 */
export async function* sessionJson(
  { description, runs, entries, first, bodies, problems }: SessionReading,
  whole: ((outcome: Outcome) => Promise<string>) | null,
  left: ReadonlyMap<number, readonly LeftBehind[]> = new Map(),
): AsyncIterable<object> {
  const { session, ...rest } = description;
  yield { kind: 'session', sessionId: session, ...rest, results: runs };
  const lines = async function* (part: LeftBehind, leftBehind?: number): AsyncIterable<object> {
    for (const [index, entry] of part.entries.entries()) {
      const position = part.first + index;
      for (const stretch of leftBehind === undefined ? (left.get(position) ?? []) : []) yield* lines(stretch, position);
      const filled = whole ? await fillBodies(entry, part.bodies, whole) : entry;
      yield { position, ...(leftBehind !== undefined && { leftBehind }), ...filled };
    }
    if (part.problem !== undefined) yield { kind: 'problem', position: leftBehind, problem: part.problem };
  };
  yield* lines({ entries, first, bodies });
  for (const { entry, problem } of problems) yield { kind: 'problem', position: entry, problem };
}

async function fillBodies(
  entry: Entry,
  bodies: SessionReading['bodies'],
  whole: (outcome: Outcome) => Promise<string>,
): Promise<object> {
  if (entry.kind === 'user') {
    const fill = (body: MessageBody): object =>
      body.kind === 'stored' ? { ...body, text: bodies.get(body.hash) ?? null } : body;
    const { goal } = entry;
    return { ...entry, body: fill(entry.body), ...(goal && { goal: { ...goal, rubric: fill(goal.rubric) } }) };
  }
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
