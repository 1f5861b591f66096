// perdure top-up, snip, btw, repair, send, compact and move: each acts on one session, through the
// worker that has it or will take it.
import type { Command } from 'commander';
import { operations, callMethod, type Fields, type Operation } from '../../client/operations/operations.ts';
import { LIMITS } from '../../client/faces/options.ts';
import type { NewLimits, OpenedServer, SessionId, Prompt, SendOptions } from '../../client/faces/types.ts';
import { formatCount, present } from '../../client/faces/basics.ts';
import { asideCost } from '../../client/faces/words.ts';
import type { Cli } from '../cli.ts';
import { readFlags, RunFlag, type RunFlags, runOptions } from '../run-options.ts';
import { UsageError, STATUS } from '../errors.ts';
import { jsonLine, showUnseen } from '../../system/text.ts';
import { withDecidingWorker } from '../decide-session.ts';
import { withSession, sayIfNobodyWorks, showSent } from '../with-server.ts';
import { addValue } from '../repeatable.ts';
import { MEDIA_OPTION, mediaBlocks, type MediaFlags, readPrompt, withMedia } from '../prompt-argument.ts';
import { oneLine } from '../../client/faces/start.ts';

type Flags = Pick<RunFlags, keyof NewLimits> & { readonly exact?: true };

const limitNames = Object.keys(LIMITS) as readonly (keyof NewLimits)[];

export function topUpCommand(program: Command, cli: Cli): void {
  const command = program
    .command('top-up')
    .description('raise limits of the current run; each counts from the start of the run')
    .argument('<id>', 'the session');
  for (const name of limitNames) {
    const { flag = '', raises, hint = '' } = LIMITS[name];
    command.addOption(new RunFlag(name, flag, `${raises}${hint}`));
  }
  command
    .option('--exact', 'set them as given, also where that is lower, or where the run has no limit')
    .action(async (id: string, { exact, ...flags }: Flags) => {
      const limits = { ...(readFlags(flags, limitNames, cli.cwd) as NewLimits), ...(exact && { exact }) };
      const report = (session: string): void => cli.say(`session ${session} continues with the new limits`);
      cli.exit(await steerSession(cli, { id, operation: operations.topUp, request: { limits } }, report));
    });
}

export function snipCommand(program: Command, cli: Cli): void {
  program
    .command('snip')
    .description('hide entries from the model; they stay in the transcript')
    .argument('<id>', 'the session')
    .argument('<entry...>', 'positions of entries, as `perdure show ID --json` prints them')
    .action(async (id: string, texts: readonly string[]) => {
      const wrong = texts.find((text) => !/^\d+$/.test(text));
      if (wrong !== undefined) throw new UsageError(`${JSON.stringify(wrong)} is not the position of an entry`);
      const entries = texts.map(Number);
      const status = await steerSession(
        cli,
        { id, operation: operations.snip, request: { entries } },
        (_, { later }) => {
          for (const line of resultLines(new Set(entries).size, new Set(later))) cli.say(line);
        },
      );
      cli.exit(status);
    });
}

function resultLines(all: number, later: ReadonlySet<number>): readonly string[] {
  const now = all - later.size;
  const next = `${formatCount(now, 'entry', 'entries')} will be hidden from the model from its next request on`;
  const rest = 'will be hidden from the model after its current turn, which still needs its signed thinking';
  return [...(now > 0 ? [next] : []), ...[...later].map((position) => `entry ${position} ${rest}`)];
}

export function btwCommand(program: Command, cli: Cli): void {
  program
    .command('btw')
    .description(
      'ask the model of a session a side question: the conversation keeps no trace of it, and the run continues',
    )
    .argument('<id>', 'the session')
    .argument('<question...>', 'what you want to know')
    .option('--json', 'print the answer and what it cost as JSON')
    .action(async (id: string, words: readonly string[], { json = false }: { readonly json?: boolean }) => {
      const status = await steerSession(
        cli,
        { id, operation: operations.askAside, request: { question: words.join(' ') } },
        (session, reply) => {
          cli.print(json ? `${jsonLine({ session, ...reply })}\n` : `${showUnseen(reply.answer)}\n`);
          if (!json) cli.say(asideCost(reply));
        },
      );
      cli.exit(status);
    });
}

export function repairCommand(program: Command, cli: Cli): void {
  program
    .command('repair')
    .description('report what a damaged transcript has lost, and let the session continue without it')
    .argument('<id>', 'the session')
    .option('--apply', 'repair the session; otherwise nothing changes')
    .action(async (id: string, { apply = false }: { readonly apply?: boolean }) => {
      cli.exit(await withSession(cli, id, (opened, session) => repairSession(cli, opened, session, apply)));
    });
}

async function repairSession(cli: Cli, opened: OpenedServer, session: SessionId, apply: boolean): Promise<number> {
  const damage = await opened.sessions.damage(session);
  if (damage.kind === 'whole') {
    cli.say(
      `session ${session} needs no repair: it can continue as it is. \`${cli.self} show ${session}\` names what is damaged, if anything is`,
    );
    return STATUS.ok;
  }
  cli.say(`damaged: ${damage.problem}`);
  if (damage.kind === 'lost') {
    cli.say(`session ${session} has no intact step: restore its store from a backup, or start a new session`);
    return STATUS.failed;
  }
  const { status, taskQueue } = await opened.sessions.describe(session);
  cli.say(`${damage.lost}. A backup of the store may have it`);
  if (status !== 'open') {
    cli.say(`session ${session} is closed: it cannot continue, and nothing was changed`);
    return STATUS.failed;
  }
  if (!apply) {
    cli.say(`nothing was changed: \`${cli.self} repair ${session} --apply\` lets the session continue without it`);
    return STATUS.failed;
  }
  await withDecidingWorker(cli, opened, taskQueue, () => opened.sessions.repair(session));
  cli.say(`session ${session} continues from its last intact step: send the lost messages again`);
  return STATUS.ok;
}

type SendFlags = MediaFlags & Pick<RunFlags, 'tags'> & { readonly now?: boolean; readonly promptFile?: string };

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
    .action(async (id: string, text: string | undefined, flags: SendFlags) => {
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

export function moveCommand(program: Command, cli: Cli): void {
  program
    .command('move')
    .description('move a session with its files to another host, where hosts share a store')
    .argument('<id>', 'the session')
    .option('--host <host>', 'the PERDURE_HOST of the workers that take it (default: any other)')
    .action(async (id: string, request: { readonly host?: string }) => {
      const status = await steerSession(cli, { id, operation: operations.move, request }, (session, moved) =>
        cli.say(
          moved.kind === 'later'
            ? `session ${session} moves before its next model call, or when its background agents have ended`
            : `session ${session} is on host ${oneLine(moved.host.name, 60)} now`,
        ),
      );
      cli.exit(status);
    });
}

type Steering<Request, Result> = {
  /** The session's id, or the beginning of it. */
  readonly id: string;
  readonly operation: Operation<Request, Result>;
  readonly request: NoInfer<Request>;
};

/**
 * Does an operation on a session, once its request is known to be right. `report` tells the person
 * the result. Throws UsageError for a wrong request.
 */
async function steerSession<Request extends Fields, Result>(
  cli: Cli,
  { id, operation, request }: Steering<Request, Result>,
  report: (session: SessionId, result: Result, opened: OpenedServer) => void | Promise<void>,
): Promise<number> {
  const problem = await operation.problemOf?.(request);
  if (problem !== undefined) throw new UsageError(problem);
  return withSession(cli, id, async (opened, session) => {
    await report(session, await callMethod(opened.sessions, operation, session, request), opened);
    return STATUS.ok;
  });
}
