// Reads the text results of the glob and grep tools. A result that was too large arrives as its head and tail, with notes
// between and after them: the last line that looks like a summary counts.

/** `complete`: every path is there. */
export type Listing = { readonly paths: readonly string[]; readonly complete: boolean };

const LISTED = /^\(([\d,]+) files?(, first [\d,]+ shown)?\)$/;
const NONE = /^\(no (?:files|matches|files match)\)$/;
const COUNTED = /^\(([\d,]+) match(?:es)? in ([\d,]+) files?\b.*\)$/;
const NOTE = /^\[(?:… [\d,]+ characters left out …|The result is large: .*)\]$/;

export function readListing(output: string): Listing {
  const lines = linesOf(output);
  const end = lines.findLastIndex((line) => LISTED.test(line) || NONE.test(line));
  const paths = lines.filter((line, index) => index !== end && !NOTE.test(line));
  const summary = LISTED.exec(lines[end] ?? '');
  const whole = !lines.some((line) => NOTE.test(line)) && summary?.[2] === undefined;
  return { paths, complete: whole };
}

export type Count = { readonly lines: number; readonly files: number };

/** Undefined when the output has no summary line. */
export function readCount(output: string): Count | undefined {
  const summary = linesOf(output).findLast((line) => COUNTED.test(line) || NONE.test(line));
  if (summary === undefined) return undefined;
  const [, lines, files] = COUNTED.exec(summary) ?? [];
  return { lines: number(lines), files: number(files) };
}

function linesOf(output: string): readonly string[] {
  return output.split(/\r?\n/).filter((line) => line.trim() !== '');
}

function number(digits: string | undefined): number {
  return digits === undefined ? 0 : Number(digits.replaceAll(',', ''));
}
