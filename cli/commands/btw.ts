// perdure btw: asks the model of a session something aside.
import type { Command } from 'commander';
import { jsonLine, showUnseen } from '../../system/text.ts';
import { asideProblem } from '../../workflows/contract/aside.ts';
import { asideCost } from '../../client/sessions/updates/ask-aside.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { withSession } from '../with-server.ts';

export function btwCommand(program: Command, cli: Cli): void {
  program
    .command('btw')
    .description(
      'ask the model of a session a side question: the conversation keeps no trace of it, and the run continues',
    )
    .argument('<id>', 'the session')
    .argument('<question...>', 'what you want to know')
    .option('--json', 'print the answer and what it cost as JSON')
    .action(async (id: string, words: readonly string[], { json = false }: { readonly json?: boolean }) => {
      cli.exit(await askAside(cli, id, words.join(' '), json));
    });
}

async function askAside(cli: Cli, id: string, question: string, json: boolean): Promise<number> {
  const problem = asideProblem(question);
  if (problem !== undefined) throw new UsageError(problem);
  return withSession(cli, id, async ({ sessions }, session) => {
    const aside = await sessions.askAside(session, question);
    cli.print(json ? `${jsonLine({ session, ...aside })}\n` : `${showUnseen(aside.answer)}\n`);
    if (!json) cli.say(asideCost(aside));
    return STATUS.ok;
  });
}
