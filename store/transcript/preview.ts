// Cuts a large result or message to the part that the model is shown (L6). It is pure: the same
// text always gives the same preview, so the prompt cache stays valid.
import { chooseErrorLines, listErrorLines } from '../../system/error-lines.ts';

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
