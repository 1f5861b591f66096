// perdure repair: says what a damaged transcript has lost, and, told so, has its session go on from the last whole step.
import type { Command } from 'commander';
import type { Opened } from '../../connect/open-server.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import type { Cli } from '../cli.ts';
import { withTaker } from '../decide-session.ts';
import { STATUS } from '../errors.ts';
import { sessionArgument } from '../session-argument.ts';
import { withServer } from '../with-server.ts';

export function repairCommand(program: Command, cli: Cli): void {
  program
    .command('repair')
    .description('say what a session with a damaged transcript has lost, and make it go on without that')
    .argument('<id>', 'the session')
    .option('--apply', 'do it; without this nothing is changed')
    .action(async (id: string, { apply = false }: { readonly apply?: boolean }) => {
      const session = sessionArgument(id);
      cli.exit(await withServer(cli, (opened) => repair(cli, opened, session, apply)));
    });
}

async function repair(cli: Cli, opened: Opened, session: SessionId, apply: boolean): Promise<number> {
  const damage = await opened.sessions.damage(session);
  if (damage.kind === 'whole') {
    cli.say(
      `the steps of session ${session} are whole; \`${cli.self} show ${session}\` names what else is damaged, if anything is`,
    );
    return STATUS.ok;
  }
  cli.say(`damaged: ${damage.problem}`);
  if (damage.kind === 'lost') {
    cli.say(`no whole step of session ${session} is known of: restore its store from a backup, or start a new session`);
    return STATUS.failed;
  }
  const { status, taskQueue } = await opened.sessions.describe(session);
  cli.say(`${damage.lost}. A backup of the store may have it`);
  if (status !== 'open') {
    cli.say(`session ${session} is closed: nothing of it goes on, and nothing is changed`);
    return STATUS.failed;
  }
  if (!apply) {
    cli.say(`nothing is changed yet: \`${cli.self} repair ${session} --apply\` has the session go on without it`);
    return STATUS.failed;
  }
  await withTaker(cli, opened, taskQueue, () => opened.sessions.repair(session));
  cli.say(`session ${session} goes on from the last whole step: send what it has lost again`);
  return STATUS.ok;
}
