// perdure btw: asks the model of a session something aside.
import type { Command } from 'commander';
import { operations } from '../../client/operations/operations.ts';
import { asideCost } from '../../client/sessions/updates/ask-aside.ts';
import { jsonLine, showUnseen } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { steerSession } from '../steer-session.ts';

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
      const status = await steerSession(
        cli,
        { id, operation: operations.askAside, request: { question: words.join(' ') } },
        (session, reply) => {
          cli.print(json ? `${jsonLine({ session, ...reply })}\n` : `${showUnseen(reply.answer)}\n`);
          if (!json) cli.say(asideCost(reply));
        },
      );
      cli.exit(status);
    });
}
