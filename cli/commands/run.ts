// perdure run and start begin a session: `run` brings up what the task needs and follows it to its
// end; `start` leaves it to any worker, and is durable when it returns. `npm start` runs the hidden
// start-here, in the folder that it was called in.
import type { Command } from 'commander';
import type { OpenedServer, DumpFlags, UnconfinedFlag } from '../../client/faces/types.ts';
import { stayingWorkers } from '../../client/faces/workers.ts';
import { withoutKey } from '../../client/faces/processes.ts';
import {
  DUMP_OPTION,
  DUMP_READABLE_OPTION,
  refuseForOthers,
  withDump,
  refuseUnconfinedForOthers,
  UNCONFINED_OPTION,
  withUnconfined,
} from '../../client/faces/flags.ts';
import { newSessionId } from '../../client/faces/basics.ts';
import { jsonLine } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import {
  askUnconfined,
  CONFIG_OPTION,
  type ConfigFlags,
  ofNewSession,
  placeConfig,
  refuseMistakenRules,
  refuseToSpoil,
  refuseWithoutKey,
  workerConfig,
  workersOfNew,
} from '../worker-config.ts';
import { followRun } from '../follow-run.ts';
import { DEMO_TASK } from '../../scripted-model/demo/demo-task.ts';
import { UsageError, STATUS } from '../errors.ts';
import { MEDIA_OPTION, mediaBlocks, type MediaFlags, withMedia, readPrompt } from '../prompt-argument.ts';
import { addRunOptions, type RunFlags, runOptions, parseWorkspace } from '../run-options.ts';
import { withinWorkplace } from '../within-workplace.ts';
import { sayIfNobodyWorks, withServer } from '../with-server.ts';

type Flags = RunFlags &
  DumpFlags &
  ConfigFlags &
  MediaFlags &
  UnconfinedFlag & {
    readonly promptFile?: string;
    readonly json?: boolean;
    readonly wait?: boolean;
    readonly demo?: boolean;
  };

export function runCommand(program: Command, cli: Cli): void {
  const command = program
    .command('run')
    .description('start a task, follow it, print what it says and does')
    .argument('[task]', 'the task; - reads standard input, and piped input is added after the text')
    .option('--prompt-file <file>', 'read the task from a file')
    .option(...MEDIA_OPTION)
    .option('--json', 'print one JSON object per event, the session first, the result last')
    .option('--wait', 'without a terminal, wait for decisions made elsewhere (default: exit with status 3)')
    .option('--demo', 'run the built-in demo on a scripted model, without an API key; it writes LINES.md')
    .option(...CONFIG_OPTION)
    .option(...UNCONFINED_OPTION)
    .option(...DUMP_OPTION)
    .option(...DUMP_READABLE_OPTION);
  addRunOptions(command).action(async (task: string | undefined, flags: Flags) => {
    const place = flags.demo ? { ...cli, env: withoutKey(cli.env) } : cli;
    cli.exit(await runTask(await withUnconfined(await withDump(place, flags), flags), task, flags));
  });
}

/** The demo runs without questions. */
const DEMO = { permissionMode: 'acceptEdits' } as const;

/** Throws UsageError when another task is given. */
function demoTask(text: string | undefined, { promptFile }: Flags): string {
  if (text === undefined && promptFile === undefined) return DEMO_TASK;
  throw new UsageError('--demo has a task of its own: leave out the text and --prompt-file');
}

async function runTask(cli: Cli, text: string | undefined, flags: Flags): Promise<number> {
  const chosen = await workerConfig(cli, flags.config);
  const options = { ...(flags.demo && DEMO), ...runOptions(flags, cli.cwd) };
  refuseMistakenRules(options, chosen.config);
  const ifNew = ofNewSession(chosen);
  const cwd = options.cwd ?? parseWorkspace('.', cli.cwd());
  const task = flags.demo ? demoTask(text, flags) : await readPrompt(cli, text, flags.promptFile);
  const prompt = withMedia(task, mediaBlocks(cli, flags));
  const id = options.session ?? newSessionId();
  const { taskQueue } = await workersOfNew(cli, chosen, id);
  const staying = stayingWorkers(cli.env, taskQueue);
  if (staying === 0) refuseWithoutKey(cli.env, task);
  else refuseForOthers(flags);
  if (staying !== 0) refuseUnconfinedForOthers(flags);
  // The demo runs no command.
  else if (!flags.demo) await askUnconfined(cli, chosen.config);
  const beforeWork = ({ sessions }: OpenedServer): Promise<void> => refuseToSpoil(cli.env, sessions);
  return withinWorkplace(
    cli,
    { anywhere: false, beforeWork, chosen, session: options.session },
    async (workplace, signals) => {
      const { session: newId, workers } = workplace;
      const { session, messageId } = await workplace.sessions.start(
        prompt,
        options.session ? { ...options, workers, ifNew } : { ...options, cwd, newId, workers, ifNew },
      );
      cli.say(`session ${session}`);
      const json = flags.json ?? false;
      // A program may have to stop the run or decide for it long before its result.
      if (json) cli.print(`${jsonLine({ type: 'session', sessionId: session })}\n`);
      const unattended = flags.wait ? 'wait' : 'leave';
      return followRun(cli, { workplace, session, messageId, json, signals, onInterrupt: 'interrupt', unattended });
    },
  );
}

type StartFlags = RunFlags & ConfigFlags & MediaFlags & { readonly promptFile?: string };

export function startCommand(program: Command, cli: Cli): void {
  const command = program
    .command('start')
    .description('start a task and print the session’s id')
    .argument('[task]', 'the task; - reads standard input, and piped input is added after the text')
    .option('--prompt-file <file>', 'read the task from a file')
    .option(...MEDIA_OPTION)
    .option(...CONFIG_OPTION);
  addRunOptions(command).action(async (task: string | undefined, flags: StartFlags) => {
    cli.exit(await start(cli, task, flags));
  });
}

async function start(cli: Cli, task: string | undefined, flags: StartFlags): Promise<number> {
  const options = runOptions(flags, cli.cwd);
  const cwd = options.cwd ?? parseWorkspace('.', cli.cwd());
  const prompt = withMedia(await readPrompt(cli, task, flags.promptFile), mediaBlocks(cli, flags));
  const chosen = await workerConfig(cli, flags.config);
  refuseMistakenRules(options, chosen.config);
  return withServer(cli, async (opened) => {
    const id = options.session ?? newSessionId();
    const newWorkers = await workersOfNew(cli, chosen, id);
    const { workers } = options.session
      ? await placeConfig(cli, opened, chosen, { session: id, mine: newWorkers })
      : { workers: newWorkers };
    const settings = options.session ? options : { ...options, cwd, newId: id };
    const { session } = await opened.sessions.start(prompt, { ...settings, workers, ifNew: ofNewSession(chosen) });
    cli.print(`${session}\n`);
    await sayIfNobodyWorks(cli, opened, session);
    return STATUS.ok;
  });
}

type HereFlags = RunFlags & ConfigFlags & UnconfinedFlag & { readonly json?: boolean };

export function startHereCommand(program: Command, cli: Cli): void {
  const command = program
    .command('start-here', { hidden: true })
    .argument('[task]', 'the task')
    .option('--json', 'print one JSON object per event, the result last')
    .option(...CONFIG_OPTION)
    .option(...UNCONFINED_OPTION);
  addRunOptions(command).action(async (task: string | undefined, flags: HereFlags) => {
    cli.exit(await startHere(await withUnconfined(cli, flags), task, flags));
  });
}

async function startHere(cli: Cli, task: string | undefined, flags: HereFlags): Promise<number> {
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
        import('../../page/hosting/page-host.ts'),
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
