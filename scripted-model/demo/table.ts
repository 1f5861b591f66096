// The table of lines per folder, from the real answers of the tools. Parts that could not be
// counted are named, not guessed.
import { present } from '../../workflows/contract/present.ts';
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { listToolResults, toBlocks } from '../read-request.ts';
import type { ParsedRequest } from '../script.ts';
import { isDemoTask } from './demo-task.ts';

export const EVERYTHING_ELSE = 'everything else';

type Row = { readonly folder: string } & ({ readonly count: LineCount } | { readonly failure: string });

export type Table = {
  readonly rows: readonly Row[];
  readonly total: LineCount;
  /** The parts that the numbers lack because something failed. */
  readonly failures: readonly string[];
  /** Folders left out on purpose. */
  readonly notOurs: readonly string[];
};

type Survey = {
  readonly paths: readonly string[];
  /** The paths are complete. */
  readonly complete: boolean;
  readonly failures: readonly string[];
};

/** Collects the files that all glob calls found together. */
export function surveyCalls(calls: readonly DoneCall[]): Survey {
  const globs = calls.filter((call) => call.name === 'glob');
  const listings = globs.filter((call) => !call.isError).map((call) => readListing(call.output));
  const failed = globs.filter((call) => call.isError);
  return {
    paths: [...new Set(listings.flatMap((listing) => listing.paths))],
    complete: failed.length === 0 && listings.every((listing) => listing.complete),
    failures: failed.map((call) => `looking for files failed: ${toFirstLine(call.output)}`),
  };
}

export function makeTable(calls: readonly DoneCall[]): Table {
  const found = surveyCalls(calls);
  const counted = calls.filter((call) => call.name === 'grep').map(buildRow);
  const whole = counted.find((row) => row.folder === '.');
  const parts = counted.filter((row) => row.folder !== '.');
  const folders = parts.filter((row) => !isNotOurs(row.folder));
  const rest = whole !== undefined && 'count' in whole ? countRest(whole.count, parts) : undefined;
  const rows: Row[] = [...folders, ...(rest === undefined ? [] : [{ folder: nameRest(rest, found), count: rest }])];
  const missing =
    whole !== undefined && 'failure' in whole ? [`the files outside these folders: ${whole.failure}`] : [];
  const partly = counted.flatMap((row) =>
    'count' in row && row.count.note ? [`${row.folder}: ${row.count.note}`] : [],
  );
  const notOurs = parts.filter((row) => isNotOurs(row.folder)).map((row) => row.folder);
  return { rows, total: sumRows(rows), failures: [...found.failures, ...missing, ...partly], notOurs };
}

/** Names the rest: the project's own folder, when the rest is known to lie directly in it. */
function nameRest(rest: LineCount, { paths, complete }: Survey): string {
  const direct = paths.filter((path) => !path.includes('/')).length;
  return complete && chooseFolders(paths).covers && rest.files === direct ? '.' : EVERYTHING_ELSE;
}

export function toFirstLine(text: string): string {
  const line = text.trim().split('\n')[0] ?? '';
  if (line === '') return 'no reason given';
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

function buildRow(call: DoneCall): Row {
  const folder = String(call.input['path']);
  if (call.isError) return { folder, failure: toFirstLine(call.output) };
  const count = readCount(call.output);
  return count === undefined ? { folder, failure: 'the count could not be read' } : { folder, count };
}

/**
 * Counts the files outside the parts. Unknown when one of them is, or when files changed between
 * the counts.
 */
function countRest(whole: LineCount, parts: readonly Row[]): LineCount | undefined {
  if (parts.some((row) => 'failure' in row)) return undefined;
  const inside = sumRows(parts);
  const rest = { lines: whole.lines - inside.lines, files: whole.files - inside.files };
  return rest.files > 0 && rest.lines >= 0 ? rest : undefined;
}

function sumRows(rows: readonly Row[]): LineCount {
  const counts = rows.flatMap((row) => ('count' in row ? [row.count] : []));
  return counts.reduce((a, b) => ({ lines: a.lines + b.lines, files: a.files + b.files }), { lines: 0, files: 0 });
}

/** `complete`: every path is included. */
type Listing = { readonly paths: readonly string[]; readonly complete: boolean };

const LISTED = /^\(([\d,]+) files?(, first [\d,]+ shown)?\)$/;
const COUNTED = /^\(([\d,]+) match(?:es)? in ([\d,]+) files?(?:, first [\d,]+ shown)?\)$/;
const NONE = /^\(no (?:files|matches|files match)\)$/;
/** The notes around a preview. */
const PREVIEW = /^\[(?:… [\d,]+ characters left out …|The result is large: .*)\]$/;

/**
 * Reads the text results of the glob and grep tools: lines, a summary in brackets, then what could
 * not be searched. A result that was too large arrives as its head and tail, with notes between and
 * after them.
 */
function readListing(output: string): Listing {
  const { lines, summary, notes } = splitOutput(output, LISTED);
  const paths = lines.filter((line) => !PREVIEW.test(line));
  const cut = summary === undefined || LISTED.exec(summary)?.[2] !== undefined;
  return { paths, complete: !cut && paths.length === lines.length && notes.length === 0 };
}

/** `note` says why the count may be too small. */
type LineCount = { readonly lines: number; readonly files: number; readonly note?: string };

/** Returns undefined when the output has no summary. */
function readCount(output: string): LineCount | undefined {
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

// Reads from the request alone how far the demo task has come: the server keeps nothing of a demo.
export type DoneCall = {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: string;
  readonly isError: boolean;
};

/**
 * Returns the calls of each reply since the task, with their results; null when the user's last
 * words are not the task.
 */
export function readRounds(request: ParsedRequest): readonly (readonly DoneCall[])[] | null {
  const start = request.messages.findLastIndex((message) => listPrompts(message).length > 0);
  const task = request.messages[start];
  if (task === undefined || !listPrompts(task).some(isDemoTask)) return null;
  const since = request.messages.slice(start + 1);
  return since.flatMap((message, index) =>
    message.role === 'assistant' ? [readCalls(message, since[index + 1])] : [],
  );
}

/** Returns a user's words in a message. A text wholly inside a tag was put there by the program. */
function listPrompts(message: MessageParam): readonly string[] {
  if (message.role !== 'user') return [];
  const texts = toBlocks(message.content).flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.filter((text) => !/^\s*<([a-z][\w-]*)>[^]*<\/\1>\s*$/i.test(text));
}

function readCalls(reply: MessageParam, next: MessageParam | undefined): readonly DoneCall[] {
  const results = new Map(
    listToolResults(next === undefined ? [] : toBlocks(next.content)).map((one) => [one.id, one]),
  );
  return toBlocks(reply.content).flatMap((block) => {
    if (block.type !== 'tool_use') return [];
    const result = results.get(block.id);
    const input = block.input as DoneCall['input'];
    return [{ name: block.name, input, output: result?.text ?? '', isError: result?.isError ?? true }];
  });
}

/**
 * File name endings of source code, one glob call each, so that a large project shows more of
 * itself.
 */
export const LANGUAGES: readonly (readonly string[])[] = [
  'ts tsx mts cts js jsx mjs cjs vue svelte',
  'py rb php pl lua r jl ex exs erl hs ml clj sh bash sql',
  'go rs java kt kts scala swift cs fs dart zig c h cc cpp hpp m mm',
].map((endings) => endings.split(' '));

/**
 * Chooses the folders of a project that get a row of their own, from the source files that were
 * found.
 */
export function buildSourceGlob(endings: readonly string[]): string {
  return `**/*.{${endings.join(',')}}`;
}

/** Other people's code and build output, at the top of a project. */
const NOT_OURS =
  /^(?:node_modules|bower_components|vendor|dist|build|out|target|coverage|venv|__pycache__|\.[^/]+)(?:\/|$)/;

function isNotOurs(path: string): boolean {
  return NOT_OURS.test(path);
}

const MOST_ROWS = 24;

type Folders = {
  readonly names: readonly string[];
  /** Folders that are left out of every count. */
  readonly notOurs: readonly string[];
  /** With the files directly in the project, `names` hold every path of its own. */
  readonly covers: boolean;
};

export function chooseFolders(found: readonly string[]): Folders {
  const paths = found.map((path) => path.replace(/^\.\//, ''));
  const own = paths.filter((path) => !isNotOurs(path));
  const top = countByFolder(own, 1);
  const inner = top.size === 1 ? countByFolder(own, 2) : top;
  const byFolder = inner.size >= 2 ? inner : top;
  const largest = [...byFolder].sort(([, a], [, b]) => b - a).slice(0, MOST_ROWS);
  const covered = largest.reduce((sum, [, size]) => sum + size, 0);
  const atRoot = own.filter((path) => !path.includes('/')).length;
  return {
    names: largest.map(([name]) => name).sort(),
    notOurs: [...countByFolder(paths.filter(isNotOurs), 1).keys()].sort(),
    covers: covered + atRoot === own.length,
  };
}

/**
 * Returns globs for the part that a cut listing did not reach: one folder has taken most of it, so
 * these leave out names that begin as that one does. Empty when no folder stands out or its name
 * cannot stand in a glob.
 */
export function buildFurtherGlobs(found: readonly string[]): readonly string[] {
  const [first] = [...countByFolder(found, 1)].sort(([, a], [, b]) => b - a);
  const initial = first?.[0].charAt(0) ?? '';
  return /\w/.test(initial) ? LANGUAGES.map((endings) => `[!${initial}]*/${buildSourceGlob(endings)}`) : [];
}

/** Counts the paths under each folder `depth` levels down. */
function countByFolder(paths: readonly string[], depth: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const path of paths) {
    const segments = path.split('/');
    if (segments.length <= depth) continue;
    const folder = segments.slice(0, depth).join('/');
    found.set(folder, (found.get(folder) ?? 0) + 1);
  }
  return found;
}
