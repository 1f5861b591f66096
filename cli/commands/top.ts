// perdure top: shows all sessions live until Ctrl-C, or once when the output is not a terminal.
import type { Command } from 'commander';
import { pause } from '../../system/async.ts';
import { reasonOf } from '../../system/text.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { type TopFrame, topLines } from '../render/top.ts';
import { parseFilter } from '../../client/sessions/find/parse-filter.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withServer } from '../with-server.ts';
import { asTyped, FILTER_HELP, parseWholeNumber } from './list.ts';

type Flags = { readonly every: number };

/** Number of sessions to ask for: more than any terminal has rows. */
const MOST = 200;

export function topCommand(program: Command, cli: Cli): void {
  program
    .command('top')
    .description('show all sessions, live, until Ctrl-C; once when standard output is no terminal')
    .argument('[filter...]', 'only those that it means')
    .option('--every <seconds>', 'how often it looks', parseWholeNumber, 2)
    .addHelpText('after', FILTER_HELP)
    .action(async (filter: readonly string[], flags: Flags) => {
      cli.exit(await showTop(cli, asTyped(filter), flags.every * 1_000));
    });
}

async function showTop(cli: Cli, filter: string, everyMs: number): Promise<number> {
  parseFilter(filter);
  return withServer(cli, async ({ sessions }) => {
    let frame = await lookOnce(sessions, filter);
    if (!cli.isTerminal) {
      cli.print(`${topLines(cli.out, frame, Date.now()).join('\n')}\n`);
      return STATUS.ok;
    }
    const screen = ownScreen(cli);
    try {
      while (!cli.unread.aborted) {
        screen.draw(topLines(cli.out, frame, Date.now(), cli.size().rows));
        await pause(everyMs, cli.unread);
        frame = await lookAgain(sessions, filter, frame);
      }
      return STATUS.unread;
    } finally {
      screen.close();
    }
  });
}

async function lookOnce(sessions: PerdureClient, filter: string): Promise<TopFrame> {
  const [counts, { sessions: shown, note }] = await Promise.all([
    sessions.counts({ filter }),
    sessions.page({ filter, size: MOST }),
  ]);
  return { counts, sessions: shown, trouble: note ?? null, filter };
}

/** Keeps the last frame on the screen while the server is away, since it may come back. */
async function lookAgain(sessions: PerdureClient, filter: string, before: TopFrame): Promise<TopFrame> {
  try {
    return await lookOnce(sessions, filter);
  } catch (error) {
    if (error instanceof ClientProblem) return { ...before, trouble: reasonOf(error) };
    throw error;
  }
}

/** Opens the terminal's second screen; closing it shows the previous content again. */
function ownScreen(cli: Cli): { draw(lines: readonly string[]): void; close(): void } {
  let isOpen = true;
  const close = (): void => {
    if (isOpen) cli.print('\u001b[?7h\u001b[?25h\u001b[?1049l');
    isOpen = false;
    process.off('exit', close);
  };
  // A signal leaves the server at once.
  process.on('exit', close);
  cli.print('\u001b[?1049h\u001b[?25l\u001b[?7l');
  return {
    // Do not wrap lines: the terminal cuts a long one.
    draw: (lines) => cli.print(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join('\n')}\u001b[J`),
    close,
  };
}
