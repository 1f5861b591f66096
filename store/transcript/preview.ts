// Cuts a large result or message to the part that the model is shown (L6), with the lines of the
// rest that look like errors. It is pure: the same text always gives the same preview, so the
// prompt cache stays valid.
import { toUSVString } from 'node:util';

/** Characters of the largest result that the model is sent whole (L6). */
export const RESULT_LIMIT = 50_000;
/** Characters that the preview of a larger one keeps. */
export const PREVIEW_LIMIT = 10_000;

const STORED = /^perdure:result\/([0-9a-f]{64})$/;

/** Returns the path that the read tool takes for a stored result. */
export function resultName(hash: string): string {
  return `perdure:result/${hash}`;
}

/** Returns the hash in a name made by `resultName`; undefined for any other text. */
export function resultHash(name: string): string | undefined {
  return STORED.exec(name)?.[1];
}

/** The share of a preview that lines of the middle get when they look like errors. */
const ERROR_SHARE = 0.2;

/**
 * Returns head and tail of `text`, about `limit` characters together, and a line saying how large
 * it is and where the rest can be read. Of a result the lines between them that look like errors
 * are kept, with their numbers.
 */
export function previewText(text: string, limit: number, name: string, what: 'result' | 'message' = 'result'): string {
  if (text.length <= limit) return text;
  const room = Math.floor(limit * ERROR_SHARE);
  const errors = what === 'result' ? errorsBetween(text, clipMiddle(text, limit - room), room) : [];
  const { head, tail } = clipMiddle(text, errors.length === 0 ? limit : limit - room);
  const cut = `${groupDigits(text.length - head.length - tail.length)} characters left out`;
  return [
    head,
    ...(errors.length === 0 ? [`[… ${cut} …]`] : [`[… ${cut}, except for these lines: …]`, ...errors, '[…]']),
    tail,
    `[The ${what} is large: ${groupDigits(text.length)} characters, ${groupDigits(Buffer.byteLength(text))} bytes, ${groupDigits(countLines(text))} lines. ` +
      `All of it was kept: read the rest with the read tool at path "${name}", using offset and limit.]`,
  ].join('\n');
}

function errorsBetween(text: string, { head, tail }: Ends, room: number): readonly string[] {
  const middle = text.slice(head.length, text.length - tail.length);
  return chooseErrorLines(listErrorLines(middle, head.split('\n').length), room);
}

type Ends = { readonly head: string; readonly tail: string };

function clipMiddle(text: string, limit: number): Ends {
  const head = text.slice(0, headEnd(text, Math.ceil(limit * 0.6)));
  return { head, tail: text.slice(tailStart(text, Math.max(head.length, text.length - Math.floor(limit * 0.4)))) };
}

/**
 * Cuts after a line if one ends in the second half of what may be kept, and never inside a
 * surrogate pair.
 */
function headEnd(text: string, most: number): number {
  const line = text.lastIndexOf('\n', most);
  if (line > most / 2) return line;
  return isHighSurrogate(text.charCodeAt(most - 1)) ? most - 1 : most;
}

function tailStart(text: string, least: number): number {
  const line = text.indexOf('\n', least);
  if (line !== -1 && line < least + (text.length - least) / 2) return line + 1;
  return isHighSurrogate(text.charCodeAt(least - 1)) ? least + 1 : least;
}

/** Counts lines; a last line without its newline counts. */
export function countLines(text: string): number {
  let lines = text === '' || text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function groupDigits(n: number): string {
  return n.toLocaleString('en-US');
}

const ERROR =
  /\b(?:err(?:or)?s?|fail(?:ed|s|ure|ures)?|fatal|panic(?:ked)?|exceptions?|traceback|abort(?:ed)?|denied|undefined reference|segmentation fault|core dumped|not found|no such file|no space left|unable to|cannot|can't|could not|killed)\b|[a-z](?:Error|Exception)\b|[✖✗✘]/i;
/** Matches a count of none, as in a summary. */
const NONE =
  /\b(?:0|no) (?:\w+ )?(?:errors?|failures?|failed|failing|exceptions?)\b|\b(?:errors?|failures?|failed)[:=] ?0\b/gi;
/** Characters that are looked at, and shown, of one line. */
const MOST_OF_LINE = 300;
/** The first errors often are the cause of the others. */
const FIRST_SHARE = 0.7;

type ErrorLine = { readonly number: number; readonly text: string };

/** Lists lines that look like errors, each text once. The first line of `text` is `from`. */
export function listErrorLines(text: string, from = 1): readonly ErrorLine[] {
  if (!ERROR.test(text)) return [];
  const found = new Map<string, ErrorLine>();
  for (let [number, start] = [from, 0]; start < text.length; number++) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end === -1 ? undefined : end).slice(0, MOST_OF_LINE);
    if (isErrorLine(line) && !found.has(line)) found.set(line, { number, text: toUSVString(line.trimEnd()) });
    start = end === -1 ? text.length : end + 1;
  }
  return [...found.values()];
}

/** Chooses of `lines` the first and the last ones that fit into `room` characters, in order. */
function chooseErrorLines(lines: readonly ErrorLine[], room: number): readonly string[] {
  const numbered = lines.map(({ number, text }) => `${number}: ${text}`);
  const first = takeFitting(numbered, room * FIRST_SHARE);
  const last = takeFitting(numbered.slice(first.length).toReversed(), room * (1 - FIRST_SHARE));
  return [...first, ...last.toReversed()];
}

function takeFitting(lines: readonly string[], room: number): string[] {
  let left = room;
  const end = lines.findIndex((line) => (left -= line.length + 1) < 0);
  return lines.slice(0, end === -1 ? undefined : end);
}

function isErrorLine(line: string): boolean {
  return ERROR.test(line) && ERROR.test(line.replaceAll(NONE, ''));
}
