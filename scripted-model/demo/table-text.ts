// Writes a table: the file, and a sentence about it.
import { type Table, EVERYTHING_ELSE } from './table.ts';

export function renderTable(table: Table): string {
  const { rows, total, failures, notOurs } = table;
  const head = ['# Lines of source code', ''];
  const left =
    notOurs.length > 0 ? ['', `Left out, as not this project's own source: ${notOurs.map(renderCell).join(', ')}`] : [];
  const tail = [...failures.flatMap((failure) => ['', `Not counted: ${failure}`]), ...left, ''];
  if (rows.length === 0) return [...head, describeEmpty(table), ...tail].join('\n');
  const lines = rows.map((row) =>
    'count' in row
      ? `| ${renderCell(row.folder)} | ${row.count.files} | ${row.count.lines} |`
      : `| ${renderCell(row.folder)} | could not be counted: ${row.failure.replaceAll('|', '\\|')} | |`,
  );
  const end = `| **Total** | **${total.files}** | **${total.lines}** |`;
  return [...head, '| Folder | Files | Lines |', '| --- | ---: | ---: |', ...lines, end, ...tail].join('\n');
}

export function describeTable(table: Table, file: string): string {
  const { rows, total, failures } = table;
  if (rows.length === 0) return describeEmpty(table);
  const counted = rows.flatMap((row) => ('count' in row ? [{ folder: row.folder, lines: row.count.lines }] : []));
  const named = counted.filter((row) => row.folder !== EVERYTHING_ELSE);
  const [largest] = named.sort((a, b) => b.lines - a.lines);
  const most = largest !== undefined && rows.length > 1 ? `, the most in ${largest.folder} (${largest.lines})` : '';
  const unsure = rows.length > counted.length || failures.length > 0;
  const missing = unsure ? ` Not everything could be counted: ${file} says what is missing.` : '';
  return `I counted ${formatCount(total.lines, 'line')} of source in ${formatCount(total.files, 'file')}${most}.${missing}`;
}

function describeEmpty({ failures }: Table): string {
  return failures.length > 0 ? 'Source files could not be looked for.' : 'No source files were found in this project.';
}

function formatCount(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

/** Prints a folder's name as code, whatever its characters. */
function renderCell(folder: string): string {
  if (folder === EVERYTHING_ELSE) return folder;
  const fence = folder.includes('`') ? '``' : '`';
  const inner = folder.replaceAll('|', '\\|');
  return `${fence}${inner.startsWith('`') ? ` ${inner} ` : inner}${fence}`;
}
