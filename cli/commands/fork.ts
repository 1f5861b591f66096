// perdure fork: begins a session of its own that goes on from a point of another one, with files of
// its own (T10).
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine } from '../../client/faces/start.ts';
import type { ForkOptions, ForkResult, SessionDescription, OpenedServer } from '../../client/faces/types.ts';
import { jsonLine } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { withEndingWorker } from '../stop-session.ts';
import { sayIfNobodyWorks, withSession } from '../with-server.ts';
import { readPrompt } from '../prompt-argument.ts';

type Flags = {
  readonly at?: string;
  /** False for --no-files. */
  readonly files?: string | false;
  readonly worktree?: boolean | string;
  readonly promptFile?: string;
  readonly json?: true;
};

const HELP = `
Without --at the fork has all that is there now, also while the session runs; with it, what was before that point.
Where files were captured, it works in a copy of them in a new folder beside the session's own; else,
and with --no-files, in the same folder.`;

export function forkCommand(program: Command, cli: Cli): void {
  program
    .command('fork')
    .description('start a new session from a point in another one, and print its id')
    .argument('<id>', 'the session')
    .argument('[prompt]', 'its first message; - reads standard input')
    .option('--at <point>', 'the position of an entry, as `show --json` prints it, RUN.ITERATION, or a message’s id')
    .option('--files <dir>', 'a new folder for the files as they were then')
    .option('--no-files', 'work in the same folder')
    .option('--worktree [dir]', 'the same, as a git work tree on a branch of its own')
    .option('--prompt-file <file>', 'read the message from a file')
    .option('--json', 'print one JSON object')
    .addHelpText('after', HELP)
    .action(async (id: string, text: string | undefined, flags: Flags) => {
      cli.exit(await fork(cli, id, text, flags));
    });
}

async function fork(cli: Cli, id: string, text: string | undefined, flags: Flags): Promise<number> {
  const { at, worktree, promptFile, json } = flags;
  if (flags.files === false && worktree) throw new UsageError('use --no-files or --worktree, not both');
  const folder = typeof flags.files === 'string' ? flags.files : typeof worktree === 'string' ? worktree : undefined;
  const prompt = text === undefined && promptFile === undefined ? undefined : await readPrompt(cli, text, promptFile);
  const options: ForkOptions = {
    ...(at !== undefined && { at }),
    ...(prompt !== undefined && { prompt }),
    ...(folder !== undefined && { files: resolve(cli.cwd(), folder) }),
    ...(flags.files === false && { files: false as const }),
    ...(worktree && { worktree: true }),
  };
  return withSession(cli, id, async (opened, session) => {
    const forked = await opened.sessions.fork(session, options);
    const described = await awaitFiles(cli, opened, forked);
    cli.print(
      json
        ? `${jsonLine({ ...forked, ...(described.forkFiles && { forkFiles: described.forkFiles }) })}\n`
        : `${forked.session}\n`,
    );
    if (described.forkFiles?.state === 'refused') {
      cli.say(`nothing was forked: ${oneLine(described.forkFiles.problem ?? 'its files cannot be checked out', 500)}`);
      return STATUS.failed;
    }
    if (!json) cli.say(describeFork(forked, described));
    await sayIfNobodyWorks(cli, opened, forked.session);
    return STATUS.ok;
  });
}

function describeFork({ cwd, files }: ForkResult, { forkFiles }: SessionDescription): string {
  if (!files) return `it works in the same folder, ${oneLine(cwd, 300)}`;
  const branch = forkFiles?.branch === undefined ? '' : ` on branch ${forkFiles.branch}`;
  if (forkFiles?.state === 'done') return `its files are in ${oneLine(forkFiles.folder, 300)}${branch}`;
  return `its files will be in ${oneLine(cwd, 300)} once a worker has checked them out`;
}

const LOOK_MS = 50;
/** A large folder takes its time; the fork is there in any case. */
const PATIENCE_MS = 30_000;
/** A worker of our own ends with this command, and what it checks out with it. */
const OWN_PATIENCE_MS = 15 * 60_000;

/** Resolves when the files of a fork are there, or nobody is there to check them out. */
async function awaitFiles(cli: Cli, opened: OpenedServer, { session, files }: ForkResult): Promise<SessionDescription> {
  const { sessions } = opened;
  const first = await sessions.describe(session);
  if (!files) return first;
  return await withEndingWorker(cli, opened, first, async ({ ownWorker }) => {
    const until = Date.now() + (ownWorker ? OWN_PATIENCE_MS : PATIENCE_MS);
    for (let now = first; ; now = await sessions.describe(session)) {
      if (now.forkFiles?.state !== 'pending' || Date.now() > until) return now;
      await sleep(LOOK_MS);
    }
  });
}
