import { present } from '../../workflows/contract/present.ts';
// Reads the text results of the glob and grep tools: lines, a summary in brackets, then what could
// not be searched. A result that was too large arrives as its head and tail, with notes between and
// after them.

/** `complete`: every path is included. */
type Listing = { readonly paths: readonly string[]; readonly complete: boolean };

const LISTED = /^\(([\d,]+) files?(, first [\d,]+ shown)?\)$/;
const COUNTED = /^\(([\d,]+) match(?:es)? in ([\d,]+) files?(?:, first [\d,]+ shown)?\)$/;
const NONE = /^\(no (?:files|matches|files match)\)$/;
/** The notes around a preview. */
const PREVIEW = /^\[(?:… [\d,]+ characters left out …|The result is large: .*)\]$/;

export function readListing(output: string): Listing {
  const { lines, summary, notes } = splitOutput(output, LISTED);
  const paths = lines.filter((line) => !PREVIEW.test(line));
  const cut = summary === undefined || LISTED.exec(summary)?.[2] !== undefined;
  return { paths, complete: !cut && paths.length === lines.length && notes.length === 0 };
}

/** `note` says why the count may be too small. */
export type LineCount = { readonly lines: number; readonly files: number; readonly note?: string };

/** Returns undefined when the output has no summary. */
export function readCount(output: string): LineCount | undefined {
  const { summary, notes } = splitOutput(output, COUNTED);
  if (summary === undefined) return undefined;
  const [, lines, files] = COUNTED.exec(summary) ?? [];
  const [note] = notes.filter((line) => !PREVIEW.test(line));
  return { lines: parseCount(lines), files: parseCount(files), ...present({ note }) };
}

/** Splits an output. Its last line that looks like a summary is the summary. */
function splitOutput(
  output: string,
  summary: RegExp,
): { lines: string[]; summary: string | undefined; notes: string[] } {
  const all = output.split(/\r?\n/).filter((line) => line.trim() !== '');
  const end = all.findLastIndex((line) => summary.test(line) || NONE.test(line));
  if (end < 0) return { lines: all, summary: undefined, notes: [] };
  return { lines: all.slice(0, end), summary: all[end], notes: all.slice(end + 1) };
}

function parseCount(digits: string | undefined): number {
  return digits === undefined ? 0 : Number(digits.replaceAll(',', ''));
}
