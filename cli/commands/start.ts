// perdure start: begins a task and leaves it to any worker.
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { MEDIA_OPTION, mediaBlocks, type MediaFlags, withMedia } from '../media-argument.ts';
import { readPrompt } from '../prompt-argument.ts';
import { refuseMistakenRules } from '../refuse-mistaken-rules.ts';
import { addRunOptions, type RunFlags, runOptions, parseWorkspace } from '../run-options.ts';
import { newSessionId } from '../../client/sessions/session-id.ts';
import { sayIfNobodyWorks, withServer } from '../with-server.ts';
import {
  CONFIG_OPTION,
  type ConfigFlags,
  ofNewSession,
  placeConfig,
  workerConfig,
  workersOfNew,
} from '../worker-config.ts';

type Flags = RunFlags & ConfigFlags & MediaFlags & { readonly promptFile?: string };

export function startCommand(program: Command, cli: Cli): void {
  const command = program
    .command('start')
    .description('start a task and print the session’s id')
    .argument('[task]', 'the task; - reads standard input, and piped input is added after the text')
    .option('--prompt-file <file>', 'read the task from a file')
    .option(...MEDIA_OPTION)
    .option(...CONFIG_OPTION);
  addRunOptions(command).action(async (task: string | undefined, flags: Flags) => {
    cli.exit(await start(cli, task, flags));
  });
}

async function start(cli: Cli, task: string | undefined, flags: Flags): Promise<number> {
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
