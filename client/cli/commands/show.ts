// perdure show: a session's transcript, its runs and what they came to, and whether all of it is sound. No worker is needed.
import type { Command } from 'commander';
import { jsonLine } from '../../render/plain.ts';
import type { SessionReading } from '../../session-reading.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { sessionArgument } from '../session-argument.ts';
import { withServer } from '../with-server.ts';

export function showCommand(program: Command, cli: Cli): void {
  program
    .command('show')
    .description('print a session: its transcript, transitions, runs and results')
    .argument('<id>', 'the session')
    .option('--json', 'print one JSON object')
    .action(async (id: string, flags: { readonly json?: boolean }) => {
      cli.exit(await show(cli, id, flags.json ?? false));
    });
}

async function show(cli: Cli, id: string, json: boolean): Promise<number> {
  const session = sessionArgument(id);
  return withServer(cli, async (opened) => {
    const { readSession } = await import('../../session-reading.ts');
    const { transcriptText } = await import('../../render/transcript.ts');
    const reading = await readSession(opened, session);
    cli.print(json ? `${jsonLine(asJson(reading))}\n` : transcriptText(cli.out, reading));
    for (const { problem } of reading.problems) cli.say(`damaged: ${problem}`);
    return reading.problems.length > 0 ? STATUS.failed : STATUS.ok;
  });
}

function asJson({ description, runs, entries, problems }: SessionReading) {
  const { session, ...rest } = description;
  return { sessionId: session, ...rest, results: runs, entries, problems };
}
