// perdure top: shows all sessions live, with keys that act on them, or once when the output is not
// a terminal.
import type { Command } from 'commander';
import { reasonOf } from '../../system/text.ts';
import { ClientProblem, isPlain } from '../../client/faces/start.ts';
import type { OpenedServer, WaitingApproval } from '../../client/faces/types.ts';
import { parseFilter } from '../../client/faces/lists.ts';
import { type TopFrame, topLines } from '../render/top.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withServer } from '../with-server.ts';
import { asTyped, FILTER_HELP, parseWholeNumber } from './list.ts';

type Flags = { readonly every: number };

/** Number of sessions to ask for: more than any terminal has rows. */
const MOST = 200;
/** Columns where the output isn't a terminal. */
const COLUMNS = 120;

export function topCommand(program: Command, cli: Cli): void {
  program
    .command('top')
    .description(
      'show all sessions, live, in groups, with keys that act on them; once when there is no terminal, and with --plain',
    )
    .argument('[filter...]', 'only those that it means')
    .option('--every <seconds>', 'how often it looks', parseWholeNumber, 2)
    .addHelpText('after', FILTER_HELP)
    .action(async (filter: readonly string[], flags: Flags) => {
      cli.exit(await showTop(cli, asTyped(filter), flags.every * 1_000));
    });
}

async function showTop(cli: Cli, filter: string, everyMs: number): Promise<number> {
  parseFilter(filter);
  let follow: string | null = null;
  const status = await withServer(cli, async (opened) => {
    const look = createLook(opened);
    const frame = await look(filter);
    if (!cli.isTerminal || isPlain(cli.env)) {
      const plain = {
        now: Date.now(),
        columns: cli.out.columns() ?? COLUMNS,
        sort: 'age',
        selected: null,
        note: null,
      } as const;
      cli.print(`${topLines(cli.out, frame, plain).join('\n')}\n`);
      return STATUS.ok;
    }
    const { runTop } = await import('../top/run-top.ts');
    const again = (wanted: string, before: TopFrame): Promise<TopFrame> => lookAgain(look, wanted, before);
    const outcome = await runTop(cli, opened, { frame, everyMs, look: again });
    follow = outcome.follow;
    return outcome.status;
  });
  if (follow === null) return status;
  const { watch } = await import('./watch.ts');
  return watch(cli, follow, {});
}

type Look = (filter: string) => Promise<TopFrame>;

/** Reads a waiting call from the store only when it is another one than before. */
function createLook({ sessions }: Pick<OpenedServer, 'sessions'>): Look {
  let known = '';
  let waiting: readonly WaitingApproval[] = [];
  return async (filter) => {
    const [counts, { sessions: rows, note }] = await Promise.all([
      sessions.counts({ filter, running: true }),
      sessions.page({ filter, size: MOST, running: true }),
    ]);
    const calls = rows.flatMap(({ session, approvals = [] }) => approvals.map(({ call }) => `${session} ${call}`));
    if (calls.join('\n') !== known) waiting = calls.length === 0 ? [] : await sessions.approvals();
    known = calls.join('\n');
    const approvals = new Map(
      rows.map(({ session }) => [session as string, waiting.filter((one) => one.session === session)]),
    );
    return { counts, sessions: rows, approvals, trouble: note ?? null, filter };
  };
}

/** Keeps the last frame on the screen while the server is away, since it may come back. */
async function lookAgain(look: Look, filter: string, before: TopFrame): Promise<TopFrame> {
  try {
    return await look(filter);
  } catch (error) {
    if (error instanceof ClientProblem) return { ...before, trouble: reasonOf(error) };
    throw error;
  }
}
