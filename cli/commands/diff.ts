// perdure diff prints what an agent has changed in its folders, between two points of its session
// or in all; perdure apply applies it to another folder (T11).
import type { Command } from 'commander';
import type { SessionDiff, Applied, ConflictKind } from '../../client/faces/types.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { jsonLine } from '../../system/text.ts';
import { colourPatch, statText } from '../render/rewind-plan.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withSession } from '../with-server.ts';
import { resolve } from 'node:path';

type Flags = {
  readonly from?: string;
  readonly to?: string;
  readonly lost?: boolean;
  readonly stat?: boolean;
  readonly json?: boolean;
};

export const POINT = 'a point: the position of an entry, as `show --json` prints it, or RUN.ITERATION';

const HELP = `
Without points it compares the first snapshot with the last one, what people changed meanwhile included.
Snapshots are read from this machine's data folder by git. Ignored files are in none.`;

export function diffCommand(program: Command, cli: Cli): void {
  program
    .command('diff')
    .description('what a session has changed in its folders')
    .argument('<id>', 'the session')
    .argument('[path...]', 'only these files and folders')
    .option('--from <point>', POINT)
    .option('--to <point>', 'as --from')
    .option('--lost', 'from the folder that this machine was left with when the session moved to another host')
    .option('--stat', 'the changed files with counts of lines, without the patch')
    .option('--json', 'print one JSON object')
    .addHelpText('after', HELP)
    .action(async (id: string, paths: readonly string[], flags: Flags) => {
      cli.exit(await diff(cli, id, paths, flags));
    });
}

async function diff(cli: Cli, id: string, paths: readonly string[], { json, ...flags }: Flags): Promise<number> {
  const { stat = false } = flags;
  return withSession(cli, id, async ({ sessions }, session) => {
    const found = await sessions.diff(session, { ...flags, stat, paths });
    if (json === true) cli.print(`${jsonLine({ session, ...found })}\n`);
    else if (stat) cli.print(statWithUncaptured(cli, found));
    else printPatch(cli, found);
    if (!stat && json !== true) for (const line of formatUncaptured(found)) cli.say(line.trimEnd());
    if (!stat && found.patch === null) cli.say('the patch is larger than 64 MB: name some paths, or use --stat');
    return STATUS.ok;
  });
}

const formatUncaptured = ({ uncaptured = [] }: SessionDiff): readonly string[] =>
  uncaptured.map(({ path, why }) => `${oneLine(path, 300)}: ${why}\n`);

function statWithUncaptured({ out }: Cli, found: SessionDiff): string {
  const lines = formatUncaptured(found);
  const stat = found.files.length === 0 && lines.length > 0 ? '' : statText(out, found.files);
  return `${stat}${lines.join('')}`;
}

function printPatch({ print, out, isTerminal }: Cli, { files, patch }: SessionDiff): void {
  if (patch === null) return print(statText(out, files));
  print(isTerminal ? colourPatch(out, patch) : patch);
}

type ApplyFlags = { readonly from?: string; readonly to?: string; readonly toDir?: string; readonly dryRun?: boolean };

const APPLY_HELP = `
A file that differs there from what the agent found is merged; the status is 1 when that leaves conflicts, which are named.
Nothing is written when the folder has changes of the same files that are not committed. Its index and history stay as they are.`;

export function applyCommand(program: Command, cli: Cli): void {
  program
    .command('apply')
    .description('apply the changes of a session to another checkout')
    .argument('<id>', 'the session')
    .argument('[path...]', 'only these files and folders of the session')
    .option('--from <point>', POINT)
    .option('--to <point>', 'as --from')
    .option('--to-dir <dir>', 'the folder to change (default: this one)')
    .option('--dry-run', 'change nothing, and print what would be changed')
    .addHelpText('after', APPLY_HELP)
    .action(async (id: string, paths: readonly string[], flags: ApplyFlags) => {
      cli.exit(await apply(cli, id, paths, flags));
    });
}

async function apply(
  cli: Cli,
  id: string,
  paths: readonly string[],
  { toDir, ...options }: ApplyFlags,
): Promise<number> {
  const { applySession } = await import('../../client/faces/files.ts');
  const folder = resolve(cli.cwd(), toDir ?? '.');
  return withSession(cli, id, async (opened, session) => {
    const applied = await applySession(opened, session, { ...options, paths, folder, env: cli.env });
    cli.print(describeApplied(applied, options.dryRun));
    return applied.conflicts.length > 0 ? STATUS.failed : STATUS.ok;
  });
}

const REASONS: Readonly<Record<ConflictKind, string>> = {
  marked: 'both versions stand in it, between markers',
  changed_here: 'left alone: it was changed or deleted here',
  not_text: 'left alone: it is not text, and differs here',
  blocked: 'left alone: a link or a folder is in its place',
};

export function describeApplied(
  { written, deleted, same, conflicts, uncaptured = [] }: Applied,
  dryRun = false,
): string {
  const [wrote, removed] = dryRun ? ['would write', 'would delete'] : ['wrote', 'deleted'];
  const lines = [
    ...written.map((path) => `${wrote} ${oneLine(path, 300)}`),
    ...deleted.map((path) => `${removed} ${oneLine(path, 300)}`),
    ...conflicts.map(({ path, why }) => `conflict: ${oneLine(path, 300)}: ${REASONS[why]}`),
    ...uncaptured.map(({ path, why }) => `left alone: ${oneLine(path, 300)}: ${why}`),
    ...(same > 0 ? [`${formatCount(same, 'file')} already so`] : []),
  ];
  return lines.length === 0 ? 'nothing to apply\n' : lines.map((line) => `${line}\n`).join('');
}
