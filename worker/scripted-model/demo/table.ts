// The table of lines per folder, from what the tools really answered. What could not be counted is said, not guessed.
import type { DoneCall } from './rounds.ts';
import { readCount, readListing } from './tool-output.ts';
import type { Count } from './tool-output.ts';
import { chooseFolders } from './folders.ts';

export type Row = { readonly folder: string } & ({ readonly count: Count } | { readonly failure: string });

export type Table = {
  readonly rows: readonly Row[];
  readonly total: Count;
  /** Sentences on what the numbers leave out. */
  readonly notes: readonly string[];
};

/** The paths all glob calls found, and whether those are all. */
export function survey(calls: readonly DoneCall[]): {
  paths: readonly string[];
  complete: boolean;
  failures: readonly string[];
} {
  const globs = calls.filter((call) => call.name === 'glob');
  const listings = globs.filter((call) => !call.isError).map((call) => readListing(call.output));
  const paths = [...new Set(listings.flatMap((listing) => listing.paths))];
  const failures = globs
    .filter((call) => call.isError)
    .map((call) => `looking for files failed: ${firstLine(call.output)}`);
  return { paths, complete: failures.length === 0 && listings.every((listing) => listing.complete), failures };
}

export function makeTable(calls: readonly DoneCall[]): Table {
  const { paths, complete, failures } = survey(calls);
  const counted = calls.filter((call) => call.name === 'grep').map(rowOf);
  const whole = counted.find((row) => row.folder === '.');
  const folders = counted.filter((row) => row.folder !== '.');
  const sum = add(folders.flatMap((row) => ('count' in row ? [row.count] : [])));
  const rest = whole !== undefined && 'count' in whole ? remainder(whole.count, sum, folders) : undefined;
  const label = complete && chooseFolders(paths).covers ? '.' : 'everything else';
  const rows: Row[] = [...folders, ...(rest === undefined ? [] : [{ folder: label, count: rest }])];
  const uncounted =
    whole !== undefined && 'failure' in whole ? [`the files outside these folders: ${whole.failure}`] : [];
  return { rows, total: rest === undefined ? sum : add([sum, rest]), notes: [...failures, ...uncounted] };
}

export function tableText(table: Table): string {
  const head = ['# Lines of source code', ''];
  const notes = table.notes.flatMap((note) => ['', `Not counted: ${note}`]);
  if (table.rows.length === 0) return [...head, 'No source files were found in this project.', ...notes, ''].join('\n');
  const rows = table.rows.map((row) =>
    'count' in row
      ? `| ${cell(row.folder)} | ${row.count.files} | ${row.count.lines} |`
      : `| ${cell(row.folder)} | could not be counted: ${row.failure.replaceAll('|', '\\|')} | |`,
  );
  const total = `| **Total** | **${table.total.files}** | **${table.total.lines}** |`;
  return [...head, '| Folder | Files | Lines |', '| --- | ---: | ---: |', ...rows, total, ...notes, ''].join('\n');
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

/** What lies outside the folders. Unknown when one of them is, or when files changed between the counts. */
function remainder(whole: Count, sum: Count, folders: readonly Row[]): Count | undefined {
  if (folders.some((row) => 'failure' in row)) return undefined;
  const rest = { lines: whole.lines - sum.lines, files: whole.files - sum.files };
  return rest.files > 0 && rest.lines >= 0 ? rest : undefined;
}

function add(counts: readonly Count[]): Count {
  return counts.reduce((a, b) => ({ lines: a.lines + b.lines, files: a.files + b.files }), { lines: 0, files: 0 });
}

/** A folder's name as code, whatever characters it is made of. */
function cell(folder: string): string {
  const fence = folder.includes('`') ? '``' : '`';
  const inner = folder.replaceAll('|', '\\|');
  return folder === 'everything else' ? inner : `${fence}${inner.startsWith('`') ? ` ${inner} ` : inner}${fence}`;
}
