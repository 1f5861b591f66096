// perdure snip: hides entries of a session from the model; they stay in the transcript (L7).
import type { Command } from 'commander';
import { formatCount } from '../../client/units.ts';
import { snipProblem } from '../../client/sessions/snip.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { withSession } from '../with-server.ts';

export function snipCommand(program: Command, cli: Cli): void {
  program
    .command('snip')
    .description('hide entries from the model; they stay in the transcript')
    .argument('<id>', 'the session')
    .argument('<entry...>', 'positions of entries, as `perdure show ID --json` prints them')
    .action(async (id: string, given: readonly string[]) => {
      cli.exit(await snipEntries(cli, id, given));
    });
}

async function snipEntries(cli: Cli, id: string, given: readonly string[]): Promise<number> {
  const entries = given.map((text) => (/^\d+$/.test(text) ? Number(text) : Number.NaN));
  const strange = given.find((text) => !/^\d+$/.test(text));
  const problem =
    strange === undefined ? snipProblem(entries) : `${JSON.stringify(strange)} is not the position of an entry`;
  if (problem !== undefined) throw new UsageError(problem);
  return withSession(cli, id, async ({ sessions }, session) => {
    const { later } = await sessions.snip(session, entries);
    for (const line of resultLines(new Set(entries).size, new Set(later))) cli.say(line);
    return STATUS.ok;
  });
}

function resultLines(all: number, later: ReadonlySet<number>): readonly string[] {
  const now = all - later.size;
  const next = `${formatCount(now, 'entry', 'entries')} will be hidden from the model from its next request on`;
  const rest = 'will be hidden from the model after its current turn, which still needs its signed thinking';
  return [...(now > 0 ? [next] : []), ...[...later].map((position) => `entry ${position} ${rest}`)];
}
