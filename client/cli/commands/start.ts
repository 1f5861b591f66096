// perdure start: begins a task and leaves it to whoever works.
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { readPrompt } from '../prompt.ts';
import { addRunOptions, type RunFlags, runOptions, workspace } from '../run-options.ts';
import { sayIfNobodyWorks, withServer } from '../with-server.ts';

type Flags = RunFlags & { readonly promptFile?: string };

export function startCommand(program: Command, cli: Cli): void {
  const command = program
    .command('start')
    .description('start a task and print the session’s id')
    .argument('[task]', 'what is to be done; - reads standard input')
    .option('--prompt-file <file>', 'read the task from a file');
  addRunOptions(command).action(async (task: string | undefined, flags: Flags) => {
    cli.exit(await start(cli, task, flags));
  });
}

async function start(cli: Cli, task: string | undefined, flags: Flags): Promise<number> {
  const options = runOptions(flags, cli.cwd);
  const cwd = options.cwd ?? workspace('.', cli.cwd());
  const prompt = await readPrompt(cli, task, flags.promptFile);
  return withServer(cli, async (opened) => {
    const { session } = await opened.sessions.start(prompt, options.session ? options : { ...options, cwd });
    cli.print(`${session}\n`);
    await sayIfNobodyWorks(cli, opened, session);
    return STATUS.ok;
  });
}
