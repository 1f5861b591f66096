// The part of a large result, or message, that the model is shown (L6). Pure: the same one always
// gives the same preview, so the prompt cache stays valid.

/** Characters of one result the model is sent whole (L6). */
export const RESULT_LIMIT = 50_000;
/** Characters of a larger one that its preview keeps. */
export const PREVIEW_LIMIT = 10_000;

const STORED = /^perdure:result\/([0-9a-f]{64})$/;

/** The path that the read tool takes for a stored result. */
export function resultName(hash: string): string {
  return `perdure:result/${hash}`;
}

/** The hash in a name made by `resultName`; undefined for anything else. */
export function resultHash(name: string): string | undefined {
  return STORED.exec(name)?.[1];
}

/**
 * Head and tail of `text`, about `limit` characters together, and a line saying how large it is and
 * where the rest can be read.
 */
export function previewText(text: string, limit: number, name: string, what: 'result' | 'message' = 'result'): string {
  if (text.length <= limit) return text;
  const head = text.slice(0, headEnd(text, Math.ceil(limit * 0.6)));
  const tail = text.slice(tailStart(text, Math.max(head.length, text.length - Math.floor(limit * 0.4))));
  return [
    head,
    `[… ${group(text.length - head.length - tail.length)} characters left out …]`,
    tail,
    `[The ${what} is large: ${group(text.length)} characters, ${group(Buffer.byteLength(text))} bytes, ${group(countLines(text))} lines. ` +
      `All of it was kept: read the rest with the read tool at path "${name}", using offset and limit.]`,
  ].join('\n');
}

/**
 * Cut after a line if one ends in the second half of what may be kept, and never inside a surrogate
 * pair.
 */
function headEnd(text: string, most: number): number {
  const line = text.lastIndexOf('\n', most);
  if (line > most / 2) return line;
  return isHigh(text.charCodeAt(most - 1)) ? most - 1 : most;
}

function tailStart(text: string, least: number): number {
  const line = text.indexOf('\n', least);
  if (line !== -1 && line < least + (text.length - least) / 2) return line + 1;
  return isHigh(text.charCodeAt(least - 1)) ? least + 1 : least;
}

/** A last line without its newline counts. */
export function countLines(text: string): number {
  let lines = text === '' || text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function group(n: number): string {
  return n.toLocaleString('en-US');
}
