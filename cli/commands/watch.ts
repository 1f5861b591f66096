// perdure watch: returns to a session, with a worker of its own if none runs, and follows the
// current run to its end.
import type { Command } from 'commander';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Opened } from '../../client/runtime/open-server.ts';
import type { Cli } from '../cli.ts';
import { followRun } from '../follow-run.ts';
import { CONFIG_OPTION, type ConfigFlags, workerConfig } from '../worker-config.ts';
import { refuseToSpoil, refuseWithoutKey } from '../refuse-keyless.ts';
import { isUnderWay } from '../../client/sessions/info.ts';
import { findSession } from '../chat/find-session.ts';
import { withinWorkplace } from '../within-workplace.ts';

type Flags = ConfigFlags & { readonly json?: boolean };

export function watchCommand(program: Command, cli: Cli): void {
  program
    .command('watch')
    .description('follow a session to the end of its run; Ctrl-C only stops watching')
    .argument('<id>', 'the session')
    .option('--json', 'print one JSON object per event, the result last')
    .option(...CONFIG_OPTION)
    .action(async (id: string, flags: Flags) => {
      cli.exit(await watch(cli, id, flags));
    });
}

export async function watch(cli: Cli, id: string, { json = false, config }: Flags): Promise<number> {
  const chosen = await workerConfig(cli, config);
  const { session, close } = await findSession(cli, { kind: 'id', id });
  const beforeWork = (opened: Opened): Promise<void> => checkKey(cli, opened, session);
  try {
    return await withinWorkplace(cli, { anywhere: false, beforeWork, chosen, session }, async (workplace, signals) => {
      await close();
      return followRun(cli, { workplace, session, json, signals, onInterrupt: 'detach' });
    });
  } finally {
    await close();
  }
}

/** The scripted model must not end a session that a real model began. */
async function checkKey(cli: Cli, { sessions }: Opened, session: SessionId): Promise<void> {
  const seen = await sessions.describe(session);
  if (isUnderWay(seen) || seen.unseen) refuseWithoutKey(cli.env, seen.title);
  await refuseToSpoil(cli.env, sessions);
}
