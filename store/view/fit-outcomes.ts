// Fits the outcomes of one reply into one message: together they must not crowd out everything else
// (L6).
import type { StoredMedium } from '../../workflows/contract/people.ts';
import type { Outcome } from '../log/entries.ts';
import type { Store } from '../values/store.ts';
import { fitsMessage, TOO_MANY_MEDIA } from '../transcript/media.ts';
import { previewText, PREVIEW_LIMIT, resultName } from '../transcript/preview.ts';

/** Characters of all outcomes of one reply together. */
export const MESSAGE_LIMIT = 200_000;
/** The most characters that a preview adds around the text it keeps. */
const FRAME = 500;

type StoredBefore = {
  /** Characters of the outcomes of the same reply that are stored already. */
  readonly characters: number;
  readonly media?: readonly StoredMedium[];
  /** Calls of the reply: with very many, previews get shorter. */
  readonly calls: number;
};

/**
 * Stores the largest outcomes that are not previews yet and replaces them by previews, until all
 * fit or only previews are left. It depends on its arguments alone, so that the choice is the same
 * on every attempt; stored with the entry, it never changes.
 */
export async function fitOutcomes(store: Store, all: readonly Outcome[], before: StoredBefore): Promise<Outcome[]> {
  const outcomes = withFittingMedia(all, before.media ?? []);
  const limit = Math.max(0, Math.min(PREVIEW_LIMIT, Math.floor(MESSAGE_LIMIT / before.calls) - FRAME));
  const fitted = [...outcomes];
  let total = before.characters + countCharacters(outcomes);
  for (const position of largestFirst(outcomes)) {
    if (total <= MESSAGE_LIMIT) break;
    const outcome = outcomes[position] as Outcome;
    if (outcome.content.length <= limit + FRAME) break;
    const replaced = await replaceByPreview(store, outcome, limit);
    total += replaced.content.length - outcome.content.length;
    fitted[position] = replaced;
  }
  return fitted;
}

/**
 * Keeps as many images and documents of one reply as fit into one message, in order, and names
 * those that are left out (L85).
 */
function withFittingMedia(outcomes: readonly Outcome[], before: readonly StoredMedium[]): readonly Outcome[] {
  const accepted = [...before];
  return outcomes.map((outcome) => {
    const { media, ...rest } = outcome;
    if (media === undefined) return outcome;
    if (!fitsMessage([...accepted, ...media]))
      return { ...rest, content: `${rest.content}\n(not shown: ${TOO_MANY_MEDIA}; ask for fewer at once)` };
    accepted.push(...media);
    return outcome;
  });
}

export function countCharacters(outcomes: readonly Outcome[]): number {
  return outcomes.reduce((sum, outcome) => sum + outcome.content.length, 0);
}

function largestFirst(outcomes: readonly Outcome[]): number[] {
  const size = (position: number): number => outcomes[position]?.content.length ?? 0;
  const positions = outcomes.flatMap((outcome, position) => (outcome.whole ? [] : [position]));
  return positions.sort((a, b) => size(b) - size(a) || a - b);
}

async function replaceByPreview(store: Store, outcome: Outcome, limit: number): Promise<Outcome> {
  const bytes = Buffer.from(outcome.content);
  const hash = await store.put(bytes);
  const content = previewText(outcome.content, limit, resultName(hash));
  return { ...outcome, content, whole: { hash, bytes: bytes.length } };
}
