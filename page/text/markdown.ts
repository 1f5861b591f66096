// Parses the block structure of Markdown as models write it: headings, lists, tables, code, quotes
// and paragraphs. Words within a block are parsed by `inlineSpans`. It reads each line a bounded
// number of times, so that a long text takes time in proportion to its length. Pure.

export type ListItem = {
  /** Whether the box is ticked; null without a box. */
  readonly ticked: boolean | null;
  readonly blocks: readonly MarkdownBlock[];
};

export type MarkdownBlock =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly MarkdownBlock[] }
  | { readonly kind: 'list'; readonly start: number | null; readonly items: readonly ListItem[] }
  | {
      readonly kind: 'table';
      readonly head: readonly string[];
      /** The side of each column; null where the text names none. */
      readonly sides: readonly ColumnSide[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: 'rule' };

type ColumnSide = 'center' | 'right' | null;

/** Levels of quotes and lists within each other; deeper ones are paragraphs. */
const DEEPEST = 6;

export function parseMarkdown(text: string): readonly MarkdownBlock[] {
  return parseLines(text.split('\n'), 0);
}

type Found = { readonly block: MarkdownBlock; readonly next: number };
type Reader = (lines: readonly string[], at: number, depth: number) => Found | null;

function parseLines(lines: readonly string[], depth: number): readonly MarkdownBlock[] {
  const blocks: MarkdownBlock[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) blocks.push({ kind: 'paragraph', text: paragraph.join('\n') });
    paragraph = [];
  };
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    const found = isBlank(line) ? null : readBlock(lines, at, depth);
    if (found) {
      endParagraph();
      blocks.push(found.block);
      at = found.next;
      continue;
    }
    if (isBlank(line)) endParagraph();
    else paragraph.push(line.trim());
    at += 1;
  }
  endParagraph();
  return blocks;
}

function readBlock(lines: readonly string[], at: number, depth: number): Found | null {
  for (const read of READERS) {
    const found = read(lines, at, depth);
    if (found) return found;
  }
  return null;
}

const isBlank = (line: string): boolean => line.trim() === '';
const indentOf = (line: string): number => line.length - line.trimStart().length;

const readFence: Reader = (lines, at) => {
  const line = lines[at] ?? '';
  const [whole = '', fence = ''] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
  const language = line.slice(whole.length);
  if (fence === '' || language.includes('`')) return null;
  const inset = indentOf(line);
  const code: string[] = [];
  for (let next = at + 1; next < lines.length; next += 1) {
    const each = lines[next] ?? '';
    const closing = each.trim();
    if (closing.startsWith(fence) && closing === fence[0]?.repeat(closing.length))
      return { block: codeBlock(language, code), next: next + 1 };
    code.push(each.slice(Math.min(inset, indentOf(each))));
  }
  // A reply that was cut has no closing fence.
  return { block: codeBlock(language, code), next: lines.length };
};

const codeBlock = (language: string, lines: readonly string[]): MarkdownBlock => ({
  kind: 'code',
  language: language.trim().split(/\s/, 1)[0]?.toLowerCase() ?? '',
  text: lines.join('\n'),
});

const readHeading: Reader = (lines, at) => {
  const [, marks = '', text = ''] = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/.exec(lines[at] ?? '') ?? [];
  if (marks === '') return null;
  return { block: { kind: 'heading', level: marks.length, text: withoutEndMarks(text.trim()) }, next: at + 1 };
};

function withoutEndMarks(text: string): string {
  let end = text.length;
  while (text[end - 1] === '#') end -= 1;
  return end < text.length && text[end - 1] === ' ' ? text.slice(0, end).trimEnd() : text;
}

const readRule: Reader = (lines, at) => {
  const marks = (lines[at] ?? '').replaceAll(/[ \t]/g, '');
  const [first = ''] = marks;
  const isRule = marks.length >= 3 && '-*_'.includes(first) && marks === first.repeat(marks.length);
  return isRule ? { block: { kind: 'rule' }, next: at + 1 } : null;
};

const readQuote: Reader = (lines, at, depth) => {
  if (depth >= DEEPEST || !isQuoted(lines[at] ?? '')) return null;
  let next = at;
  const inner: string[] = [];
  while (next < lines.length && isQuoted(lines[next] ?? '')) {
    inner.push((lines[next] ?? '').trimStart().slice(1).replace(/^ /, ''));
    next += 1;
  }
  return { block: { kind: 'quote', blocks: parseLines(inner, depth + 1) }, next };
};

const isQuoted = (line: string): boolean => /^ {0,3}>/.test(line);

const BULLET = /^([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(?=\S)/;

const readList: Reader = (lines, at, depth) => {
  const first = BULLET.exec(lines[at] ?? '');
  if (first === null || depth >= DEEPEST) return null;
  const [, inset = '', bullet = ''] = first;
  const isOrdered = /\d/.test(bullet);
  const items: string[][] = [];
  let next = at;
  while (next < lines.length) {
    const line = lines[next] ?? '';
    const mark = BULLET.exec(line);
    const isItem = mark !== null && (mark[1] ?? '').length <= inset.length && /\d/.test(mark[2] ?? '') === isOrdered;
    if (isItem) items.push([line.slice(mark[0].length)]);
    else if (!isContinued(lines, next, inset.length)) break;
    else items.at(-1)?.push(line.slice(Math.min(indentOf(line), first[0].length)));
    next += 1;
  }
  const start = isOrdered ? Number.parseInt(bullet, 10) : null;
  return { block: { kind: 'list', start, items: items.map((item) => readItem(item, depth)) }, next };
};

/**
 * Tells whether a line belongs to the item before it: it is indented, or blank before such a line.
 */
function isContinued(lines: readonly string[], at: number, inset: number): boolean {
  const line = lines[at] ?? '';
  if (!isBlank(line)) return indentOf(line) > inset;
  const after = lines[at + 1] ?? '';
  return !isBlank(after) && (indentOf(after) > inset || BULLET.test(after));
}

function readItem([first = '', ...rest]: readonly string[], depth: number): ListItem {
  const [box = '', tick] = /^\[([ xX])\][ \t]+/.exec(first) ?? [];
  const blocks = parseLines([first.slice(box.length), ...rest], depth + 1);
  return { ticked: tick === undefined ? null : tick !== ' ', blocks };
}

const readTable: Reader = (lines, at) => {
  const head = cellsOf(lines[at] ?? '');
  if (head === null || !isTableRule(lines[at + 1] ?? '')) return null;
  const rows: (readonly string[])[] = [];
  let next = at + 2;
  for (; next < lines.length; next += 1) {
    const row = cellsOf(lines[next] ?? '');
    if (row === null) break;
    rows.push(head.map((_, column) => row[column] ?? ''));
  }
  const marks = cellsOf(lines[at + 1] ?? '') ?? [];
  const sides = head.map((_, column) => sideOf(marks[column] ?? ''));
  return { block: { kind: 'table', head, sides, rows }, next };
};

function sideOf(mark: string): ColumnSide {
  if (!mark.endsWith(':')) return null;
  return mark.startsWith(':') ? 'center' : 'right';
}

const isTableRule = (line: string): boolean => line.includes('-') && line.includes('|') && /^[|\s:-]+$/.test(line);

const MOST_COLUMNS = 30;

/** Returns null for a line that is no row of a table. */
function cellsOf(line: string): readonly string[] | null {
  const row = line.trim();
  if (row.length < 3 || !row.startsWith('|') || !row.endsWith('|')) return null;
  const cells: string[] = [];
  let cell = '';
  for (const part of row.slice(1, -1).split('|')) {
    if (part.endsWith('\\')) cell += `${part.slice(0, -1)}|`;
    else {
      cells.push((cell + part).trim());
      cell = '';
    }
  }
  return cells.slice(0, MOST_COLUMNS);
}

const READERS: readonly Reader[] = [readFence, readHeading, readRule, readQuote, readList, readTable];
