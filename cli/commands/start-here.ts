// `npm start -- "task"` starts server, worker and page, and runs the task in the folder it was
// called in.
import type { Command } from 'commander';
import type { OpenedServer, UnconfinedFlag } from '../../client/face-types.ts';
import { stayingWorkers } from '../../client/runtime/session-workers.ts';
import { refuseUnconfinedForOthers, UNCONFINED_OPTION, withUnconfined } from '../../client/runtime/unconfined.ts';
import { askUnconfined } from '../ask-unconfined.ts';
import type { Cli } from '../cli.ts';
import { followRun } from '../follow-run.ts';
import { CONFIG_OPTION, ofNewSession, type ConfigFlags, workerConfig, workersOfNew } from '../worker-config.ts';
import { refuseToSpoil, refuseWithoutKey } from '../refuse-keyless.ts';
import { readPrompt } from '../prompt-argument.ts';
import { refuseMistakenRules } from '../refuse-mistaken-rules.ts';
import { addRunOptions, type RunFlags, runOptions, parseWorkspace } from '../run-options.ts';
import { newSessionId } from '../../client/sessions/session-id.ts';
import { withinWorkplace } from '../within-workplace.ts';

type Flags = RunFlags & ConfigFlags & UnconfinedFlag & { readonly json?: boolean };

export function startHereCommand(program: Command, cli: Cli): void {
  const command = program
    .command('start-here', { hidden: true })
    .argument('[task]', 'the task')
    .option('--json', 'print one JSON object per event, the result last')
    .option(...CONFIG_OPTION)
    .option(...UNCONFINED_OPTION);
  addRunOptions(command).action(async (task: string | undefined, flags: Flags) => {
    cli.exit(await startHere(await withUnconfined(cli, flags), task, flags));
  });
}

async function startHere(cli: Cli, task: string | undefined, flags: Flags): Promise<number> {
  // npm changes to the package's folder before it runs a script.
  const here = (): string => cli.env['INIT_CWD'] || cli.cwd();
  const chosen = await workerConfig(cli, flags.config);
  const options = {
    permissionMode: 'acceptEdits',
    cwd: parseWorkspace('.', here()),
    ...runOptions(flags, here),
  } as const;
  refuseMistakenRules(options, chosen.config);
  const prompt = await readPrompt(cli, task, undefined);
  // A staying worker may have a key.
  const id = options.session ?? newSessionId();
  const { taskQueue } = await workersOfNew(cli, chosen, id);
  if ((stayingWorkers(cli.env, taskQueue) ?? 0) === 0) {
    refuseWithoutKey(cli.env, prompt);
    await askUnconfined(cli, chosen.config);
  } else refuseUnconfinedForOthers(flags);
  const beforeWork = ({ sessions }: OpenedServer): Promise<void> => refuseToSpoil(cli.env, sessions);
  return withinWorkplace(
    cli,
    { anywhere: true, beforeWork, chosen, session: options.session },
    async (workplace, signals) => {
      const { session: newId, workers } = workplace;
      const { session, messageId } = await workplace.sessions.start(prompt, {
        ...options,
        newId,
        workers,
        ifNew: ofNewSession(chosen),
      });
      const [{ servePage }, { pagePorts }, { forwardersOf }] = await Promise.all([
        import('../../page/serve-page.ts'),
        import('../../page/ports.ts'),
        import('../../page/hosting/forwarders.ts'),
      ]);
      const page = await servePage(pagePorts(workplace, cli.env), undefined, { forwarders: forwardersOf(cli.env) });
      cli.say(`session ${session}, ops page ${page.entrance()}`);
      try {
        const json = flags.json ?? false;
        const how = { json, onInterrupt: 'interrupt', unattended: 'leave' } as const;
        return await followRun(cli, { workplace, session, messageId, signals, ...how });
      } finally {
        await page.close();
      }
    },
  );
}
