// L6, per message: the outcomes of one reply go back in one message, and together they must not crowd out everything else.
import { preview, PREVIEW_LIMIT, resultName } from '../tools/preview.ts';
import type { Outcome } from './entries.ts';
import type { Store } from './store.ts';

/** Characters of all outcomes of one reply together. */
export const MESSAGE_LIMIT = 200_000;
/** What a preview adds around the text it keeps, at most. */
const FRAME = 500;

export type Beside = {
  /** Characters of the outcomes of the same reply that are stored already. */
  readonly characters: number;
  /** Calls of the reply: with very many, previews get shorter. */
  readonly calls: number;
};

/**
 * Of `outcomes`, the largest that are not previews yet are stored whole and replaced by a preview, until all fit or none is
 * left. Depends on its arguments alone, so that the choice is the same on every attempt; stored with the entry, it never changes.
 */
export async function fitOutcomes(store: Store, outcomes: readonly Outcome[], beside: Beside): Promise<Outcome[]> {
  const limit = Math.max(0, Math.min(PREVIEW_LIMIT, Math.floor(MESSAGE_LIMIT / beside.calls) - FRAME));
  const fitted = [...outcomes];
  let total = beside.characters + characters(outcomes);
  for (const position of largestFirst(outcomes)) {
    if (total <= MESSAGE_LIMIT) break;
    const outcome = outcomes[position] as Outcome;
    if (outcome.content.length <= limit + FRAME) break;
    const replaced = await previewed(store, outcome, limit);
    total += replaced.content.length - outcome.content.length;
    fitted[position] = replaced;
  }
  return fitted;
}

export function characters(outcomes: readonly Outcome[]): number {
  return outcomes.reduce((sum, outcome) => sum + outcome.content.length, 0);
}

function largestFirst(outcomes: readonly Outcome[]): number[] {
  const size = (position: number): number => outcomes[position]?.content.length ?? 0;
  const positions = outcomes.flatMap((outcome, position) => (outcome.whole ? [] : [position]));
  return positions.sort((a, b) => size(b) - size(a) || a - b);
}

async function previewed(store: Store, outcome: Outcome, limit: number): Promise<Outcome> {
  const bytes = Buffer.from(outcome.content);
  const hash = await store.put(bytes);
  const content = preview(outcome.content, limit, resultName(hash));
  return { ...outcome, content, whole: { hash, bytes: bytes.length } };
}
