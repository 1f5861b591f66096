// perdure rewind: takes a session back to an earlier point, with its files, and says first what
// that would do (T6–T8).
import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { rewoundPartsText, turnsText } from '../../client/faces/options.ts';
import type { RewindOptions, RewindResult, PerdureClient, OpenedServer, SessionId } from '../../client/faces/types.ts';
import { jsonLine } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { withEndingWorker } from '../stop-session.ts';
import { withSession } from '../with-server.ts';
import { planText } from '../render/rewind-plan.ts';

type Flags = {
  readonly to?: string;
  readonly conversation?: true;
  readonly files?: true;
  readonly dryRun?: true;
  readonly undo?: true;
  readonly force?: true;
  readonly now?: true;
  readonly all?: true;
  readonly json?: true;
};

const HELP = `
Without --to it goes back before the last prompt; with neither --conversation nor --files, both go back.
What is left behind stays in the store and counts as spent. What calls did apart from files stays done, and is listed.`;

export function rewindCommand(program: Command, cli: Cli): void {
  program
    .command('rewind')
    .description('rewind a session to an earlier point, with its files')
    .argument('<id>', 'the session')
    .option('--to <point>', 'the position of an entry, as `show --json` prints it, RUN.ITERATION, or a message’s id')
    .option('--conversation', 'only the conversation goes back')
    .option('--files', 'only the files go back')
    .option('--dry-run', 'say what would be done, and what would stop it')
    .option('--undo', 'undo the last rewind, also one that was an undo')
    .option('--force', 'overwrite files that someone else has changed since the last step, or has open for writing')
    .option('--now', 'interrupt what runs first')
    .option('--all', 'list all files, not only the first 20')
    .option('--json', 'print one JSON object')
    .addHelpText('after', HELP)
    .action(async (id: string, flags: Flags) => {
      const { conversation = false, files = false } = flags;
      if (conversation && files) throw new UsageError('use --conversation or --files, or neither for both');
      if (flags.undo && (flags.to ?? (conversation || files || flags.dryRun || flags.all)))
        throw new UsageError('--undo can only be combined with --force, --now and --json');
      cli.exit(await withSession(cli, id, (opened, session) => rewind(cli, opened, session, flags)));
    });
}

/** Runs one step; on another server each looks for a worker of its own. */
type RunStep = <T>(step: () => Promise<T>) => Promise<T>;

async function rewind(cli: Cli, opened: OpenedServer, session: SessionId, flags: Flags): Promise<number> {
  const { sessions, embedded } = opened;
  const described = await sessions.describe(session);
  const withWorker: RunStep = (step) => withEndingWorker(cli, opened, described, step);
  const all = (runStep: RunStep): Promise<number> => rewindInSteps(cli, sessions, session, { flags, runStep });
  // On our own server one worker is brought up for all steps. On another, where nobody works, the
  // snapshots say what they can before that is an error.
  return embedded === null ? all(withWorker) : withWorker(() => all((step) => step()));
}

type Steps = { readonly flags: Flags; readonly runStep: RunStep };

async function rewindInSteps(
  cli: Cli,
  sessions: PerdureClient,
  session: SessionId,
  { flags, runStep }: Steps,
): Promise<number> {
  const { to, conversation, files, dryRun, undo, force = false, now, all = false, json = false } = flags;
  if (now) await runStep(() => interrupt(sessions, session));
  if (undo) {
    const { turns, ...rewound } = await runStep(() => sessions.undoRewind(session, { force }));
    if (json) cli.print(`${jsonLine({ session, rewound, turns })}\n`);
    else cli.say(`went back: ${rewoundPartsText(rewound)}${turnsText(turns)}`);
    return STATUS.ok;
  }
  const options: RewindOptions = {
    ...(to !== undefined && { to }),
    ...(conversation && { files: false }),
    ...(files && { conversation: false }),
    force,
  };
  if (dryRun || !json) {
    const plan = await sessions.rewind(session, { ...options, dryRun: true });
    if (json) cli.print(planJson(session, plan));
    else cli.print(planText(cli.out, plan, all));
  }
  if (dryRun) return STATUS.ok;
  const done = await runStep(() => sessions.rewind(session, options));
  if (json) cli.print(planJson(session, done));
  else
    cli.say(`went back: ${rewoundPartsText(done.rewound ?? {})}; \`${cli.self} rewind ${session} --undo\` undoes it`);
  return STATUS.ok;
}

/** The request itself names snapshots and heads: it is for the session alone. */
function planJson(session: SessionId, plan: RewindResult): string {
  return `${jsonLine({ session, ...plan, rewind: undefined })}\n`;
}

const LOOK_MS = 200;

/** Resolves when the session is at rest. */
async function interrupt(sessions: PerdureClient, session: SessionId): Promise<void> {
  await sessions.interrupt(session);
  while ((await sessions.describe(session)).phase !== 'idle') await sleep(LOOK_MS);
}
