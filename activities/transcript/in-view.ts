// Which entries of a transcript the model sees, in order, and what stands for those it does not (L5, L7, L9, L10). Outcomes go
// with their reply: hidden with it, shown with it.
import type { Entry, ReplyEntry } from './entries.ts';
import { type Marks, readMarks, type Stretch } from './marks.ts';

export type Shown =
  /** `cut`: so many characters of a message that was too large for its run (L6). */
  | { readonly kind: 'entry'; readonly position: number; readonly entry: ShownEntry; readonly cut?: number }
  /** A boundary's summary: it stands for what was before `position`. */
  | { readonly kind: 'summary'; readonly position: number; readonly text: string }
  /** The short form of a committed stretch, which begins at `position` and ends before `to`. */
  | { readonly kind: 'short'; readonly position: number; readonly to: number; readonly text: string };

/** Kinds that can be seen; the others keep the books. */
export type ShownEntry = Extract<Entry, { kind: 'user' | 'reply' | 'outcomes' | 'notice' }>;

export type InView = { readonly shown: readonly Shown[]; readonly marks: Marks };

export function inView(entries: readonly Entry[]): InView {
  const marks = readMarks(entries);
  const snipped = marks.snipped.size === 0 ? marks.snipped : closedSnips(entries, marks.snipped);
  const shown: Shown[] = [];
  if (marks.boundary) {
    const { from, summary, prompts } = marks.boundary;
    shown.push({ kind: 'summary', position: from, text: summary });
    for (const position of prompts) {
      if (!snipped.has(position)) shown.push(entryAt(position, entries[position] as ShownEntry, marks));
    }
  }
  pushFrom(shown, entries, marks, snipped);
  return { shown, marks };
}

function entryAt(position: number, entry: ShownEntry, { cut }: Marks): Shown {
  const most = cut.get(position);
  return { kind: 'entry', position, entry, ...(most === undefined ? {} : { cut: most }) };
}

function pushFrom(shown: Shown[], entries: readonly Entry[], marks: Marks, snipped: ReadonlySet<number>): void {
  const { committed: stretches } = marks;
  const from = marks.boundary?.from ?? 0;
  let next = 0;
  let withReply = false;
  for (let position = from; position < entries.length; position += 1) {
    const entry = entries[position] as Entry;
    while (next < stretches.length && position >= (stretches[next] as Stretch).to) next += 1;
    const stretch = stretches[next];
    const collapsed = stretch !== undefined && position >= stretch.from;
    if (collapsed && position === stretch.from) {
      shown.push({ kind: 'short', position, to: stretch.to, text: stretch.short });
    }
    const visible = !collapsed && !snipped.has(position);
    if (entry.kind === 'reply') withReply = visible;
    const seen = entry.kind === 'outcomes' ? withReply : visible;
    if (seen && isShown(entry)) shown.push(entryAt(position, entry, marks));
  }
}

export function isShown(entry: Entry): entry is ShownEntry {
  return entry.kind === 'user' || entry.kind === 'reply' || entry.kind === 'outcomes' || entry.kind === 'notice';
}

/** A reply of a trajectory with signed thinking that still goes on is not taken out of it (L59). */
function closedSnips(entries: readonly Entry[], snipped: ReadonlySet<number>): ReadonlySet<number> {
  const open = openTrajectory(entries);
  if (open === null || !open.signed) return snipped;
  return new Set([...snipped].filter((each) => each < open.from || entries[each]?.kind !== 'reply'));
}

/** From its first reply; null when the last reply of the transcript made no call, or a new run has begun since. */
export function openTrajectory(entries: readonly Entry[]): { readonly from: number; readonly signed: boolean } | null {
  let from: number | null = null;
  let signed = false;
  for (let position = entries.length - 1; position >= 0; position -= 1) {
    const entry = entries[position] as Entry;
    if (entry.kind === 'run_started') break;
    if (entry.kind !== 'reply') continue;
    if (!hasCalls(entry)) break;
    from = position;
    signed ||= hasThinking(entry);
  }
  return from === null ? null : { from, signed };
}

export function hasCalls({ message }: ReplyEntry): boolean {
  return message.content.some(({ type }) => type === 'tool_use');
}

export function hasThinking({ message }: ReplyEntry): boolean {
  return message.content.some(({ type }) => type === 'thinking' || type === 'redacted_thinking');
}
