// Finds which entries of a transcript the model sees, in order, and what stands for the others (L5,
// L7, L9, L10). Outcomes go with their reply: hidden with it, shown with it.
import { present } from '../../workflows/contract/present.ts';
import type { Entry, SignedSummary } from '../log/entries.ts';
import { type Bounds, type Marks, readMarks, type Stretch } from '../transcript/marks.ts';
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

export type InView = { readonly shown: readonly ShownPart[]; readonly marks: Marks };

export function inView(entries: readonly Entry[]): InView {
  const marks = readMarks(entries);
  const { snipped } = marks;
  const shown: ShownPart[] = [];
  if (marks.boundary) {
    const { from, summary, tasks } = marks.boundary;
    const signed = usableSignedSummary(marks);
    const isCarried = marks.boundary.signed !== undefined;
    const text = isCarried ? summary : withTaskList(summary, tasks);
    shown.push({ kind: 'summary', position: from, text, ...(signed && { signed }) });
    if (!isCarried) shown.push(...showPrompts(marks.boundary, entries, marks));
  }
  pushEntries(shown, entries, marks, snipped);
  return { shown, marks };
}

/** Returns the signed summary, unless a server has refused it: then it is said in words. */
function usableSignedSummary({ boundary, refusedAt }: Marks): SignedSummary | undefined {
  return boundary && boundary.at > refusedAt ? boundary.signed : undefined;
}

function showPrompts({ prompts }: Bounds, entries: readonly Entry[], marks: Marks): ShownPart[] {
  return prompts
    .filter((position) => !marks.snipped.has(position))
    .map((position) => showEntry(position, entries[position] as ShownEntry, marks, -1));
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

function pushEntries(shown: ShownPart[], entries: readonly Entry[], marks: Marks, snipped: ReadonlySet<number>): void {
  const { committed: stretches } = marks;
  const from = marks.boundary?.from ?? 0;
  let next = 0;
  let withReply = false;
  let reply = -1;
  for (let position = from; position < entries.length; position += 1) {
    const entry = entries[position] as Entry;
    if (position === marks.boundary?.at && marks.boundary.signed) {
      shown.push({
        kind: 'carried',
        position,
        text: withTaskList(summaryFollowUp(marks.boundary.from), marks.boundary.tasks),
      });
      shown.push(...showPrompts(marks.boundary, entries, marks));
    }
    while (next < stretches.length && position >= (stretches[next] as Stretch).to) next += 1;
    const stretch = stretches[next];
    const collapsed = stretch !== undefined && position >= stretch.from;
    if (collapsed && position === stretch.from) {
      const tasks = taskListOf(entries.slice(position, stretch.to));
      shown.push({ kind: 'short', position, to: stretch.to, text: withTaskList(stretch.short, tasks) });
    }
    const visible = !collapsed && !snipped.has(position);
    if (entry.kind === 'reply') [withReply, reply] = [visible, position];
    const seen = entry.kind === 'outcomes' ? withReply : visible && !isOutdated(entry, position, marks);
    if (seen && isShown(entry)) shown.push(showEntry(position, entry, marks, reply));
  }
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
