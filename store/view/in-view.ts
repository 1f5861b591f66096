// Finds which entries of a transcript the model sees, in order, and what stands for the others (L5,
// L7, L9, L10). Outcomes go with their reply: hidden with it, shown with it.
import { isDeepStrictEqual } from 'node:util';
import { present } from '../../workflows/contract/present.ts';
import type { Entry, SignedSummary } from '../log/entries.ts';
import { type Bounds, type Marks, readMarks, type Stretch } from '../transcript/marks.ts';
import { isSystemMessage } from '../transcript/system-message.ts';
import { type Entries, type EntryAt, entryAt, type ExtendedView, isExtended, type View } from './shared-view.ts';
import { mediaOf } from '../log/bodies.ts';
import { summaryFollowUp } from './notices.ts';
import { taskListOf, withTaskList } from './task-list.ts';

export type ShownPart =
  /**
   * `cut` is how many characters are shown of a message that was too large for its run (L6). `bare`
   * hides its images and documents.
   */
  | {
      readonly kind: 'entry';
      readonly position: number;
      readonly entry: ShownEntry;
      readonly cut?: number;
      readonly bare?: true;
    }
  /**
   * A boundary's summary, which stands for everything before `position`. `signed` is the API's own,
   * for models that take it.
   */
  | { readonly kind: 'summary'; readonly position: number; readonly text: string; readonly signed?: SignedSummary }
  /**
   * The words at a boundary whose summary is signed, after the entries that were kept: nothing may
   * stand between summary and kept entries.
   */
  | { readonly kind: 'carried'; readonly position: number; readonly text: string }
  /** The short form of a committed stretch, which begins at `position` and ends before `to`. */
  | { readonly kind: 'short'; readonly position: number; readonly to: number; readonly text: string };

/** The kinds that can be seen; the others keep the books. */
type ShownEntry = Extract<Entry, { kind: 'user' | 'reply' | 'outcomes' | 'notice' }>;

export type InView = {
  readonly shown: readonly ShownPart[];
  readonly marks: Marks;
  /** The visible part of the stored entries, where it is known from view to view. */
  readonly settled?: Settled;
};

/** The first `count` of `list`, which only grows, are the first parts that are shown. */
type Settled = { readonly list: readonly ShownPart[]; readonly count: number };

export function inView(entries: Entries): InView {
  const marks = readMarks(entries);
  if (isExtended(entries)) return extendShown(entries, marks);
  const at = entryAt(entries);
  const showing = beginShowing(marks, at);
  showUntil(showing, entries.length, at);
  return { shown: showing.parts, marks };
}

/** By lineage: what is shown of the longest view that was asked for. */
const known = new WeakMap<object, Showing>();

/** Takes what came since alone, unless that hides or shrinks what was shown. */
function extendShown(extended: ExtendedView, marks: Marks): InView {
  const { view, added } = extended;
  const at = entryAt(extended);
  const found = known.get(view.lineage);
  const isBefore = found === undefined || found.until <= view.length;
  const isTakenOn = isBefore && !endsAmongAdded(marks, view);
  const showing = found && isTakenOn && showsAlike(found.marks, marks) ? found : beginShowing(marks, at);
  showUntil(showing, view.length, at);
  if (isTakenOn && showing.until === view.length) known.set(view.lineage, showing);
  const rest = { ...showing, marks, parts: [] };
  showUntil(rest, view.length + added.length, at);
  const { parts } = showing;
  return { shown: [...parts, ...rest.parts], marks, settled: { list: parts, count: parts.length } };
}

/** Tells whether a short form also stands for entries that are not stored: those may change. */
function endsAmongAdded({ committed }: Marks, { length }: View): boolean {
  return committed.some(({ from, to }) => from < length && to > length);
}

/** Tells whether entries that both have seen are shown alike. */
function showsAlike(one: Marks, other: Marks): boolean {
  return (
    one.boundary === other.boundary &&
    one.shrunkBefore === other.shrunkBefore &&
    one.bareBefore === other.bareBefore &&
    one.epochAt === other.epochAt &&
    one.refusedAt === other.refusedAt &&
    isDeepStrictEqual(one.committed, other.committed) &&
    isDeepStrictEqual(one.snipped, other.snipped) &&
    isDeepStrictEqual(one.cut, other.cut)
  );
}

/** Returns the signed summary, unless a server has refused it: then it is said in words. */
function usableSignedSummary({ boundary, refusedAt }: Marks): SignedSummary | undefined {
  return boundary && boundary.at > refusedAt ? boundary.signed : undefined;
}

function showPrompts({ prompts }: Bounds, marks: Marks, at: EntryAt): ShownPart[] {
  return prompts
    .filter((position) => !marks.snipped.has(position))
    .map((position) => showEntry(position, at(position) as ShownEntry, marks, -1));
}

/** `reply` is the position of the reply that outcomes belong to. */
function showEntry(
  position: number,
  entry: ShownEntry,
  { cut, bareBefore, shrunkBefore }: Marks,
  reply: number,
): ShownPart {
  const isHidden = position < bareBefore || (entry.kind === 'outcomes' && reply < shrunkBefore);
  return {
    kind: 'entry',
    position,
    entry,
    ...present({ cut: cut.get(position), bare: isHidden && mediaOf(entry).length > 0 ? (true as const) : undefined }),
  };
}

/** Entries before `until` were taken. */
type Showing = {
  readonly marks: Marks;
  readonly parts: ShownPart[];
  until: number;
  /** The number of the committed stretches that are over. */
  stretches: number;
  /** The last reply, and whether it is shown. */
  reply: number;
  withReply: boolean;
};

function beginShowing(marks: Marks, at: EntryAt): Showing {
  const showing = { marks, parts: [] as ShownPart[], until: 0, stretches: 0, reply: -1, withReply: false };
  if (!marks.boundary) return showing;
  const { from, summary, tasks } = marks.boundary;
  const signed = usableSignedSummary(marks);
  const isCarried = marks.boundary.signed !== undefined;
  const text = isCarried ? summary : withTaskList(summary, tasks);
  showing.parts.push({ kind: 'summary', position: from, text, ...(signed && { signed }) });
  if (!isCarried) showing.parts.push(...showPrompts(marks.boundary, marks, at));
  return { ...showing, until: from };
}

function showUntil(showing: Showing, end: number, at: EntryAt): void {
  const { marks, parts } = showing;
  const { boundary, committed, snipped } = marks;
  for (; showing.until < end; showing.until += 1) {
    const position = showing.until;
    const entry = at(position) as Entry;
    if (position === boundary?.at && boundary.signed) {
      parts.push({ kind: 'carried', position, text: withTaskList(summaryFollowUp(boundary.from), boundary.tasks) });
      parts.push(...showPrompts(boundary, marks, at));
    }
    while (position >= (committed[showing.stretches]?.to ?? Infinity)) showing.stretches += 1;
    const stretch = committed[showing.stretches];
    const collapsed = stretch !== undefined && position >= stretch.from;
    if (collapsed && position === stretch.from) parts.push(showShort(stretch, at));
    const visible = (!collapsed || isSystemMessage(entry)) && !snipped.has(position);
    if (entry.kind === 'reply') [showing.withReply, showing.reply] = [visible, position];
    const isVisible = entry.kind === 'outcomes' ? showing.withReply : visible && !isOutdated(entry, position, marks);
    if (isVisible && isShown(entry)) parts.push(showEntry(position, entry, marks, showing.reply));
  }
}

function showShort({ from, to, short }: Stretch, at: EntryAt): ShownPart {
  const tasks = taskListOf(Array.from({ length: to - from }, (_, index) => at(from + index) as Entry));
  return { kind: 'short', position: from, to, text: withTaskList(short, tasks) };
}

/**
 * Tells whether a notice is about the preamble of an earlier epoch: the later epoch holds those
 * changes.
 */
function isOutdated(entry: Entry, position: number, { epochAt }: Marks): boolean {
  return position < epochAt && entry.kind === 'notice' && entry.notice.kind === 'preamble_changed';
}

export function isShown(entry: Entry): entry is ShownEntry {
  return entry.kind === 'user' || entry.kind === 'reply' || entry.kind === 'outcomes' || entry.kind === 'notice';
}
