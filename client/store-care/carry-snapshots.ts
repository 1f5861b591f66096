// Takes the snapshots of a session's files along with its export: one pack of git with all that the
// shadow repository of this machine holds of it (T4).
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  gitArguments,
  isSnapshotId,
  openShadow,
  shadowEnvironment,
  snapshotsFolderOf,
} from '../../store/snapshots/shadow.ts';
import { knowledgeIn } from '../../store/snapshots/snapshot-points.ts';
import { hashOf, keySegment } from '../../store/values/store.ts';
import { type Entry, rewoundIn } from '../../store/log/entries.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { ClientProblem } from '../problem.ts';
import { findGit, whyGitFailed } from '../sessions/files/read-shadow.ts';

/**
 * The value that is the pack, and by the names of their refs the last commit of each folder, and
 * the tree of those that it shares.
 */
export type CarriedSnapshots = { readonly pack: Hash; readonly refs: Readonly<Record<string, string>> };

type Where = {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly session: SessionId;
};

/** Bytes of a pack that fits into a line of the file. */
const LARGEST = 180 * 1024 * 1024;
const LONGEST_MS = 10 * 60_000;
/** The name of the ref of snapshots that other sessions have captured: no folder has it. */
const SHARED = '0'.repeat(16);

/** Returns the ids of all snapshots that a transcript names: a fork's, those that it shares too. */
export async function listSnapshotIds(
  transcript: AsyncIterable<{ readonly entry: Entry }>,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const { entry } of transcript) {
    const before = rewoundIn(entry)?.files?.map((root) => root.before) ?? [];
    for (const id of [...knowledgeIn(entry).map((snapshot) => snapshot.id), ...before])
      if (isSnapshotId(id)) ids.add(id);
  }
  return ids;
}

/**
 * Packs what was captured for a session, and those of the snapshots of `ids` that are here. Returns
 * null without any. Throws ClientProblem for what is too large.
 */
export async function packSnapshots(
  where: Where,
  ids: ReadonlySet<string>,
): Promise<{ readonly carried: CarriedSnapshots; readonly bytes: Uint8Array } | null> {
  const { dataDir, session } = where;
  const gitDir = snapshotsFolderOf(dataDir);
  if (!existsSync(join(gitDir, 'HEAD'))) return null;
  const git = createGit(where);
  const prefix = prefixOf(session);
  const listed = await git(['for-each-ref', '--format=%(refname) %(objectname)', prefix]);
  const refs = Object.fromEntries(
    listed
      .split('\n')
      .filter(Boolean)
      .map((line) => line.slice(prefix.length).split(' ') as [string, string]),
  );
  const folder = await mkdtemp(join(gitDir, 'export-'));
  try {
    const shared = await treeOfShared(git, folder, { prefix, ids });
    if (shared !== null) refs[SHARED] = shared;
    if (Object.keys(refs).length === 0) return null;
    const path = join(folder, 'pack');
    await writeFile(join(folder, 'revs'), `${Object.values(refs).join('\n')}\n`);
    await git(['pack-objects', '--revs', '--stdout', '-q'], { from: join(folder, 'revs'), to: path });
    if ((await stat(path)).size > LARGEST)
      throw new ClientProblem('refused', 'its snapshots are too large for the file: give --no-snapshots');
    const bytes = await readFile(path);
    return { carried: { pack: hashOf(bytes), refs }, bytes };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Shared = { readonly prefix: string; readonly ids: ReadonlySet<string> };

/**
 * Makes a tree that holds the snapshots of `ids` that no commit of the session does; null without
 * any. One ref keeps them all.
 */
async function treeOfShared(git: Git, folder: string, { prefix, ids }: Shared): Promise<string | null> {
  const own = new Set((await git(['rev-list', '--format=%T', `--glob=${prefix}`])).split('\n').filter(isSnapshotId));
  const missing = [...ids].filter((id) => !own.has(id));
  if (missing.length === 0) return null;
  const [from, to] = [join(folder, 'asked'), join(folder, 'found')];
  await writeFile(from, `${missing.join('\n')}\n`);
  await git(['cat-file', '--batch-check=%(objectname) %(objecttype)'], { from, to });
  const found = (await readFile(to, 'utf8')).split('\n').filter((line) => line.endsWith(' tree'));
  if (found.length === 0) return null;
  const trees = found.map((line) => line.slice(0, line.indexOf(' ')));
  await writeFile(from, trees.map((id) => `040000 tree ${id}\t${id}\n`).join(''));
  await git(['mktree'], { from, to });
  return (await readFile(to, 'utf8')).trim();
}

/** Adds a pack to this machine's repository. Throws ClientProblem for one that is damaged. */
export async function unpackSnapshots(where: Where, { refs }: CarriedSnapshots, bytes: Uint8Array): Promise<void> {
  const gitDir = snapshotsFolderOf(where.dataDir);
  await openShadow({ gitDir, own: gitDir });
  const git = createGit(where);
  const folder = await mkdtemp(join(gitDir, 'import-'));
  try {
    const path = join(folder, 'pack');
    await writeFile(path, bytes, { mode: 0o600 });
    // Its checks of contents refuse what a folder may well hold, as a link called `.gitmodules`.
    await git(['index-pack', '--stdin'], { from: path, to: '/dev/null' });
    await requireWhole(git, folder, Object.values(refs));
    for (const [name, commit] of Object.entries(refs))
      await git(['update-ref', `${prefixOf(where.session)}${name}`, commit]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Throws ClientProblem where something that these name is not in the repository. */
async function requireWhole(git: Git, folder: string, named: readonly string[]): Promise<void> {
  const from = join(folder, 'named');
  await writeFile(from, named.map((id) => `${id}\n`).join(''));
  await git(['rev-list', '--objects', '--quiet', '--stdin'], { from, to: '/dev/null' });
}

const prefixOf = (session: SessionId): string => `refs/sessions/${keySegment(session)}/`;

type Redirection = { readonly from: string; readonly to: string };

type Git = (args: readonly string[], files?: Redirection) => Promise<string>;

function createGit({ dataDir, env }: Where): Git {
  const gitDir = snapshotsFolderOf(dataDir);
  const { git, runOnShadow } = findGit(dataDir, env);
  return async (args, files) => {
    const plain = gitArguments(git, { gitDir }, args);
    const script = 'from=$1; to=$2; shift 2; exec "$@" < "$from" > "$to"';
    const argv = files ? ['sh', '-c', script, 'sh', files.from, files.to, ...plain] : plain;
    const end = await runOnShadow(argv, shadowEnvironment(), LONGEST_MS);
    if (end.exit.code === 0) return end.stdout;
    throw new ClientProblem('refused', `its snapshots are damaged: ${whyGitFailed(end)}`);
  };
}
