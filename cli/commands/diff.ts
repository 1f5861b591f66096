// perdure diff: what an agent has changed in its folders, between two points of its session or in
// all (T11).
import type { Command } from 'commander';
import type { SessionDiff } from '../../client/index.ts';
import { oneLine } from '../../client/paint.ts';
import { jsonLine } from '../../system/text.ts';
import { colourPatch } from '../render/patch.ts';
import { statText } from '../render/rewind-plan.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withSession } from '../with-server.ts';

type Flags = {
  readonly from?: string;
  readonly to?: string;
  readonly lost?: boolean;
  readonly stat?: boolean;
  readonly json?: boolean;
};

export const POINT = 'a point: the position of an entry, as `show --json` prints it, or RUN.ITERATION';

const HELP = `
Without points it compares the first snapshot with the last one, what people changed meanwhile included.
Snapshots are read from this machine's data folder by git. Ignored files are in none.`;

export function diffCommand(program: Command, cli: Cli): void {
  program
    .command('diff')
    .description('what a session has changed in its folders')
    .argument('<id>', 'the session')
    .argument('[path...]', 'only these files and folders')
    .option('--from <point>', POINT)
    .option('--to <point>', 'as --from')
    .option('--lost', 'from the folder that this machine was left with when the session moved to another host')
    .option('--stat', 'the changed files with counts of lines, without the patch')
    .option('--json', 'print one JSON object')
    .addHelpText('after', HELP)
    .action(async (id: string, paths: readonly string[], flags: Flags) => {
      cli.exit(await diff(cli, id, paths, flags));
    });
}

async function diff(cli: Cli, id: string, paths: readonly string[], { json, ...flags }: Flags): Promise<number> {
  const { stat = false } = flags;
  return withSession(cli, id, async ({ sessions }, session) => {
    const found = await sessions.diff(session, { ...flags, stat, paths });
    if (json === true) cli.print(`${jsonLine({ session, ...found })}\n`);
    else if (stat) cli.print(statWithUncaptured(cli, found));
    else printPatch(cli, found);
    if (!stat && json !== true) for (const line of uncapturedLines(found)) cli.say(line.trimEnd());
    if (!stat && found.patch === null) cli.say('the patch is larger than 64 MB: name some paths, or use --stat');
    return STATUS.ok;
  });
}

const uncapturedLines = ({ uncaptured = [] }: SessionDiff): readonly string[] =>
  uncaptured.map(({ path, why }) => `${oneLine(path, 300)}: ${why}\n`);

function statWithUncaptured({ out }: Cli, found: SessionDiff): string {
  const lines = uncapturedLines(found);
  const stat = found.files.length === 0 && lines.length > 0 ? '' : statText(out, found.files);
  return `${stat}${lines.join('')}`;
}

function printPatch({ print, out, isTerminal }: Cli, { files, patch }: SessionDiff): void {
  if (patch === null) return print(statText(out, files));
  print(isTerminal ? colourPatch(out, patch) : patch);
}
