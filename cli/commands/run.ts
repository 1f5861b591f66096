// perdure run: a task from its start to its end, with everything it needs brought up.
import type { Command } from 'commander';
import type { OpenedServer, DumpFlags, UnconfinedFlag } from '../../client/face-types.ts';
import { stayingWorkers } from '../../client/runtime/session-workers.ts';
import { jsonLine } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { DUMP_OPTION, DUMP_READABLE_OPTION, refuseForOthers, withDump } from '../../client/runtime/dump-options.ts';
import { refuseUnconfinedForOthers, UNCONFINED_OPTION, withUnconfined } from '../../client/runtime/unconfined.ts';
import { askUnconfined } from '../ask-unconfined.ts';
import { followRun } from '../follow-run.ts';
import { CONFIG_OPTION, ofNewSession, type ConfigFlags, workerConfig, workersOfNew } from '../worker-config.ts';
import { DEMO_TASK } from '../../scripted-model/demo/demo-task.ts';
import { withoutKey } from '../../worker/keyless.ts';
import { UsageError } from '../errors.ts';
import { refuseToSpoil, refuseWithoutKey } from '../refuse-keyless.ts';
import { MEDIA_OPTION, mediaBlocks, type MediaFlags, withMedia } from '../media-argument.ts';
import { readPrompt } from '../prompt-argument.ts';
import { refuseMistakenRules } from '../refuse-mistaken-rules.ts';
import { addRunOptions, type RunFlags, runOptions, parseWorkspace } from '../run-options.ts';
import { newSessionId } from '../../client/sessions/session-id.ts';
import { withinWorkplace } from '../within-workplace.ts';

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

/** The demo asks nobody. */
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
