// perdure repair: says what a damaged transcript has lost and, with --apply, lets its session
// continue from the last whole step.
import type { Command } from 'commander';
import type { OpenedServer } from '../../client/face-types.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Cli } from '../cli.ts';
import { withDecidingWorker } from '../decide-session.ts';
import { STATUS } from '../errors.ts';
import { withSession } from '../with-server.ts';

export function repairCommand(program: Command, cli: Cli): void {
  program
    .command('repair')
    .description('report what a damaged transcript has lost, and let the session continue without it')
    .argument('<id>', 'the session')
    .option('--apply', 'repair the session; otherwise nothing changes')
    .action(async (id: string, { apply = false }: { readonly apply?: boolean }) => {
      cli.exit(await withSession(cli, id, (opened, session) => repairSession(cli, opened, session, apply)));
    });
}

async function repairSession(cli: Cli, opened: OpenedServer, session: SessionId, apply: boolean): Promise<number> {
  const damage = await opened.sessions.damage(session);
  if (damage.kind === 'whole') {
    cli.say(
      `session ${session} needs no repair: it can continue as it is. \`${cli.self} show ${session}\` names what is damaged, if anything is`,
    );
    return STATUS.ok;
  }
  cli.say(`damaged: ${damage.problem}`);
  if (damage.kind === 'lost') {
    cli.say(`session ${session} has no intact step: restore its store from a backup, or start a new session`);
    return STATUS.failed;
  }
  const { status, taskQueue } = await opened.sessions.describe(session);
  cli.say(`${damage.lost}. A backup of the store may have it`);
  if (status !== 'open') {
    cli.say(`session ${session} is closed: it cannot continue, and nothing was changed`);
    return STATUS.failed;
  }
  if (!apply) {
    cli.say(`nothing was changed: \`${cli.self} repair ${session} --apply\` lets the session continue without it`);
    return STATUS.failed;
  }
  await withDecidingWorker(cli, opened, taskQueue, () => opened.sessions.repair(session));
  cli.say(`session ${session} continues from its last intact step: send the lost messages again`);
  return STATUS.ok;
}
