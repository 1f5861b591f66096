// perdure gc: drops from the store what no session reaches, or says what it would drop (W4).
import type { Command } from 'commander';
import { formatCount, formatSize } from '../../client/faces/basics.ts';
import { shellWord } from '../../client/faces/start.ts';
import type { CleanResult, CleanedSnapshots, KeptWorktree } from '../../client/faces/types.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { addValue } from '../repeatable.ts';
import { parseTime } from '../run-options.ts';
import { isInside } from '../../system/process/places.ts';
import { withServer } from '../with-server.ts';

type Flags = { readonly dryRun?: boolean; readonly olderThan?: string; readonly goneNamespace?: readonly string[] };

const HELP = `
A value that no session names is set aside first, where a session that names it again still finds it. The next gc after the same time removes it.
Nothing is deleted when any session cannot be read.`;

export function gcCommand(program: Command, cli: Cli): void {
  program
    .command('gc')
    .description('delete stored data that no session uses')
    .option('--dry-run', 'change nothing, and print what would be dropped')
    .option('--older-than <time>', 'leave alone what is younger: 1d or more (default: 1d)')
    .option(
      '--gone-namespace <id>',
      'this Temporal namespace is no more, and its sessions are gone; repeatable',
      addValue,
    )
    .addHelpText('after', HELP)
    .action(async (flags: Flags) => {
      cli.exit(await collect(cli, flags));
    });
}

async function collect(cli: Cli, { dryRun = false, olderThan, goneNamespace = [] }: Flags): Promise<number> {
  const {
    cleanSnapshots,
    cleanStore,
    describeFreeRoom,
    Files,
    findKeptMemories,
    findKeptSecrets,
    GRACE_MS,
    measureDatabase,
    openStore,
    Skills,
  } = await import('../../client/faces/store-care.ts');
  const graceMs = olderThan === undefined ? GRACE_MS : parseTime('--older-than', olderThan);
  if (graceMs < GRACE_MS) throw new UsageError(`--older-than ${olderThan ?? ''} is too short: give 1d or more`);
  return withServer(cli, async ({ temporal, folder, embedded }) => {
    const { care, id, store: values } = openStore({ ...folder, dataDir: folder.root });
    const store = await id();
    const versions = await new Skills(values, Date.now).kept();
    const files = new Set([...(await new Files(values, Date.now).log.read()).keys(), ...versions]);
    const isMemoryKept = await findKeptMemories(values, Date.now);
    const isSecretKept = await findKeptSecrets(values, Date.now);
    const isResourceKept = (key: string): boolean | undefined => isMemoryKept(key) ?? isSecretKept(key);
    const options = { graceMs, dryRun, files, isResourceKept, goneNamespaces: goneNamespace };
    const cleaning = { temporal: temporal.client, care, store, ...options };
    const cleaned = await cleanStore(cleaning);
    const isOwn = isInside(folder.root, folder.storePlace);
    const where = { dataDir: folder.root, env: cli.env, known: cleaned.known, store: { id: store, isOwn } };
    const snapshots = await cleanSnapshots({ ...where, olderThan: Date.now() - graceMs, dryRun });
    cli.print(gcReport({ ...cleaned, snapshots }, dryRun));
    const size = embedded && measureDatabase(folder.temporalDb);
    const room = size && describeFreeRoom(folder.temporalDb, size);
    if (room) cli.print(`${room}\n`);
    return STATUS.ok;
  });
}

/** The findings, without the names of sessions. */
type GcFindings = Omit<CleanResult, 'known'> & { readonly snapshots: CleanedSnapshots };

export function gcReport(
  { sessions, aside: unnamed, values, records, freed, putBack, worktrees, snapshots }: GcFindings,
  dryRun: boolean,
): string {
  const would = dryRun ? 'would be ' : '';
  const lines = [
    `${formatCount(values.objects, 'value')} that had been set aside ${would}removed, ${formatSize(values.bytes)}`,
    `${formatCount(records.objects, 'record')} of ${formatCount(records.sessions, 'session')} that are gone ${would}removed, ${formatSize(records.bytes)}`,
    `${formatSize(freed)} ${would}freed`,
    `${formatCount(unnamed.objects, 'value')} that no session names ${would}set aside, ${formatSize(unnamed.bytes)}`,
    ...(putBack > 0 ? [`${formatCount(putBack, 'value')} that a session names again ${would}put back`] : []),
    ...snapshotLines(snapshots, would),
    `what ${formatCount(sessions, 'session')} reach stays`,
    ...worktreeLines(worktrees),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function snapshotLines({ sessions, others, freed, size, room }: CleanedSnapshots, would: string): readonly string[] {
  const { bytes, loose, packs } = size;
  const removed = `the snapshots of files of ${formatCount(sessions, 'session')} that are gone ${would}removed`;
  const parts = `${formatCount(loose, 'loose object')}, ${formatCount(packs, 'pack')}`;
  const now = `the snapshots of files take ${formatSize(bytes)} of at most ${formatSize(room.diskBytes)}: ${parts}`;
  return [
    ...(sessions > 0 ? [would === '' ? `${removed}, ${formatSize(freed)}` : removed] : []),
    ...(others > 0
      ? [`the snapshots of files of ${formatCount(others, 'session')} of other stores stay: run gc with those stores`]
      : []),
    ...(bytes > 0 ? [sessions === 0 && freed > 0 ? `${now}; ${formatSize(freed)} freed` : now] : []),
    ...(bytes > room.diskBytes ? ['no more are taken until there is room: snapshots.diskBytes is the bound'] : []),
  ];
}

/** Tells how to remove the work trees that stay (L72). */
function worktreeLines(worktrees: readonly KeptWorktree[]): readonly string[] {
  if (worktrees.length === 0) return [];
  const removal = ({ tree, common, holder }: KeptWorktree): string =>
    `  git --git-dir=${shellWord(common)} worktree remove --force --force ${shellWord(tree)}; rm -rf ${shellWord(holder)}`;
  const stay = worktrees.length === 1 ? 'stays, and' : 'stay, and';
  return [
    `${formatCount(worktrees.length, 'work tree')} of sessions that are gone ${stay} may hold work that is on no branch; to remove:`,
    ...worktrees.map(removal),
  ];
}
