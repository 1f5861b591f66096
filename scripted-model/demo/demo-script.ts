// The script of the keyless demo: looks for source files, counts their lines, writes the table,
// reads it back, and says what it did. Each step is computed from the results in the request, so
// that it works on any folder and its words are true.
import type { ParsedRequest, Reply, ReplyBlock } from '../script.ts';
import { fault, reply, text, toolUse } from '../script-words.ts';
import { DEMO_TASK } from './demo-task.ts';
import {
  EVERYTHING_ELSE,
  makeTable,
  surveyCalls,
  type Table,
  toFirstLine,
  type DoneCall,
  readRounds,
  buildFurtherGlobs,
  buildSourceGlob,
  chooseFolders,
  LANGUAGES,
} from './table.ts';

export { DEMO_TASK, isDemoTask } from './demo-task.ts';

const FILE = 'LINES.md';
const TOOLS = ['glob', 'grep', 'write', 'read'];

export function demoScript(request: ParsedRequest): Reply {
  const rounds = readRounds(request);
  if (rounds === null) {
    const message = `The scripted model only does the demo task ("${DEMO_TASK}"). Set ANTHROPIC_API_KEY to run your own task with a real model.`;
    return fault({ status: 400, message });
  }
  const missing = TOOLS.filter((name) => !request.tools?.some((tool) => 'name' in tool && tool.name === name));
  if (missing.length === 0) return nextStep(rounds);
  return sayAnswer(`The demo task needs the tools ${missing.join(', ')}, which this run does not have.`);
}

function nextStep(rounds: readonly (readonly DoneCall[])[]): Reply {
  const calls = rounds.flat();
  const last = new Set(rounds.at(-1)?.map((call) => call.name));
  if (rounds.length === 0) return lookForFiles();
  if (last.has('glob')) return lookFurtherOrCount(calls, rounds.length);
  if (last.has('grep')) return writeTable(makeTable(calls));
  if (last.has('write') && calls.findLast((call) => call.name === 'write')?.isError === false) return readTableBack();
  return sayAnswer(writeConclusion(makeTable(calls), calls));
}

function lookForFiles(): Reply {
  const globs = LANGUAGES.map((endings) => toolUse('glob', { pattern: buildSourceGlob(endings) }));
  return replyPaced([text('I will look for source files first.'), ...globs]);
}

function lookFurtherOrCount(calls: readonly DoneCall[], times: number): Reply {
  const { paths, complete } = surveyCalls(calls);
  if (paths.length === 0) return writeTable(makeTable(calls));
  const further = complete || times > 1 ? [] : buildFurtherGlobs(paths);
  if (further.length === 0) return countLines(paths);
  const globs = further.map((pattern) => toolUse('glob', { pattern }));
  return replyPaced([text('That is only a part of them. I look for the folders it did not reach.'), ...globs]);
}

function countLines(paths: readonly string[]): Reply {
  const { names, notOurs } = chooseFolders(paths);
  const folders = names.length === 1 ? 'one folder' : `${names.length} folders`;
  const found = names.length === 0 ? 'the project folder itself' : folders;
  const glob = buildSourceGlob(LANGUAGES.flat());
  const greps = [...names, ...notOurs, '.'].map((path) =>
    toolUse('grep', { pattern: '^', path, glob, output_mode: 'count' }),
  );
  return replyPaced([text(`There is source in ${found}. Now I count the lines, all at once.`), ...greps]);
}

function writeTable(table: Table): Reply {
  const what = table.rows.length === 0 ? 'There is nothing to count. I will write that down.' : `Now I write ${FILE}.`;
  return replyPaced([text(what), toolUse('write', { path: FILE, content: renderTable(table) })]);
}

function readTableBack(): Reply {
  return replyPaced([text('I read it back, to be sure.'), toolUse('read', { path: FILE })]);
}

function writeConclusion(table: Table, calls: readonly DoneCall[]): string {
  const written = calls.findLast((call) => call.name === 'write');
  const read = calls.findLast((call) => call.name === 'read');
  if (written?.isError !== false) {
    return `${FILE} could not be written: ${toFirstLine(written?.output ?? '')}\n\nThis is what it would say:\n\n${renderTable(table)}`;
  }
  const back =
    read?.isError === false
      ? `${FILE} is written.`
      : `${FILE} is written, but reading it back failed: ${toFirstLine(read?.output ?? '')}`;
  return `${describeTable(table, FILE)} ${back}`;
}

function sayAnswer(answer: string): Reply {
  return replyPaced([text(`${answer}\n\n(scripted model — set ANTHROPIC_API_KEY for a real one)`)]);
}

/** Sends at the pace of someone reading along: under two seconds, however long the reply is. */
function replyPaced(blocks: readonly ReplyBlock[]): Reply {
  const size = JSON.stringify(blocks).length;
  return reply(blocks, { msPerEvent: 10, deltaChars: Math.max(10, Math.ceil(size / 80)) });
}

// Writes a table: the file, and a sentence about it.
function renderTable(table: Table): string {
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

function describeTable(table: Table, file: string): string {
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
