// perdure send: gives a session another message. Durable when it returns, with no worker alive.
import type { Command } from 'commander';
import { present } from '../../workflows/contract/present.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { addValue } from '../repeatable.ts';
import { RunFlag, runOptions, type RunFlags } from '../run-options.ts';
import { MEDIA_OPTION, mediaBlocks, type MediaFlags, withMedia } from '../media-argument.ts';
import { readPrompt } from '../prompt-argument.ts';
import { sayIfNobodyWorks, showSent, withSession } from '../with-server.ts';

type Flags = MediaFlags & Pick<RunFlags, 'tags'> & { readonly now?: boolean; readonly promptFile?: string };

export function sendCommand(program: Command, cli: Cli): void {
  program
    .command('send')
    .description('send a session another message; the model reads it before its next call')
    .argument('<id>', 'the session')
    .argument('[text]', 'the message; - reads standard input, and piped input is added after the text')
    .option('--now', 'interrupt the current run for it')
    .option('--prompt-file <file>', 'read the message from a file')
    .option(...MEDIA_OPTION)
    .addOption(
      new RunFlag(
        'tags',
        '--tag <name=value>',
        'the session’s labels from its next run on, in place of those it has; repeatable',
      ).argParser(addValue),
    )
    .action(async (id: string, text: string | undefined, flags: Flags) => {
      cli.exit(await send(cli, id, text, flags));
    });
}

async function send(cli: Cli, id: string, text: string | undefined, flags: Flags): Promise<number> {
  const { now, promptFile, tags } = flags;
  const options = runOptions(present({ tags }), cli.cwd);
  const prompt = withMedia(await readPrompt(cli, text, promptFile), mediaBlocks(cli, flags));
  return withSession(cli, id, async (opened, session) => {
    const { messageId } = await opened.sessions.send(session, prompt, { now: now ?? false, options });
    showSent(cli, session, messageId);
    await sayIfNobodyWorks(cli, opened, session);
    return STATUS.ok;
  });
}
