// L8: whether old tool results are shrunk now, and which. A pure function of the entries and the
// time; the answer is recorded as an entry, so that it never changes again. It acts seldom: each
// time breaks the prompt cache from the first shrunk result on.
import { type Entry, type Outcome, entryName } from '../log/entries.ts';
import { inView, type Shown } from './in-view.ts';
import { estimateTokens } from '../../workflows/contract/tokens.ts';
import { resultName } from '../transcript/preview.ts';
import { shrunkResult } from './notices.ts';

type MicrocompactRules = {
  /** Newest results that stay as they are, at least. */
  readonly kept: number;
  /** Tokens worth breaking a warm prompt cache for. */
  readonly minFreed: number;
  /** Tokens worth an entry when the cache is cold. */
  readonly minFreedCold: number;
  /** Milliseconds without a reply after which the cache is cold. */
  readonly coldAfterMs: number;
};

const standard: MicrocompactRules = { kept: 5, minFreed: 20_000, minFreedCold: 1_000, coldAfterMs: 5 * 60_000 };

export function microcompact(
  entries: readonly Entry[],
  now: number,
  rules: MicrocompactRules = standard,
): Extract<Entry, { kind: 'microcompact' }> | null {
  const { shown, marks } = inView(entries);
  const rounds = roundsWithResults(shown);
  const fresh = withoutNewest(rounds, rules.kept).filter(({ position }) => position >= marks.shrunkBefore);
  const shrunk = fresh.at(-1);
  if (!shrunk) return null;
  const characters = fresh.flatMap(({ results }) => results).reduce((sum, each) => sum + freedBy(...each), 0);
  const freed = estimateTokens(characters);
  const cold = now - lastReplyAt(shown) > rules.coldAfterMs;
  if (freed < (cold ? rules.minFreedCold : rules.minFreed)) return null;
  return { kind: 'microcompact', before: shrunk.position + 1, freed };
}

type Round = { readonly position: number; readonly results: [Outcome, number][] };

/** The rounds of the replies in view, oldest first. Those without a result are left out. */
function roundsWithResults(shown: readonly Shown[]): Round[] {
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

/** Results of one reply stay or go together, so more than `kept` may stay. */
function withoutNewest(rounds: readonly Round[], kept: number): readonly Round[] {
  let newer = 0;
  let end = rounds.length;
  while (end > 0 && newer < kept) newer += rounds[(end -= 1)]?.results.length ?? 0;
  return rounds.slice(0, end);
}

function lastReplyAt(shown: readonly Shown[]): number {
  const last = shown.findLast((each) => each.kind === 'entry' && each.entry.kind === 'reply');
  return last?.kind === 'entry' && last.entry.kind === 'reply' ? last.entry.at : 0;
}

// A tool result that microcompaction has shrunk: which are, and what is shown in their place (L8).

/** Characters; a shorter result costs no more than its marker. */
const SMALL = 200;

export function isShrunk({ content, media }: Outcome): boolean {
  return content.length >= SMALL || media !== undefined;
}

/** `position` of the entry the outcome is in. */
export function markCleared({ content, whole, media }: Outcome, position: number): string {
  const name = whole ? resultName(whole.hash) : entryName({ from: position, to: position + 1 });
  const text = shrunkResult(whole?.bytes ?? content.length, name);
  if (media === undefined) return text;
  const names = media.map(({ hash, mediaType }) => `${mediaType} at "${resultName(hash)}"`);
  return `${text} It came with ${names.join(', ')}.`;
}

/** The size of a result in a request, about. `bare`: without its images and documents. */
export function outcomeCharacters({ content, media = [] }: Outcome, bare = false): number {
  return bare ? content.length : media.reduce((sum, { characters }) => sum + characters, content.length);
}

/** Characters that shrinking it frees. */
function freedBy(outcome: Outcome, position: number): number {
  return isShrunk(outcome) ? Math.max(0, outcomeCharacters(outcome) - markCleared(outcome, position).length) : 0;
}
