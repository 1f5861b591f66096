// perdure move: moves a session with its files to another host.
import type { Command } from 'commander';
import { operations } from '../../client/operations/operations.ts';
import { oneLine } from '../../client/faces/start.ts';
import type { Cli } from '../cli.ts';
import { steerSession } from '../steer-session.ts';

export function moveCommand(program: Command, cli: Cli): void {
  program
    .command('move')
    .description('move a session with its files to another host, where hosts share a store')
    .argument('<id>', 'the session')
    .option('--host <host>', 'the PERDURE_HOST of the workers that take it (default: any other)')
    .action(async (id: string, request: { readonly host?: string }) => {
      const status = await steerSession(cli, { id, operation: operations.move, request }, (session, moved) =>
        cli.say(
          moved.kind === 'later'
            ? `session ${session} moves before its next model call, or when its background agents have ended`
            : `session ${session} is on host ${oneLine(moved.host.name, 60)} now`,
        ),
      );
      cli.exit(status);
    });
}
