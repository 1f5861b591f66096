// The script of the keyless demo: looks for source files, counts their lines, writes the table,
// reads it back, and says what it did. Each step is computed from the results in the request, so
// that it works on any folder and its words are true.
import type { ParsedRequest, Reply, ReplyBlock } from '../script.ts';
import { fault, reply, text, toolUse } from '../script-words.ts';
import { readRounds, type DoneCall } from './rounds.ts';
import { DEMO_TASK } from './demo-task.ts';
import { chooseFolders, buildFurtherGlobs, LANGUAGES, buildSourceGlob } from './folders.ts';
import { toFirstLine, makeTable, surveyCalls, type Table } from './table.ts';
import { describeTable, renderTable } from './table-text.ts';

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
