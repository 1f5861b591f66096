// Edits the cells of a notebook by the text that read shows of them: the source of a cell is
// replaced where it stands in the JSON, and every other byte of the file stays.
import { isNotebookText, locateCells, readSource } from './notebook.ts';
import { type Replacement, replaceText } from './replace-text.ts';

type Options = { readonly all: boolean; readonly most: number };

/**
 * Replaces text in the sources of cells, with lines as read shows them; `absent` where no cell has
 * it, and undefined where the text is no notebook.
 */
export function replaceInCells(text: string, before: string, after: string, options: Options): Replacement | undefined {
  const places = locateCells(text);
  if (places === null) return undefined;
  const found = places.flatMap(({ source, line }, index) => {
    const replaced = replaceText(Buffer.from(source), before, after, { ...options, all: true });
    return replaced.kind === 'absent' ? [] : [{ index, line, replaced }];
  });
  const [first] = found;
  if (first === undefined) return { kind: 'absent' };
  const lines: number[] = [];
  const edits: Edit[] = [];
  for (const { index, line, replaced } of found) {
    if (replaced.kind !== 'replaced') return replaced;
    lines.push(...replaced.lines.map((one) => line + one - 1));
    edits.push({ index, source: replaced.bytes.toString('utf8') });
  }
  if (lines.length > 1 && !options.all) return { kind: 'ambiguous', lines };
  const bytes = Buffer.from(writeSources(text, edits));
  return bytes.length > options.most ? { kind: 'too_large' } : { kind: 'replaced', bytes, lines };
}

/** Tells whether a change of the text turns a notebook into an invalid one. */
export const breaksNotebook = (before: string, after: string): boolean =>
  isNotebookText(before) && !isNotebookText(after);

type Edit = { readonly index: number; readonly source: string };

function writeSources(text: string, edits: readonly Edit[]): string {
  const cells = findMember(text, spanOfAll(text), 'cells');
  const spans = cells === undefined ? [] : listElements(text, cells);
  const parts: string[] = [];
  let from = 0;
  for (const { index, source } of edits) {
    const span = spans[index] && findMember(text, spans[index], 'source');
    if (span === undefined) continue;
    parts.push(text.slice(from, span.start), writeSource(text, span, source));
    from = span.end;
  }
  return [...parts, text.slice(from)].join('');
}

/**
 * Writes a source as the one before it was written: as a text, or as lines between the same blanks.
 */
function writeSource(text: string, span: Span, source: string): string {
  if (text[span.start] === '"') return JSON.stringify(source);
  const old = listElements(text, span).map(({ start, end }) => ({ start, end, raw: text.slice(start, end) }));
  const [first, second] = old;
  const last = old.at(-1);
  if (first === undefined || last === undefined) return JSON.stringify(source.split(/(?<=\n)/));
  const opening = text.slice(span.start, first.start);
  const between = second ? text.slice(first.end, second.start) : `,${opening.slice(1) || ' '}`;
  // A line that stays is written as it was, escapes included.
  const known = new Map(old.map(({ raw }) => [readSource(JSON.parse(raw)), raw]));
  const lines = source === '' ? [] : source.split(/(?<=\n)/).map((line) => known.get(line) ?? JSON.stringify(line));
  return lines.length === 0 ? '[]' : `${opening}${lines.join(between)}${text.slice(last.end, span.end)}`;
}

/** Where a value begins, and where it has ended. */
type Span = { readonly start: number; readonly end: number };

const BLANK = /[\s,:]/;

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && BLANK.test(text[at] as string)) at += 1;
  return at;
}

function skipString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function skipValue(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const now = text[at] as string;
    if (now === '"') at = skipString(text, at) - 1;
    else if (now === '{' || now === '[') depth += 1;
    else if (now === '}' || now === ']') depth -= 1;
    // A number or a word ends before what follows it.
    else if (depth === 0 && !BLANK.test(text[at + 1] ?? ' ') && !/[}\]]/.test(text[at + 1] ?? '')) continue;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** Lists the elements of the list, or keys and values of the object in turn, that stand there. */
function listInner(text: string, { start, end }: Span): readonly Span[] {
  const found: Span[] = [];
  for (let at = skipBlanks(text, start + 1); at < end - 1; at = skipBlanks(text, at)) {
    const after = skipValue(text, at);
    found.push({ start: at, end: after });
    at = after;
  }
  return found;
}

/**
 * Finds where values stand in a JSON text, so that one of them can be replaced and all the rest
 * stays as it was written. For texts that JSON.parse takes.
 */
const spanOfAll = (text: string): Span => ({ start: skipBlanks(text, 0), end: text.trimEnd().length });

function listElements(text: string, span: Span): readonly Span[] {
  return text[span.start] === '[' ? listInner(text, span) : [];
}

/** Finds the value of a key; of a key that is there twice, the last, as JSON.parse does. */
function findMember(text: string, span: Span, key: string): Span | undefined {
  if (text[span.start] !== '{') return undefined;
  const inner = listInner(text, span);
  const at = inner.findLastIndex((one, index) => index % 2 === 0 && JSON.parse(text.slice(one.start, one.end)) === key);
  return at === -1 ? undefined : inner[at + 1];
}
