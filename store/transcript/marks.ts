// Reads the entries of a transcript that say how it is shown: boundaries, collapses, snips, shrunk
// results. Whatever positions they name, only entries before them count: a later entry is never
// hidden by an earlier one.
import type { Entry, ReplyEntry, BoundaryEntry } from '../log/entries.ts';
import type { SentNames } from '../configuration.ts';
import { type Entries, type EntryAt, type Fold, foldEntries } from '../view/shared-view.ts';
import type { Telling } from './preamble.ts';
import { isSystemMessage } from './system-message.ts';

/** A closed stretch, `to` not included, and the short form that is shown in its place. */
export type Stretch = { readonly from: number; readonly to: number; readonly short: string };

/**
 * The last boundary, with its `from` and `prompts` within bounds (L5), and its position. System
 * messages from before it are among the prompts.
 */
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
  /** Messages too large for their run, by position, with the characters shown of each (L6). */
  readonly cut: ReadonlyMap<number, number>;
  /** Images and documents before this position may have been too large (L12, L24, L25). */
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

/** Characters shown of one run's too large messages, together, and of one alone. */
const CUT_TOGETHER = 20_000;
const CUT_ALONE = 4_000;

type MarksState = {
  boundary: Marks['boundary'];
  shrunkBefore: number;
  committed: Stretch[];
  staged: Stretch[];
  snipped: Set<number>;
  cut: Map<number, number>;
  unanswered: number[];
  /** The positions of system messages (G46). */
  system: number[];
  bareBefore: number;
  epochAt: number;
  telling: Telling;
  names: Marks['names'];
  rewrittenAt: number;
  refusedAt: number;
  open: Trajectory | null;
  /** Replies of the open trajectory that are snipped when it is over (L7, L59). */
  waiting: number[];
};

/** Reads the marks entry by entry. */
const marksFold: Fold<MarksState> = {
  begin: () => ({
    boundary: null,
    shrunkBefore: 0,
    committed: [],
    staged: [],
    snipped: new Set(),
    cut: new Map(),
    unanswered: [],
    system: [],
    bareBefore: 0,
    epochAt: -1,
    telling: {},
    names: undefined,
    rewrittenAt: -1,
    refusedAt: -1,
    open: null,
    waiting: [],
  }),
  copy: (state) => ({
    ...state,
    committed: [...state.committed],
    staged: [...state.staged],
    snipped: new Set(state.snipped),
    cut: new Map(state.cut),
    unanswered: [...state.unanswered],
    system: [...state.system],
    waiting: [...state.waiting],
  }),
  add(state, entry, position, at) {
    if (isRewrite(entry)) state.rewrittenAt = position;
    if (state.waiting.length > 0 && closesTrajectory(entry)) {
      for (const each of state.waiting.splice(0)) state.snipped.add(each);
      state.rewrittenAt = position + 1;
    }
    state.open = closesTrajectory(entry) ? null : joinTrajectory(state.open, entry, position);
    addMark(state, entry, position, at);
  },
};

function addMark(state: MarksState, entry: Entry, position: number, at: EntryAt): void {
  switch (entry.kind) {
    case 'epoch':
      state.epochAt = position;
      state.telling = entry;
      state.names = entry.names;
      if (entry.why === 'refused' || entry.why === 'summary_refused') state.refusedAt = position;
      return;
    case 'boundary':
      state.boundary = boundsOf(entry, position, { at, system: state.system });
      state.bareBefore = Math.max(state.bareBefore, clampPosition(entry.bareBefore ?? 0, position));
      state.staged = [];
      return;
    case 'microcompact':
      state.shrunkBefore = Math.max(state.shrunkBefore, clampPosition(entry.before, position));
      return;
    case 'collapse_staged':
      state.staged.push({ from: entry.from, to: clampPosition(entry.to, position), short: entry.short });
      return;
    case 'collapse_committed':
      state.committed.push(...state.staged.splice(0, clampPosition(entry.count, state.staged.length)));
      return;
    case 'snip':
      addSnip(state, entry, position, at);
      return;
    case 'user':
    case 'notice':
      state.unanswered.push(position);
      if (isSystemMessage(entry)) state.system.push(position);
      return;
    case 'reply':
      state.unanswered = [];
      return;
    case 'run_ended':
      addRunEnd(state, entry, position);
      return;
    default:
  }
}

function addSnip(
  state: MarksState,
  { entries }: Extract<Entry, { kind: 'snip' }>,
  position: number,
  at: EntryAt,
): void {
  const { open } = state;
  const named = entries.filter((each) => each < position);
  const later = named.filter((each) => open?.signed && each >= open.from && at(each)?.kind === 'reply');
  state.waiting.push(...later);
  for (const each of named) if (!later.includes(each)) state.snipped.add(each);
  if (later.length < named.length) state.rewrittenAt = position;
}

function addRunEnd(state: MarksState, entry: Extract<Entry, { kind: 'run_ended' }>, position: number): void {
  if (entry.ended.terminal.reason === 'image_error') state.bareBefore = position;
  else if (hasEndedTooLong(entry)) {
    const most = Math.min(CUT_ALONE, Math.floor(CUT_TOGETHER / state.unanswered.length));
    for (const each of state.unanswered) state.cut.set(each, most);
    state.bareBefore = position;
  }
}

export function readMarks(entries: Entries): Marks {
  const {
    committed,
    names,
    unanswered: _,
    system: _system,
    open: _open,
    waiting: _waiting,
    ...state
  } = foldEntries(marksFold, entries);
  const separate = keepSeparate(committed, state.boundary?.from ?? 0);
  return { ...state, committed: separate, ...(names && { names }) };
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
export function hasEndedTooLong({ ended: end }: Extract<Entry, { kind: 'run_ended' }>): boolean {
  const { reason } = end.terminal;
  return reason === 'blocking_limit' || reason === 'prompt_too_long';
}

type Before = { readonly at: EntryAt; readonly system: readonly number[] };

function boundsOf(entry: BoundaryEntry, position: number, { at, system }: Before): Bounds {
  const from = clampPosition(entry.from, position);
  const users = entry.prompts.filter((each) => at(each)?.kind === 'user');
  const prompts = [...new Set([...users, ...system])].filter((each) => each < from);
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
