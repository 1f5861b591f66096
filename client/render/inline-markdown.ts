// Parses the inline part of Markdown: which words of a line are strong, emphasised, code or a link.
// It is strict, since models write stars and underscores that mean nothing (`src/*.ts`, `a_b`):
// doubtful markup stays as it was written, and nothing is left out. Pure.

export type TextMark = 'strong' | 'emphasis' | 'struck' | 'code' | 'link' | 'target';

/**
 * `at` is the place in the line. `open` is the markup to put before the rest when the line is
 * broken there; null where it must not be broken.
 */
export type MarkdownSpan = {
  readonly text: string;
  readonly marks: readonly TextMark[];
  readonly at: number;
  readonly open: string | null;
};

const DELIMITERS: readonly (readonly [delimiter: string, mark: TextMark])[] = [
  ['**', 'strong'],
  ['__', 'strong'],
  ['~~', 'struck'],
  ['*', 'emphasis'],
  ['_', 'emphasis'],
];

const DEEPEST = 8;
const BEFORE = /[\s([{"'“‘>:,*_~—–-]/;
const AFTER = /[\s)\]}"'”’.,;:!?*_~—–-]/;
const ESCAPED = /[!-/:-@[-`{-~]/;

type Place = {
  readonly marks: readonly TextMark[];
  readonly open: string | null;
  readonly offset: number;
  readonly depth: number;
};

/** The caller bounds `line`: the time for a line of stars grows faster than its length. */
export function inlineSpans(line: string): readonly MarkdownSpan[] {
  return [...spansIn(line, { marks: [], open: '', offset: 0, depth: 0 })];
}

/** Text within a span stays as it is in the line, so that every place in it is known. */
function* spansIn(line: string, place: Place): Iterable<MarkdownSpan> {
  const { marks, open, offset } = place;
  const closedNowhere = new Set<string>();
  let from = 0;
  const plain = (to: number): readonly MarkdownSpan[] =>
    to > from ? [{ text: line.slice(from, to), marks, at: offset + from, open }] : [];
  for (let at = 0; at < line.length;) {
    if (line[at] === '\\' && ESCAPED.test(line[at + 1] ?? '')) {
      yield* plain(at);
      yield { text: line[at + 1] ?? '', marks, at: offset + at, open: null };
      from = at += 2;
      continue;
    }
    const found = markupAt(line, at, place, closedNowhere);
    if (found === null) at += 1;
    else {
      yield* plain(at);
      yield* spansInside(found, place);
      from = at = found.end;
    }
  }
  yield* plain(line.length);
}

function spansInside(found: Markup, { marks, open, offset, depth }: Place): Iterable<MarkdownSpan> {
  if (typeof found.inner !== 'string') return found.inner;
  const opens = open === null || found.open === null ? null : open + found.open;
  return spansIn(found.inner, {
    marks: [...marks, found.mark],
    open: opens,
    offset: offset + found.from,
    depth: depth + 1,
  });
}

type Markup = {
  readonly mark: TextMark;
  /** Text to parse further, or finished spans. */
  readonly inner: string | readonly MarkdownSpan[];
  readonly open: string | null;
  readonly from: number;
  readonly end: number;
};

function markupAt(line: string, at: number, place: Place, closedNowhere: Set<string>): Markup | null {
  const first = line[at];
  if (first === '`') return codeAt(line, at, place, closedNowhere);
  if (place.depth >= DEEPEST) return null;
  if (first === '[') return linkAt(line, at, place);
  for (const [delimiter, mark] of DELIMITERS) {
    if (!line.startsWith(delimiter, at) || closedNowhere.has(delimiter)) continue;
    const from = at + delimiter.length;
    if (at > 0 && !BEFORE.test(line[at - 1] ?? '')) continue;
    if (/[\s/]/.test(line[from] ?? ' ')) continue;
    const end = closingPlace(line, delimiter, from);
    if (end < 0) closedNowhere.add(delimiter);
    else return { mark, inner: line.slice(from, end), open: delimiter, from, end: end + delimiter.length };
  }
  return null;
}

/** Returns the place of the closing delimiter, or -1. */
function closingPlace(line: string, delimiter: string, from: number): number {
  const single = delimiter.length === 1;
  for (let at = line.indexOf(delimiter, from + 1); at >= 0; at = line.indexOf(delimiter, at + 1)) {
    const [before = '', after = ''] = [line[at - 1], line[at + delimiter.length]];
    if (/[\s/\\]/.test(before)) continue;
    if (single && (before === delimiter || after === delimiter)) continue;
    if (after === '' || AFTER.test(after)) return at;
  }
  return -1;
}

function codeAt(line: string, at: number, { marks, offset, open }: Place, closedNowhere: Set<string>): Markup | null {
  let from = at;
  while (line[from] === '`') from += 1;
  const ticks = line.slice(at, from);
  if (closedNowhere.has(ticks)) return null;
  let end = line.indexOf(ticks, from);
  while (end >= 0 && line[end + ticks.length] === '`') {
    while (line[end] === '`') end += 1;
    end = line.indexOf(ticks, end);
  }
  if (end <= from) {
    closedNowhere.add(ticks);
    return null;
  }
  const text = line.slice(from, end);
  const span: MarkdownSpan = {
    text,
    marks: [...marks, 'code'],
    at: offset + from,
    open: open === null ? null : open + ticks,
  };
  return { mark: 'code', inner: [span], open: ticks, from, end: end + ticks.length };
}

/** Shows the address behind the words, so that a reader sees where the link leads. */
function linkAt(line: string, at: number, { marks, offset }: Place): Markup | null {
  const [whole = '', words = '', target = ''] =
    /^\[([^[\]]{1,500})\]\(([^()\s]{1,1000})\)/.exec(line.slice(at, at + 1_600)) ?? [];
  if (whole === '') return null;
  const place = offset + at;
  const label: MarkdownSpan = { text: words, marks: [...marks, 'link'], at: place, open: null };
  const address: MarkdownSpan = { text: ` (${target})`, marks: [...marks, 'target'], at: place, open: null };
  return {
    mark: 'link',
    inner: words === target ? [label] : [label, address],
    open: null,
    from: at,
    end: at + whole.length,
  };
}
