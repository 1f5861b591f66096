// perdure list: lists all sessions, or those that match a filter, from visibility alone.
import { type Command, InvalidArgumentError } from 'commander';
import { parseFilter, plantTrees, rowsOfTree, sessionTable, stateMeant } from '../../client/faces/lists.ts';
import type { ListedSession, Paint, SessionInfo } from '../../client/faces/types.ts';
import { jsonLine } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { groupHeading, orderInGroups } from '../render/session-groups.ts';
import { addValue } from '../repeatable.ts';
import { withServer } from '../with-server.ts';

type Flags = {
  readonly json?: boolean;
  readonly limit: number;
  readonly lostFolders?: boolean;
  readonly forget?: readonly string[];
};

export const FILTER_HELP = `
A filter is one or more of: failed  waiting  phase:running  status:open  reason:max_turns  model:sonnet  tag:team=web  error:overloaded  folder:checkout
id:s-4k  title:report  cost>1  tokens>100k  turns>=20  runs>1  waiting>10m  idle>5m  age<2h  "a text". A minus before one turns it around. A comma
gives a choice: phase:waiting,parked. sort:cost sorts, sort:-cost with the largest first.`;

export function listCommand(program: Command, cli: Cli): void {
  program
    .command('list')
    .description('list the newest sessions; on a terminal, those of them that need you, are stuck or failed come first')
    .argument('[filter...]', 'only those that it means')
    .option('--limit <n>', 'how many to list at most', parseWholeNumber, 50)
    .option('--json', 'print one JSON object per session')
    .option('--lost-folders', 'list the folders that this machine was left with when sessions moved to other hosts')
    .option('--forget <id>', 'with --lost-folders: list those of this session no more; repeatable', addValue)
    .addHelpText('after', FILTER_HELP)
    .action(async (filter: readonly string[], flags: Flags) => {
      cli.exit(await (takesLostFolders(filter, flags) ? lostFolders(cli, flags) : list(cli, asTyped(filter), flags)));
    });
}

/** Throws UsageError for flags that do not go together. */
function takesLostFolders(filter: readonly string[], { lostFolders: takes = false, forget }: Flags): boolean {
  if (forget && !takes) throw new UsageError('--forget is for lost folders: give --lost-folders too');
  if (takes && filter.length > 0) throw new UsageError('--lost-folders takes no filter: it lists all of this machine');
  return takes;
}

async function lostFolders(cli: Cli, flags: Flags): Promise<number> {
  const { forgetLostFolders, printLostFolders } = await import('./lost-folders.ts');
  return flags.forget ? forgetLostFolders(cli, flags.forget) : printLostFolders(cli, flags);
}

/** Restores the quotes that the shell has removed from a text with blanks. */
export function asTyped(words: readonly string[]): string {
  const quoted = (word: string): string => (/\s/.test(word) && !word.includes('"') ? `"${word}"` : word);
  return words.length === 1 ? (words[0] ?? '') : words.map(quoted).join(' ');
}

async function list(cli: Cli, filter: string, { json, limit }: Flags): Promise<number> {
  const meant = stateMeant(parseFilter(filter));
  return withServer(cli, async ({ sessions }) => {
    const size = Math.min(limit, LARGEST_PAGE);
    const page = await sessions.page({ filter, size, running: true });
    const isEnough = page.next === null || page.sessions.length === limit;
    if (!isEnough && page.sessions.length < size) cli.say(SEARCHING);
    // Each page is looked for from the newest on: many are read as one list.
    const rows = isEnough ? page.sessions : sessions.list({ filter, running: true });
    const found: SessionInfo[] = [];
    const print = (session: SessionInfo): void => cli.print(`${jsonLine(session)}\n`);
    const count = await takeFirst(rows, limit, json ? print : (session) => void found.push(session));
    if (found.length > 0) cli.print(listText(cli.out, filter, found, Date.now()));
    if (page.note !== undefined) cli.say(page.note);
    if (count === 0) cli.say(describeNone(cli, filter, meant));
    if (count > limit || (isEnough && page.next !== null)) cli.say(`more sessions exist: use --limit ${limit * 10}`);
    return STATUS.ok;
  });
}

/** Returns how many there are, up to one above the limit. */
async function takeFirst<Row>(
  rows: Iterable<Row> | AsyncIterable<Row>,
  limit: number,
  use: (row: Row) => void,
): Promise<number> {
  let count = 0;
  for await (const row of rows) {
    count += 1;
    if (count > limit) break;
    use(row);
  }
  return count;
}

const LARGEST_PAGE = 1_000;
const SEARCHING =
  'Searching all sessions: the server knows no titles. Terms such as phase:, tag: or age< leave fewer to search.';

function describeNone(cli: Cli, filter: string, meant: string | undefined): string {
  if (filter === '') return `No sessions yet. Start one with \`${cli.self} run "your task"\`.`;
  return `No sessions match this filter${meant === undefined ? '' : `: did you mean ${meant}?`}`;
}

export const listText = (paint: Paint, filter: string, found: readonly SessionInfo[], now: number): string =>
  sessionTable(paint, arrangeList(paint, filter, found, now), now);

/**
 * Agents stand below their caller, unless the filter says in which order all rows stand; on a
 * terminal, those that need someone come first, in the groups of `top` (O19).
 */
function arrangeList(
  paint: Paint,
  filter: string,
  found: readonly SessionInfo[],
  now: number,
): readonly ListedSession[] {
  if (/(?:^|\s)sort:/.test(filter)) return found.map((session) => ({ session, depth: 0 }));
  if (paint.columns() === null) return plantTrees(found).flatMap((tree) => rowsOfTree(tree));
  const rows = orderInGroups(found, 'age', now);
  const isMixed = rows.at(0)?.group !== rows.at(-1)?.group;
  return rows.map(({ group, ...row }, at) =>
    isMixed && group !== rows[at - 1]?.group ? { ...row, heading: groupHeading(paint, group) } : row,
  );
}

export function parseWholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 1_000_000)
    throw new InvalidArgumentError('give a whole number from 1');
  return value;
}
