// perdure send and compact: gives a session another message, or the request to sum up what was said
// as soon as nothing else runs in it. Durable when it returns, with no worker alive.
import type { Command } from 'commander';
import { operations } from '../../client/operations/operations.ts';
import type { Prompt, SendOptions } from '../../client/index.ts';
import { present } from '../../workflows/contract/present.ts';
import type { Cli } from '../cli.ts';
import { MEDIA_OPTION, mediaBlocks, type MediaFlags, withMedia } from '../media-argument.ts';
import { readPrompt } from '../prompt-argument.ts';
import { addValue } from '../repeatable.ts';
import { RunFlag, runOptions, type RunFlags } from '../run-options.ts';
import { steerSession } from '../steer-session.ts';
import { sayIfNobodyWorks, showSent } from '../with-server.ts';

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
      const { now = false, promptFile, tags } = flags;
      const options = runOptions(present({ tags }), cli.cwd);
      const prompt = withMedia(await readPrompt(cli, text, promptFile), mediaBlocks(cli, flags));
      cli.exit(await sendMessage(cli, id, { prompt, now, options }));
    });
}

export function compactCommand(program: Command, cli: Cli): void {
  program
    .command('compact')
    .description('summarize the conversation of a session as soon as nothing else is running in it')
    .argument('<id>', 'the session')
    .argument('[instructions...]', 'what the summary must keep')
    .action(async (id: string, words: readonly string[]) => {
      const instructions = words.join(' ').trim();
      const compact = instructions === '' ? {} : { instructions };
      cli.exit(await sendMessage(cli, id, { prompt: `/compact ${instructions}`.trim(), compact }));
    });
}

function sendMessage(cli: Cli, id: string, request: SendOptions & { readonly prompt: Prompt }): Promise<number> {
  return steerSession(cli, { id, operation: operations.send, request }, (session, { messageId }, opened) => {
    showSent(cli, session, messageId);
    return sayIfNobodyWorks(cli, opened, session);
  });
}
