// perdure apply: writes what a session has changed onto another checkout (T11).
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Applied, ConflictKind } from '../../client/face-types.ts';
import { oneLine } from '../../client/paint.ts';
import { formatCount } from '../../client/units.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withSession } from '../with-server.ts';
import { POINT } from './diff.ts';

type Flags = { readonly from?: string; readonly to?: string; readonly toDir?: string; readonly dryRun?: boolean };

const HELP = `
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
    .addHelpText('after', HELP)
    .action(async (id: string, paths: readonly string[], flags: Flags) => {
      cli.exit(await apply(cli, id, paths, flags));
    });
}

async function apply(cli: Cli, id: string, paths: readonly string[], { toDir, ...options }: Flags): Promise<number> {
  const { applySession } = await import('../../client/sessions/files/apply-session.ts');
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
