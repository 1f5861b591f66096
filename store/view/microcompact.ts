// Decides whether old tool results are shrunk now, and which (L8). It is a pure function of the
// entries and the time; the answer is recorded as an entry, so that it never changes again. It acts
// seldom: each time breaks the prompt cache from the first shrunk result on.
import type { Entry, Outcome } from '../log/entries.ts';
import type { Entries } from './fold.ts';
import { inView, type ShownPart } from './in-view.ts';
import { estimateTokens } from '../../workflows/contract/tokens.ts';
import { isShrunk, shrunkMarker, outcomeCharacters } from './shrunk-results.ts';

type MicrocompactRules = {
  /** The least number of newest results that stay as they are. */
  readonly kept: number;
  /** Tokens that are worth breaking a warm prompt cache for. */
  readonly minFreed: number;
  /** Tokens that are worth an entry when the cache is cold. */
  readonly minFreedCold: number;
  /** Milliseconds without a reply after which the cache is cold. */
  readonly coldAfterMs: number;
};

const STANDARD_RULES: MicrocompactRules = { kept: 5, minFreed: 20_000, minFreedCold: 1_000, coldAfterMs: 5 * 60_000 };

export function planMicrocompact(
  entries: Entries,
  now: number,
  rules: MicrocompactRules = STANDARD_RULES,
): Extract<Entry, { kind: 'microcompact' }> | null {
  const { shown, marks } = inView(entries);
  const rounds = roundsWithResults(shown);
  const fresh = withoutNewest(rounds, rules.kept).filter(({ position }) => position >= marks.shrunkBefore);
  const shrunk = fresh.at(-1);
  if (!shrunk) return null;
  const savings = fresh.flatMap(({ results }) => results.map((each) => countFreed(...each))).filter((each) => each > 0);
  const freed = estimateTokens(savings.reduce((sum, each) => sum + each, 0));
  const cold = now - lastReplyAt(shown) > rules.coldAfterMs;
  if (freed < (cold ? rules.minFreedCold : rules.minFreed)) return null;
  return { kind: 'microcompact', before: shrunk.position + 1, freed, results: savings.length };
}

type Round = { readonly position: number; readonly results: [Outcome, number][] };

/** Returns the rounds of the replies in view, oldest first, without those that have no result. */
function roundsWithResults(shown: readonly ShownPart[]): Round[] {
  const rounds: Round[] = [];
  for (const each of shown) {
    if (each.kind !== 'entry') continue;
    const { entry, position } = each;
    if (entry.kind === 'reply') rounds.push({ position, results: [] });
    else if (entry.kind === 'outcomes') {
      rounds.at(-1)?.results.push(...entry.outcomes.map((outcome): [Outcome, number] => [outcome, position]));
    }
  }
  return rounds.filter(({ results }) => results.length > 0);
}

/**
 * Leaves out the newest rounds. Results of one reply stay or go together, so more than `kept` may
 * stay.
 */
function withoutNewest(rounds: readonly Round[], kept: number): readonly Round[] {
  let newer = 0;
  let end = rounds.length;
  while (end > 0 && newer < kept) newer += rounds[(end -= 1)]?.results.length ?? 0;
  return rounds.slice(0, end);
}

function lastReplyAt(shown: readonly ShownPart[]): number {
  const last = shown.findLast((each) => each.kind === 'entry' && each.entry.kind === 'reply');
  return last?.kind === 'entry' && last.entry.kind === 'reply' ? last.entry.at : 0;
}

/** Returns the characters that shrinking frees. */
function countFreed(outcome: Outcome, position: number): number {
  return isShrunk(outcome) ? Math.max(0, outcomeCharacters(outcome) - shrunkMarker(outcome, position).length) : 0;
}
