// Decides whether old tool results are shrunk now, which, and what is shown in their place (L8): a
// pure function of the entries and the time. The answer is recorded as an entry, so that it never
// changes again. It acts seldom: each time breaks the prompt cache from the first shrunk result on.
import { type Entry, type Outcome, entryName } from '../log/entries.ts';
import type { Marks } from '../transcript/marks.ts';
import type { Entries } from './shared-view.ts';
import { inView, type ShownPart } from './in-view.ts';
import { estimateTokens } from '../../workflows/contract/loop.ts';
import { resultName } from '../transcript/preview.ts';
import { shrunkResult } from './notices.ts';

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
  const { shown: parts, marks, settled } = inView(entries);
  const over = settled ? takeRoundsOver(settled.list, marks) : noRounds();
  const recent = roundsWithResults(parts.slice(over.parts), marks);
  // Each round has a result, so that no more of them stay.
  const newest = [...over.rounds.slice(-rules.kept - 1), ...recent];
  const staying = newestRounds(newest, rules.kept);
  const shrunk = newest.at(-staying.length - 1);
  if (!shrunk || shrunk.position < marks.shrunkBefore) return null;
  const saved = (what: 'freed' | 'savings'): number => over[what] + sum(recent, what) - sum(staying, what);
  const freed = estimateTokens(saved('freed'));
  const cold = now - lastReplyAt(parts) > rules.coldAfterMs;
  if (freed < (cold ? rules.minFreedCold : rules.minFreed)) return null;
  return { kind: 'microcompact', before: shrunk.position + 1, freed, results: saved('savings') };
}

/**
 * A reply in view that has results. `savings` counts those that free characters when they are
 * shrunk, and `freed` the characters; both are 0 where they are shrunk already.
 */
type Round = { readonly position: number; results: number; savings: number; freed: number };

/** The rounds of the first `parts` parts, and the sums of what they save. */
type RoundsOver = { readonly rounds: Round[]; parts: number; savings: number; freed: number };

const noRounds = (): RoundsOver => ({ rounds: [], parts: 0, savings: 0, freed: 0 });

/** By the list of what is shown: all its results before one place are shrunk. */
const known = new WeakMap<readonly ShownPart[], RoundsOver>();

/** Takes on the rounds before the last reply, to which results may still come. */
function takeRoundsOver(list: readonly ShownPart[], marks: Marks): RoundsOver {
  const over = known.get(list) ?? noRounds();
  known.set(list, over);
  const end = list.findLastIndex(isReply);
  if (end <= over.parts) return over;
  const more = roundsWithResults(list.slice(over.parts, end), marks);
  over.parts = end;
  over.rounds.push(...more);
  over.savings += sum(more, 'savings');
  over.freed += sum(more, 'freed');
  return over;
}

function sum(rounds: readonly Round[], what: 'freed' | 'savings'): number {
  return rounds.reduce((total, round) => total + round[what], 0);
}

/** Returns the rounds of the replies in view, oldest first, without those that have no result. */
function roundsWithResults(parts: readonly ShownPart[], { shrunkBefore }: Marks): readonly Round[] {
  const rounds: Round[] = [];
  for (const each of parts) {
    if (each.kind !== 'entry') continue;
    const { entry, position } = each;
    if (entry.kind === 'reply') rounds.push({ position, results: 0, savings: 0, freed: 0 });
    const round = rounds.at(-1);
    if (entry.kind !== 'outcomes' || round === undefined) continue;
    round.results += entry.outcomes.length;
    const isFresh = round.position >= shrunkBefore;
    for (const freed of isFresh ? entry.outcomes.map((outcome) => countFreed(outcome, position)) : [])
      if (freed > 0) [round.savings, round.freed] = [round.savings + 1, round.freed + freed];
  }
  return rounds.filter(({ results }) => results > 0);
}

/**
 * Returns the newest rounds, which stay as they are. Results of one reply stay or go together, so
 * more than `minimum` may stay.
 */
function newestRounds(rounds: readonly Round[], minimum: number): readonly Round[] {
  let newer = 0;
  let begin = rounds.length;
  while (begin > 0 && newer < minimum) newer += rounds[(begin -= 1)]?.results ?? 0;
  return rounds.slice(begin);
}

function isReply(part: ShownPart): boolean {
  return part.kind === 'entry' && part.entry.kind === 'reply';
}

function lastReplyAt(parts: readonly ShownPart[]): number {
  const last = parts.findLast(isReply);
  return last?.kind === 'entry' && last.entry.kind === 'reply' ? last.entry.at : 0;
}

/** Returns the characters that shrinking frees. */
function countFreed(outcome: Outcome, position: number): number {
  return isShrunk(outcome) ? Math.max(0, outcomeCharacters(outcome) - shrunkMarker(outcome, position).length) : 0;
}

/** Characters. A shorter result costs no more than its marker. */
const SHORTEST_SHRUNK = 200;

export function isShrunk({ content, media }: Outcome): boolean {
  return content.length >= SHORTEST_SHRUNK || media !== undefined;
}

/** Returns the marker of a shrunk result. `position` is that of the entry the outcome is in. */
export function shrunkMarker({ content, whole, media }: Outcome, position: number): string {
  const name = whole ? resultName(whole.hash) : entryName({ from: position, to: position + 1 });
  const text = shrunkResult(whole?.bytes ?? content.length, name);
  if (media === undefined) return text;
  const names = media.map(({ hash, mediaType }) => `${mediaType} at "${resultName(hash)}"`);
  return `${text} It came with ${names.join(', ')}.`;
}

/** Returns about the size of a result in a request. `bare` leaves out its images and documents. */
export function outcomeCharacters({ content, media = [] }: Outcome, bare = false): number {
  return bare ? content.length : media.reduce((total, { characters }) => total + characters, content.length);
}
