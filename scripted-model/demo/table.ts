// The table of lines per folder, from what the tools really answered. What could not be counted is
// said, not guessed.
import { chooseFolders, isNotOurs, type DoneCall } from './rounds.ts';

const EVERYTHING_ELSE = 'everything else';

type Row = { readonly folder: string } & ({ readonly count: Count } | { readonly failure: string });

export type Table = {
  readonly rows: readonly Row[];
  readonly total: Count;
  /** The parts that the numbers lack because something failed. */
  readonly failures: readonly string[];
  /** Folders left out on purpose. */
  readonly notOurs: readonly string[];
};

type Survey = {
  readonly paths: readonly string[];
  /** Those are all paths there are. */
  readonly complete: boolean;
  readonly failures: readonly string[];
};

/** The files that all glob calls found together. */
export function surveyCalls(calls: readonly DoneCall[]): Survey {
  const globs = calls.filter((call) => call.name === 'glob');
  const listings = globs.filter((call) => !call.isError).map((call) => readListing(call.output));
  const failed = globs.filter((call) => call.isError);
  return {
    paths: [...new Set(listings.flatMap((listing) => listing.paths))],
    complete: failed.length === 0 && listings.every((listing) => listing.complete),
    failures: failed.map((call) => `looking for files failed: ${firstLine(call.output)}`),
  };
}

export function makeTable(calls: readonly DoneCall[]): Table {
  const found = surveyCalls(calls);
  const counted = calls.filter((call) => call.name === 'grep').map(rowOf);
  const whole = counted.find((row) => row.folder === '.');
  const parts = counted.filter((row) => row.folder !== '.');
  const folders = parts.filter((row) => !isNotOurs(row.folder));
  const rest = whole !== undefined && 'count' in whole ? remainder(whole.count, parts) : undefined;
  const rows: Row[] = [...folders, ...(rest === undefined ? [] : [{ folder: restName(rest, found), count: rest }])];
  const lost = whole !== undefined && 'failure' in whole ? [`the files outside these folders: ${whole.failure}`] : [];
  const partly = counted.flatMap((row) =>
    'count' in row && row.count.note ? [`${row.folder}: ${row.count.note}`] : [],
  );
  const notOurs = parts.filter((row) => isNotOurs(row.folder)).map((row) => row.folder);
  return { rows, total: sum(rows), failures: [...found.failures, ...lost, ...partly], notOurs };
}

/** The project's own folder, when the rest is known to lie directly in it. */
function restName(rest: Count, { paths, complete }: Survey): string {
  const direct = paths.filter((path) => !path.includes('/')).length;
  return complete && chooseFolders(paths).covers && rest.files === direct ? '.' : EVERYTHING_ELSE;
}

export function firstLine(text: string): string {
  const line = text.trim().split('\n')[0] ?? '';
  if (line === '') return 'no reason given';
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

function rowOf(call: DoneCall): Row {
  const folder = String(call.input['path']);
  if (call.isError) return { folder, failure: firstLine(call.output) };
  const count = readCount(call.output);
  return count === undefined ? { folder, failure: 'the count could not be read' } : { folder, count };
}

/**
 * The files outside the parts. Unknown when one of them is, or when files changed between the
 * counts.
 */
function remainder(whole: Count, parts: readonly Row[]): Count | undefined {
  if (parts.some((row) => 'failure' in row)) return undefined;
  const inside = sum(parts);
  const rest = { lines: whole.lines - inside.lines, files: whole.files - inside.files };
  return rest.files > 0 && rest.lines >= 0 ? rest : undefined;
}

function sum(rows: readonly Row[]): Count {
  const counts = rows.flatMap((row) => ('count' in row ? [row.count] : []));
  return counts.reduce((a, b) => ({ lines: a.lines + b.lines, files: a.files + b.files }), { lines: 0, files: 0 });
}

// Writes a table: the file, and a sentence about it.

export function tableText(table: Table): string {
  const { rows, total, failures, notOurs } = table;
  const head = ['# Lines of source code', ''];
  const left =
    notOurs.length > 0 ? ['', `Left out, as not this project's own source: ${notOurs.map(cell).join(', ')}`] : [];
  const tail = [...failures.flatMap((failure) => ['', `Not counted: ${failure}`]), ...left, ''];
  if (rows.length === 0) return [...head, nothing(table), ...tail].join('\n');
  const lines = rows.map((row) =>
    'count' in row
      ? `| ${cell(row.folder)} | ${row.count.files} | ${row.count.lines} |`
      : `| ${cell(row.folder)} | could not be counted: ${row.failure.replaceAll('|', '\\|')} | |`,
  );
  const end = `| **Total** | **${total.files}** | **${total.lines}** |`;
  return [...head, '| Folder | Files | Lines |', '| --- | ---: | ---: |', ...lines, end, ...tail].join('\n');
}

export function tableSummary(table: Table, file: string): string {
  const { rows, total, failures } = table;
  if (rows.length === 0) return nothing(table);
  const counted = rows.flatMap((row) => ('count' in row ? [{ folder: row.folder, lines: row.count.lines }] : []));
  const named = counted.filter((row) => row.folder !== EVERYTHING_ELSE);
  const [largest] = named.sort((a, b) => b.lines - a.lines);
  const most = largest !== undefined && rows.length > 1 ? `, the most in ${largest.folder} (${largest.lines})` : '';
  const unsure = rows.length > counted.length || failures.length > 0;
  const missing = unsure ? ` Not everything could be counted: ${file} says what is missing.` : '';
  return `I counted ${plural(total.lines, 'line')} of source in ${plural(total.files, 'file')}${most}.${missing}`;
}

function nothing({ failures }: Table): string {
  return failures.length > 0 ? 'Source files could not be looked for.' : 'No source files were found in this project.';
}

function plural(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** A folder's name as code, whatever characters it is made of. */
function cell(folder: string): string {
  if (folder === EVERYTHING_ELSE) return folder;
  const fence = folder.includes('`') ? '``' : '`';
  const inner = folder.replaceAll('|', '\\|');
  return `${fence}${inner.startsWith('`') ? ` ${inner} ` : inner}${fence}`;
}

// Reads the text results of the glob and grep tools: lines, a summary in brackets, then what could
// not be searched. A result that was too large arrives as its head and tail, with notes between and
// after them.

/** `complete`: every path is there. */
type Listing = { readonly paths: readonly string[]; readonly complete: boolean };

const LISTED = /^\(([\d,]+) files?(, first [\d,]+ shown)?\)$/;
const COUNTED = /^\(([\d,]+) match(?:es)? in ([\d,]+) files?(?:, first [\d,]+ shown)?\)$/;
const NONE = /^\(no (?:files|matches|files match)\)$/;
/** Around a preview. */
const PREVIEW = /^\[(?:… [\d,]+ characters left out …|The result is large: .*)\]$/;

function readListing(output: string): Listing {
  const { lines, summary, notes } = outputParts(output, LISTED);
  const paths = lines.filter((line) => !PREVIEW.test(line));
  const cut = summary === undefined || LISTED.exec(summary)?.[2] !== undefined;
  return { paths, complete: !cut && paths.length === lines.length && notes.length === 0 };
}

/** `note`: why the count may be too small. */
type Count = { readonly lines: number; readonly files: number; readonly note?: string };

/** Undefined when the output has no summary. */
function readCount(output: string): Count | undefined {
  const { summary, notes } = outputParts(output, COUNTED);
  if (summary === undefined) return undefined;
  const [, lines, files] = COUNTED.exec(summary) ?? [];
  const [note] = notes.filter((line) => !PREVIEW.test(line));
  return { lines: number(lines), files: number(files), ...(note === undefined ? {} : { note }) };
}

/** The last line that looks like a summary is it. */
function outputParts(
  output: string,
  summary: RegExp,
): { lines: string[]; summary: string | undefined; notes: string[] } {
  const all = output.split(/\r?\n/).filter((line) => line.trim() !== '');
  const end = all.findLastIndex((line) => summary.test(line) || NONE.test(line));
  if (end < 0) return { lines: all, summary: undefined, notes: [] };
  return { lines: all.slice(0, end), summary: all[end], notes: all.slice(end + 1) };
}

function number(digits: string | undefined): number {
  return digits === undefined ? 0 : Number(digits.replaceAll(',', ''));
}
