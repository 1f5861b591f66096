// The script of the keyless demo: looks for source files, counts their lines, writes the table,
// reads it back, and says what it did. Each step is computed from the results in the request, so
// that it works on any folder and what it says is true.
import { fault, reply, text, toolUse, type ParsedRequest, type Reply, type ReplyBlock } from '../script.ts';
import { DEMO_TASK, chooseFolders, furtherGlobs, LANGUAGES, sourceGlob, roundsOf, type DoneCall } from './rounds.ts';
import { firstLine, makeTable, surveyCalls, type Table, tableSummary, tableText } from './table.ts';

export { DEMO_TASK, isDemoTask } from './rounds.ts';

const FILE = 'LINES.md';
const TOOLS = ['glob', 'grep', 'write', 'read'];

export function demoScript(request: ParsedRequest): Reply {
  const rounds = roundsOf(request);
  if (rounds === null) {
    const message = `The scripted model only does the demo task ("${DEMO_TASK}"). Set ANTHROPIC_API_KEY to run your own task with a real model.`;
    return fault({ status: 400, message });
  }
  const missing = TOOLS.filter((name) => !request.tools?.some((tool) => 'name' in tool && tool.name === name));
  if (missing.length === 0) return nextStep(rounds);
  return said(`The demo task needs the tools ${missing.join(', ')}, which this run does not have.`);
}

function nextStep(rounds: readonly (readonly DoneCall[])[]): Reply {
  const calls = rounds.flat();
  const last = new Set(rounds.at(-1)?.map((call) => call.name));
  if (rounds.length === 0) return look();
  if (last.has('glob')) return looked(calls, rounds.length);
  if (last.has('grep')) return write(makeTable(calls));
  if (last.has('write') && calls.findLast((call) => call.name === 'write')?.isError === false) return readBack();
  return said(conclusion(makeTable(calls), calls));
}

function look(): Reply {
  const globs = LANGUAGES.map((endings) => toolUse('glob', { pattern: sourceGlob(endings) }));
  return paced([text('I will look for source files first.'), ...globs]);
}

function looked(calls: readonly DoneCall[], times: number): Reply {
  const { paths, complete } = surveyCalls(calls);
  if (paths.length === 0) return write(makeTable(calls));
  const further = complete || times > 1 ? [] : furtherGlobs(paths);
  if (further.length === 0) return count(paths);
  const globs = further.map((pattern) => toolUse('glob', { pattern }));
  return paced([text('That is only a part of them. I look for the folders it did not reach.'), ...globs]);
}

function count(paths: readonly string[]): Reply {
  const { names, notOurs } = chooseFolders(paths);
  const folders = names.length === 1 ? 'one folder' : `${names.length} folders`;
  const found = names.length === 0 ? 'the project folder itself' : folders;
  const glob = sourceGlob(LANGUAGES.flat());
  const greps = [...names, ...notOurs, '.'].map((path) =>
    toolUse('grep', { pattern: '^', path, glob, output_mode: 'count' }),
  );
  return paced([text(`There is source in ${found}. Now I count the lines, all at once.`), ...greps]);
}

function write(table: Table): Reply {
  const what = table.rows.length === 0 ? 'There is nothing to count. I will write that down.' : `Now I write ${FILE}.`;
  return paced([text(what), toolUse('write', { path: FILE, content: tableText(table) })]);
}

function readBack(): Reply {
  return paced([text('I read it back, to be sure.'), toolUse('read', { path: FILE })]);
}

function conclusion(table: Table, calls: readonly DoneCall[]): string {
  const written = calls.findLast((call) => call.name === 'write');
  const read = calls.findLast((call) => call.name === 'read');
  if (written?.isError !== false) {
    return `${FILE} could not be written: ${firstLine(written?.output ?? '')}\n\nThis is what it would say:\n\n${tableText(table)}`;
  }
  const back =
    read?.isError === false
      ? `${FILE} is written.`
      : `${FILE} is written, but reading it back failed: ${firstLine(read?.output ?? '')}`;
  return `${tableSummary(table, FILE)} ${back}`;
}

function said(answer: string): Reply {
  return paced([text(`${answer}\n\n(scripted model — set ANTHROPIC_API_KEY for a real one)`)]);
}

/** At the pace of someone reading along: under two seconds, however long the reply is. */
function paced(blocks: readonly ReplyBlock[]): Reply {
  const size = JSON.stringify(blocks).length;
  return reply(blocks, { msPerEvent: 10, deltaChars: Math.max(10, Math.ceil(size / 80)) });
}
