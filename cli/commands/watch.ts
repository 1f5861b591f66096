// perdure watch: returns to a session, with a worker of its own if none runs, and follows the
// current run to its end. Of a run that has ended, it prints the end.
import type { Command } from 'commander';
import type { SessionId, OpenedServer, UnconfinedFlag, RunOutcome } from '../../client/faces/types.ts';
import { stayingWorkers } from '../../client/faces/workers.ts';
import { refuseUnconfinedForOthers, UNCONFINED_OPTION, withUnconfined } from '../../client/faces/flags.ts';
import { agentsAtWork, isAtRest } from '../../client/faces/sessions.ts';
import { isUnderWay } from '../../client/faces/lists.ts';
import { readSession } from '../../client/faces/history.ts';
import type { Cli } from '../cli.ts';
import { showLately } from '../chat/show-lately.ts';
import { endStatus, followRun } from '../follow-run.ts';
import { CONFIG_OPTION, type ConfigFlags, refuseToSpoil, refuseWithoutKey, workerConfig } from '../worker-config.ts';
import { findSession } from '../chat/find-session.ts';
import { withinWorkplace } from '../within-workplace.ts';

type Flags = ConfigFlags & UnconfinedFlag & { readonly json?: boolean; readonly replay?: boolean };

export function watchCommand(program: Command, cli: Cli): void {
  program
    .command('watch')
    .description('follow a session to the end of its run, or print how it ended; Ctrl-C only stops watching')
    .argument('<id>', 'the session')
    .option('--replay', 'show a run that has ended from its beginning, as `--json` does')
    .option('--json', 'print one JSON object per event, the result last')
    .option(...CONFIG_OPTION)
    .option(...UNCONFINED_OPTION)
    .action(async (id: string, flags: Flags) => {
      if (flags.unconfined && stayingWorkers(cli.env) !== 0) refuseUnconfinedForOthers(flags);
      cli.exit(await watch(await withUnconfined(cli, flags), id, flags));
    });
}

export async function watch(cli: Cli, id: string, { json = false, replay = json, config }: Flags): Promise<number> {
  const chosen = await workerConfig(cli, config);
  const { session, opened, close } = await findSession(cli, { kind: 'id', id, opens: !replay });
  const beforeWork = (place: OpenedServer): Promise<void> => checkKey(cli, place, session);
  try {
    const outcome = opened === null || config !== undefined ? null : await showEnd(cli, opened, session);
    if (outcome !== null) return endStatus(outcome);
    return await withinWorkplace(cli, { anywhere: false, beforeWork, chosen, session }, async (workplace, signals) => {
      await close();
      return followRun(cli, { workplace, session, json, signals, onInterrupt: 'detach' });
    });
  } finally {
    await close();
  }
}

/** Prints the end of a session at rest, and returns its last outcome. Null when something runs. */
async function showEnd(cli: Cli, opened: OpenedServer, session: SessionId): Promise<RunOutcome | null> {
  const description = await opened.sessions.describe(session);
  if (!isAtRest(description) || agentsAtWork(description) > 0) return null;
  const reading = await readSession(opened, session);
  const outcome = reading.runs.at(-1);
  if (!outcome) return null;
  showLately(cli, reading);
  cli.say(`the run has ended: \`${cli.self} watch ${session} --replay\` shows it from its beginning`);
  return outcome;
}

/** The scripted model must not end a session that a real model began. */
async function checkKey(cli: Cli, { sessions }: OpenedServer, session: SessionId): Promise<void> {
  const description = await sessions.describe(session);
  if (isUnderWay(description) || description.unseen) refuseWithoutKey(cli.env, description.title);
  await refuseToSpoil(cli.env, sessions);
}
