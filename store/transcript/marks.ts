// Reads the entries of a transcript that say how it is shown: boundaries, collapses, snips, shrunk
// results. Whatever positions they name, only entries before them count: a later entry is never
// hidden by an earlier one.
import type { Entry, ReplyEntry, BoundaryEntry } from '../log/entries.ts';
import type { SentNames } from '../configuration.ts';
import type { Telling } from './preamble.ts';

/** A closed stretch, `to` not included, and the short form that is shown in its place. */
export type Stretch = { readonly from: number; readonly to: number; readonly short: string };

/** The last boundary, with its `from` and `prompts` within bounds (L5), and its position. */
export type Bounds = Pick<BoundaryEntry, 'summary' | 'prompts' | 'from' | 'tasks' | 'signed'> & { readonly at: number };

export type Marks = {
  readonly boundary: Bounds | null;
  /** Tool results of replies before this position are shown as a marker (L8). */
  readonly shrunkBefore: number;
  /** The stretches that are shown short: in order, without overlap, all after the boundary (L9). */
  readonly committed: readonly Stretch[];
  /** The stretches that are not shown short yet, oldest first. A boundary discards them. */
  readonly staged: readonly Stretch[];
  /** The positions of snipped entries (L7). */
  readonly snipped: ReadonlySet<number>;
  /**
   * Messages that were too large for their run, by position, and how many characters of each are
   * shown (L6).
   */
  readonly cut: ReadonlyMap<number, number>;
  /**
   * Images and documents before this position may have made a request too large (L12, L24, L25).
   */
  readonly bareBefore: number;
  /** The position of the last epoch, -1 without one, and how it tells of changes. */
  readonly epochAt: number;
  readonly telling: Telling;
  /** The names that the model knows tools under, where they are not ours (L89). */
  readonly names?: SentNames | undefined;
  /**
   * The position of the last entry that changes what was sent before it, -1 without one. A model
   * that checks what came before its thinking gets no thinking from before it, for good (L59).
   */
  readonly rewrittenAt: number;
  /**
   * The position of the last epoch that began because the API refused earlier thinking or its
   * summary, -1 without one. Models get no thinking from before it.
   */
  readonly refusedAt: number;
};

/**
 * Characters that are shown of the messages of one run that were too large, together, and of one
 * alone.
 */
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
  let bareBefore = 0;
  let epochAt = -1;
  let telling: Telling = {};
  let names: Marks['names'];
  let rewrittenAt = -1;
  let refusedAt = -1;
  let open: Trajectory | null = null;
  /** Replies of the open trajectory that are snipped when it is over (L7, L59). */
  const waiting: number[] = [];
  for (const [position, entry] of entries.entries()) {
    if (isRewrite(entry)) rewrittenAt = position;
    if (waiting.length > 0 && closesTrajectory(entry)) {
      for (const each of waiting.splice(0)) snipped.add(each);
      rewrittenAt = position + 1;
    }
    open = closesTrajectory(entry) ? null : joinTrajectory(open, entry, position);
    if (entry.kind === 'epoch') {
      epochAt = position;
      telling = entry;
      names = entry.names;
      if (entry.why === 'refused' || entry.why === 'summary_refused') refusedAt = position;
    } else if (entry.kind === 'boundary') {
      boundary = boundsOf(entry, position, entries);
      bareBefore = Math.max(bareBefore, clampPosition(entry.bareBefore ?? 0, position));
      staged = [];
    } else if (entry.kind === 'microcompact') {
      shrunkBefore = Math.max(shrunkBefore, clampPosition(entry.before, position));
    } else if (entry.kind === 'collapse_staged') {
      staged.push({ from: entry.from, to: clampPosition(entry.to, position), short: entry.short });
    } else if (entry.kind === 'collapse_committed') {
      committed.push(...staged.splice(0, clampPosition(entry.count, staged.length)));
    } else if (entry.kind === 'snip') {
      const named = entry.entries.filter((each) => each < position);
      const later = named.filter((each) => open?.signed && each >= open.from && entries[each]?.kind === 'reply');
      waiting.push(...later);
      for (const each of named) if (!later.includes(each)) snipped.add(each);
      if (later.length < named.length) rewrittenAt = position;
    } else if (entry.kind === 'user' || entry.kind === 'notice') {
      unanswered.push(position);
    } else if (entry.kind === 'reply') {
      unanswered = [];
    } else if (entry.kind === 'run_ended' && entry.ended.terminal.reason === 'image_error') {
      bareBefore = position;
    } else if (entry.kind === 'run_ended' && hasEndedTooLong(entry)) {
      const most = Math.min(CUT_ALONE, Math.floor(CUT_TOGETHER / unanswered.length));
      for (const each of unanswered) cut.set(each, most);
      bareBefore = position;
    }
  }
  const shown = keepSeparate(committed, boundary?.from ?? 0);
  return {
    boundary,
    shrunkBefore,
    committed: shown,
    staged,
    snipped,
    cut,
    bareBefore,
    epochAt,
    telling,
    ...(names && { names }),
    rewrittenAt,
    refusedAt,
  };
}

/** Tells whether entries before this one are sent otherwise from then on. */
function isRewrite(entry: Entry): boolean {
  if (entry.kind === 'collapse_committed') return entry.count > 0;
  if (entry.kind === 'run_ended') return entry.ended.terminal.reason === 'image_error' || hasEndedTooLong(entry);
  if (entry.kind === 'boundary') return entry.keepsThinking !== true;
  return entry.kind === 'epoch' || entry.kind === 'microcompact';
}

/**
 * Replies with calls, one after the other. `from` is the position of the first, and `signed` says
 * that one of them thinks: then none is taken out (L59).
 */
type Trajectory = { readonly from: number; readonly signed: boolean };

function closesTrajectory(entry: Entry): boolean {
  return entry.kind === 'run_started' || (entry.kind === 'reply' && !hasCalls(entry));
}

function joinTrajectory(open: Trajectory | null, entry: Entry, position: number): Trajectory | null {
  if (entry.kind !== 'reply') return open;
  return { from: open?.from ?? position, signed: (open?.signed ?? false) || hasThinking(entry) };
}

/**
 * Tells whether the run ended because it was too long: the entries that the model has not answered
 * by then would make the next request too long as well.
 */
export function hasEndedTooLong({ ended }: Extract<Entry, { kind: 'run_ended' }>): boolean {
  const { reason } = ended.terminal;
  return reason === 'blocking_limit' || reason === 'prompt_too_long';
}

function boundsOf(entry: BoundaryEntry, position: number, entries: readonly Entry[]): Bounds {
  const from = clampPosition(entry.from, position);
  const prompts = [...new Set(entry.prompts)].filter((each) => each < from && entries[each]?.kind === 'user');
  const { summary, tasks, signed } = entry;
  return {
    at: position,
    summary,
    from,
    prompts: prompts.toSorted((a, b) => a - b),
    ...(tasks !== undefined && { tasks }),
    ...(signed && { signed }),
  };
}

export function clampPosition(value: number, most: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(0, Math.trunc(value)), most) : 0;
}

function keepSeparate(stretches: readonly Stretch[], after: number): readonly Stretch[] {
  let end = after;
  return stretches
    .toSorted((a, b) => a.from - b.from)
    .filter(({ from, to }) => {
      const fits = Number.isInteger(from) && from >= end && from < to;
      if (fits) end = to;
      return fits;
    });
}

export function hasCalls({ message }: ReplyEntry): boolean {
  return message.content.some(({ type }) => type === 'tool_use');
}

export function hasThinking({ message }: ReplyEntry): boolean {
  return message.content.some(({ type }) => type === 'thinking' || type === 'redacted_thinking');
}
