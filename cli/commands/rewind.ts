// perdure rewind: takes a session back to an earlier point, with its files, and says first what
// that would do (T6–T8).
import type { Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine } from '../../client/paint.ts';
import { rewoundPartsText } from '../../client/render/steered-words.ts';
import { formatCount } from '../../client/units.ts';
import type { RewindOptions, SessionRewound } from '../../client/sessions/files/rewind-session.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { effectText } from '../../client/render/effect-text.ts';
import type { Opened } from '../../client/runtime/open-server.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { Rewound } from '../../workflows/contract/rewind.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { withEndingWorker } from '../stop-session.ts';
import { withSession } from '../with-server.ts';
import { statText } from '../render/rewind-plan.ts';

type Flags = {
  readonly to?: string;
  readonly conversation?: true;
  readonly files?: true;
  readonly dryRun?: true;
  readonly undo?: true;
  readonly force?: true;
  readonly now?: true;
};

const HELP = `
Without --to it goes back before the last prompt; with neither --conversation nor --files, both go back.
What is left behind stays in the store and counts as spent. What calls did apart from files stays done, and is listed.`;

export function rewindCommand(program: Command, cli: Cli): void {
  program
    .command('rewind')
    .description('take a session back to an earlier point, with its files')
    .argument('<id>', 'the session')
    .option('--to <point>', 'the position of an entry, as `show --json` prints it, RUN.ITERATION, or a message’s id')
    .option('--conversation', 'only the conversation goes back')
    .option('--files', 'only the files go back')
    .option('--dry-run', 'say what would be done')
    .option('--undo', 'undo the last rewind, also one that was an undo')
    .option('--force', 'overwrite files that someone else has changed since the last step')
    .option('--now', 'interrupt what runs first')
    .addHelpText('after', HELP)
    .action(async (id: string, flags: Flags) => {
      const { conversation = false, files = false } = flags;
      if (conversation && files) throw new UsageError('say --conversation or --files, or neither for both');
      if (flags.undo && (flags.to ?? (conversation || files || flags.dryRun)))
        throw new UsageError('--undo goes with --force and --now alone');
      cli.exit(await withSession(cli, id, (opened, session) => rewind(cli, opened, session, flags)));
    });
}

async function rewind(cli: Cli, opened: Opened, session: SessionId, flags: Flags): Promise<number> {
  const { sessions } = opened;
  const { to, conversation, files, dryRun, undo, force = false, now } = flags;
  const described = await sessions.describe(session);
  const taking = <T>(work: () => Promise<T>): Promise<T> => withEndingWorker(cli, opened, described, work);
  if (now) await taking(() => interrupt(sessions, session));
  if (undo) {
    const undone = await taking(() => sessions.undoRewind(session, { force }));
    cli.say(describeRewound(undone));
    return STATUS.ok;
  }
  const options: RewindOptions = {
    ...(to !== undefined && { to }),
    ...(conversation && { files: false }),
    ...(files && { conversation: false }),
    force,
  };
  printPlan(cli, await sessions.rewind(session, { ...options, dryRun: true }));
  if (dryRun) return STATUS.ok;
  const { rewound } = await taking(() => sessions.rewind(session, options));
  if (rewound) cli.say(`${describeRewound(rewound)}; \`${cli.self} rewind ${session} --undo\` undoes it`);
  return STATUS.ok;
}

const LOOK_MS = 200;

/** Resolves when the session is at rest. */
async function interrupt(sessions: PerdureClient, session: SessionId): Promise<void> {
  await sessions.interrupt(session);
  while ((await sessions.describe(session)).phase !== 'idle') await sleep(LOOK_MS);
}

function printPlan(cli: Cli, { rewind: asked, prompt, turns, effects, files, position }: SessionRewound): void {
  if (asked.to !== undefined) {
    const where =
      prompt === null ? `before entry ${position}` : `before the prompt ${JSON.stringify(oneLine(prompt, 80))}`;
    cli.say(`the conversation goes back ${where}: ${formatCount(turns, 'turn')} left behind`);
  }
  if (files === null) cli.say('the files go back on the machine that has them');
  else if (asked.files) cli.print(statText(cli.out, files));
  if (effects.length > 0) {
    cli.say('this stays done:');
    for (const effect of effects.slice(0, MOST_SHOWN)) cli.say(`  ${effectText(effect)}`);
    if (effects.length > MOST_SHOWN) cli.say(`  and ${effects.length - MOST_SHOWN} more`);
  }
}

const MOST_SHOWN = 20;

function describeRewound(rewound: Rewound): string {
  return `went back: ${rewoundPartsText(rewound)}`;
}
