// The change that a call of `edit` or `write` asks for, against the file as it is now. Pure: the
// file is read elsewhere. Where it cannot be read, the two texts of the call are compared.
import { structuredPatch } from 'diff';

/** Most characters of the two texts together that are compared. */
const MOST_COMPARED = 400_000;
const COMPARE_MS = 200;
/** Most lines of a change that are shown. */
const MOST_LINES = 2_000;
/** Unchanged lines around a change. */
const AROUND = 3;

/** The file that a call is about, as it is now. */
export type FileNow =
  | { readonly kind: 'text'; readonly text: string }
  /** There is no file of this name. */
  | { readonly kind: 'new' }
  /** It lies on another host, or `why` says what keeps it from being shown. */
  | { readonly kind: 'unseen'; readonly why: string };

type Replacement = { readonly before: string; readonly after: string; readonly all: boolean };

/** `content`: the whole file, in place of replacements. */
type WantedChange = {
  readonly path: string;
  readonly replacements: readonly Replacement[];
  readonly content?: string;
};

export type DiffLine = {
  readonly mark: '+' | '-' | ' ';
  /** Numbers of the line before and after, from 1; null where it is not in that text. */
  readonly before: number | null;
  readonly after: number | null;
  readonly text: string;
  /** The part of a changed line that differs from the line in its place, as positions. */
  readonly differs?: readonly [from: number, to: number];
};

/** `at`: the first line of the hunk, before and after; 0 where line numbers are not known. */
type Hunk = { readonly at: readonly [before: number, after: number]; readonly lines: readonly DiffLine[] };

export type PreviewedChange = {
  readonly path: string;
  readonly isNew: boolean;
  readonly hunks: readonly Hunk[];
  readonly added: number;
  readonly removed: number;
  /** Lines that are not shown, because there are too many. */
  readonly left: number;
  /** Says why the call would not apply to the file as it is now. */
  readonly problem?: string;
  /** Says why the file itself is not compared. */
  readonly note?: string;
};

const EDITS = new Set(['edit', 'multi_edit', 'multiedit']);
const FIELDS = new Set(['path', 'file_path', 'old_string', 'new_string', 'replace_all', 'content', 'edits']);

/** Reads the wanted change from a call's input; null for another tool or another shape. */
export function readWanted(tool: string, input: unknown): WantedChange | null {
  const fields = asRecord(input);
  const { path: named, file_path: other, content, edits } = fields;
  const path = typeof named === 'string' ? named : other;
  if (typeof path !== 'string' || Object.keys(fields).some((name) => !FIELDS.has(name))) return null;
  const name = tool.toLowerCase();
  if (name === 'write') return typeof content === 'string' ? { path, replacements: [], content } : null;
  if (!EDITS.has(name)) return null;
  const requested: readonly unknown[] = Array.isArray(edits) ? edits : [fields];
  const replacements = requested.flatMap((one) => readReplacement(asRecord(one)));
  return replacements.length === requested.length && requested.length > 0 ? { path, replacements } : null;
}

function readReplacement(fields: Readonly<Record<string, unknown>>): readonly Replacement[] {
  const { old_string: before, new_string: after, replace_all: all } = fields;
  if (typeof before !== 'string' || typeof after !== 'string') return [];
  return [{ before, after, all: all === true }];
}

/** Compares what the call wants with the file as it is now. */
export function compareFile({ path, replacements, content }: WantedChange, file: FileNow): PreviewedChange {
  if (content !== undefined) {
    const before = file.kind === 'text' ? unixLines(file.text) : '';
    const change = compareTexts(before, unixLines(content), file.kind !== 'unseen');
    return { path, isNew: file.kind === 'new', ...change, ...(file.kind === 'unseen' && { note: file.why }) };
  }
  const own = (more: Pick<PreviewedChange, 'problem' | 'note'>): PreviewedChange => ({
    path,
    isNew: false,
    ...joinChanges(replacements.map(({ before, after }) => compareTexts(unixLines(before), unixLines(after), false))),
    ...more,
  });
  if (file.kind === 'unseen') return own({ note: file.why });
  if (file.kind === 'new') return own({ problem: 'there is no such file' });
  const before = unixLines(file.text);
  let after = before;
  for (const replacement of replacements) {
    const replaced = replaceOnce(after, replacement);
    if ('problem' in replaced) return own(replaced);
    after = replaced.text;
  }
  return { path, isNew: false, ...compareTexts(before, after, true) };
}

function replaceOnce(
  text: string,
  { before, after, all }: Replacement,
): { readonly text: string } | { readonly problem: string } {
  const parts = text.split(unixLines(before));
  if (before === '' || parts.length === 1) return { problem: 'the text to replace is not in the file' };
  if (parts.length > 2 && !all) return { problem: `the text to replace is in the file ${parts.length - 1} times` };
  return { text: parts.join(unixLines(after)) };
}

type Compared = Pick<PreviewedChange, 'hunks' | 'added' | 'removed' | 'left'>;

const nothing: Compared = { hunks: [], added: 0, removed: 0, left: 0 };

function joinChanges(changes: readonly Compared[]): Compared {
  return changes.reduce(
    (all, one) => ({
      hunks: [...all.hunks, ...one.hunks],
      added: all.added + one.added,
      removed: all.removed + one.removed,
      left: all.left + one.left,
    }),
    nothing,
  );
}

/** `numbered`: the texts are whole files, so that lines have numbers. */
function compareTexts(before: string, after: string, numbered: boolean): Compared {
  const patch =
    before.length + after.length <= MOST_COMPARED
      ? structuredPatch('', '', before, after, '', '', { context: AROUND, timeout: COMPARE_MS })
      : undefined;
  const hunks = patch?.hunks ?? [replaceAll(before, after)];
  let room = MOST_LINES;
  const counted = { added: 0, removed: 0, left: 0 };
  const visible: Hunk[] = [];
  for (const { oldStart, newStart, lines: raw } of hunks) {
    const lines = numberLines(raw, numbered ? [oldStart, newStart] : null);
    counted.added += lines.filter(({ mark }) => mark === '+').length;
    counted.removed += lines.filter(({ mark }) => mark === '-').length;
    const marked = markDifferences(lines.slice(0, room));
    counted.left += lines.length - marked.length;
    room -= marked.length;
    if (marked.length > 0) visible.push({ at: numbered ? [oldStart, newStart] : [0, 0], lines: marked });
  }
  return { hunks: visible, ...counted };
}

type RawHunk = { readonly oldStart: number; readonly newStart: number; readonly lines: readonly string[] };

function replaceAll(before: string, after: string): RawHunk {
  const lines = (text: string, mark: string): string[] =>
    text === ''
      ? []
      : text
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => mark + line);
  return { oldStart: 1, newStart: 1, lines: [...lines(before, '-'), ...lines(after, '+')] };
}

function numberLines(raw: readonly string[], at: readonly [before: number, after: number] | null): DiffLine[] {
  let [before, after] = at ?? [0, 0];
  return raw.flatMap((line): DiffLine[] => {
    const [mark] = line;
    // A line such as "\ No newline at end of file" is about the one before it.
    if (mark !== '+' && mark !== '-' && mark !== ' ') return [];
    const numbers = { before: at && mark !== '+' ? before : null, after: at && mark !== '-' ? after : null };
    if (mark !== '+') before += 1;
    if (mark !== '-') after += 1;
    return [{ mark, ...numbers, text: line.slice(1) }];
  });
}

/** Marks the words that differ where as many lines were added as were removed. */
function markDifferences(lines: readonly DiffLine[]): readonly DiffLine[] {
  const marked = [...lines];
  for (let from = 0; from < marked.length; from += 1) {
    if (marked[from]?.mark !== '-') continue;
    const removed = runOf(marked, from, '-');
    const added = runOf(marked, from + removed, '+');
    if (removed === added)
      for (let nth = 0; nth < removed; nth += 1) markPair(marked, from + nth, from + removed + nth);
    from += removed + added - 1;
  }
  return marked;
}

function runOf(lines: readonly DiffLine[], from: number, mark: DiffLine['mark']): number {
  let count = 0;
  while (lines[from + count]?.mark === mark) count += 1;
  return count;
}

function markPair(lines: DiffLine[], removed: number, added: number): void {
  const [one, other] = [lines[removed], lines[added]];
  if (!one || !other) return;
  const most = Math.min(one.text.length, other.text.length);
  let start = 0;
  while (start < most && one.text[start] === other.text[start]) start += 1;
  let end = 0;
  while (end < most - start && one.text.at(-1 - end) === other.text.at(-1 - end)) end += 1;
  if (start + end === 0) return;
  lines[removed] = { ...one, differs: [start, one.text.length - end] };
  lines[added] = { ...other, differs: [start, other.text.length - end] };
}

const unixLines = (text: string): string => text.replaceAll('\r\n', '\n');

export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
