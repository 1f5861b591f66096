// perdure snip: hides entries of a session from the model; they stay in the transcript (L7).
import type { Command } from 'commander';
import { operations } from '../../client/operations/operations.ts';
import { formatCount } from '../../client/units.ts';
import type { Cli } from '../cli.ts';
import { UsageError } from '../errors.ts';
import { steerSession } from '../steer-session.ts';

export function snipCommand(program: Command, cli: Cli): void {
  program
    .command('snip')
    .description('hide entries from the model; they stay in the transcript')
    .argument('<id>', 'the session')
    .argument('<entry...>', 'positions of entries, as `perdure show ID --json` prints them')
    .action(async (id: string, texts: readonly string[]) => {
      const wrong = texts.find((text) => !/^\d+$/.test(text));
      if (wrong !== undefined) throw new UsageError(`${JSON.stringify(wrong)} is not the position of an entry`);
      const entries = texts.map(Number);
      const status = await steerSession(
        cli,
        { id, operation: operations.snip, request: { entries } },
        (_, { later }) => {
          for (const line of resultLines(new Set(entries).size, new Set(later))) cli.say(line);
        },
      );
      cli.exit(status);
    });
}

function resultLines(all: number, later: ReadonlySet<number>): readonly string[] {
  const now = all - later.size;
  const next = `${formatCount(now, 'entry', 'entries')} will be hidden from the model from its next request on`;
  const rest = 'will be hidden from the model after its current turn, which still needs its signed thinking';
  return [...(now > 0 ? [next] : []), ...[...later].map((position) => `entry ${position} ${rest}`)];
}
