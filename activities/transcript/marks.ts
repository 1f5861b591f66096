// What a transcript's own entries say about how it is shown: boundaries, collapses, snips, shrunk results. Whatever positions
// they name, only what is before them counts: an entry that is still to come is never hidden by one that is there.
import type { BoundaryEntry, Entry } from './entries.ts';

/** A closed stretch, `to` not included, and what is shown in its place. */
export type Stretch = { readonly from: number; readonly to: number; readonly short: string };

export type Marks = {
  /** The last boundary, its `from` and `prompts` within bounds (L5). */
  readonly boundary: Pick<BoundaryEntry, 'summary' | 'prompts' | 'from'> | null;
  /** Tool results of replies before this position are shown as a marker (L8). */
  readonly shrunkBefore: number;
  /** Shown short: in order, without overlap, all after the boundary (L9). */
  readonly committed: readonly Stretch[];
  /** Not shown short yet, oldest first. A boundary discards them. */
  readonly staged: readonly Stretch[];
  /** L7. */
  readonly snipped: ReadonlySet<number>;
  /** Messages that were too large for their run, by position: so many characters of each are shown (L6). */
  readonly cut: ReadonlyMap<number, number>;
};

/** Characters of the messages of one run that were too large, together, and of one alone. */
const CUT_TOGETHER = 20_000;
const CUT_ALONE = 4_000;

export function readMarks(entries: readonly Entry[]): Marks {
  let boundary: Marks['boundary'] = null;
  let shrunkBefore = 0;
  const committed: Stretch[] = [];
  let staged: Stretch[] = [];
  const snipped = new Set<number>();
  const cut = new Map<number, number>();
  let unanswered: number[] = [];
  for (const [position, entry] of entries.entries()) {
    if (entry.kind === 'boundary') {
      boundary = bounded(entry, position, entries);
      staged = [];
    } else if (entry.kind === 'microcompact') {
      shrunkBefore = Math.max(shrunkBefore, within(entry.before, position));
    } else if (entry.kind === 'collapse_staged') {
      staged.push({ from: entry.from, to: within(entry.to, position), short: entry.short });
    } else if (entry.kind === 'collapse_committed') {
      committed.push(...staged.splice(0, within(entry.count, staged.length)));
    } else if (entry.kind === 'snip') {
      for (const each of entry.entries) if (each < position) snipped.add(each);
    } else if (entry.kind === 'user' || entry.kind === 'notice') {
      unanswered.push(position);
    } else if (entry.kind === 'reply') {
      unanswered = [];
    } else if (entry.kind === 'run_ended' && endedTooLong(entry)) {
      const most = Math.min(CUT_ALONE, Math.floor(CUT_TOGETHER / unanswered.length));
      for (const each of unanswered) cut.set(each, most);
    }
  }
  return { boundary, shrunkBefore, committed: separate(committed, boundary?.from ?? 0), staged, snipped, cut };
}

/** What the model has not answered by then would make the next request too long as well. */
function endedTooLong({ ended }: Extract<Entry, { kind: 'run_ended' }>): boolean {
  const { reason } = ended.terminal;
  return reason === 'blocking_limit' || reason === 'prompt_too_long';
}

function bounded(entry: BoundaryEntry, position: number, entries: readonly Entry[]): NonNullable<Marks['boundary']> {
  const from = within(entry.from, position);
  const prompts = [...new Set(entry.prompts)].filter((each) => each < from && entries[each]?.kind === 'user');
  return { summary: entry.summary, from, prompts: prompts.toSorted((a, b) => a - b) };
}

function within(value: number, most: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(0, Math.trunc(value)), most) : 0;
}

function separate(stretches: readonly Stretch[], after: number): readonly Stretch[] {
  let end = after;
  return stretches
    .toSorted((a, b) => a.from - b.from)
    .filter(({ from, to }) => {
      const fits = Number.isInteger(from) && from >= end && from < to;
      if (fits) end = to;
      return fits;
    });
}
