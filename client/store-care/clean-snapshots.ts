// Frees what the shadow repository of this machine holds of sessions that are gone (T4).
import { existsSync, type Stats } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, onOneLine } from '../../system/text.ts';
import { gitArguments, shadowEnvironment, snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { ClientProblem } from '../problem.ts';
import { findGit } from '../sessions/files/read-shadow.ts';

export type CleanSnapshots = {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The names in keys of all sessions whose snapshots stay. */
  readonly known: ReadonlySet<string>;
  /** Milliseconds since the epoch: what was captured since then stays. */
  readonly olderThan: number;
  readonly dryRun: boolean;
};

export type CleanedSnapshots = {
  /** Sessions that are gone and whose snapshots were freed. */
  readonly sessions: number;
  /** Bytes by which the repository became smaller. */
  readonly freed: number;
};

/** From so many packs on they are made into one. */
const MANY_PACKS = 50;
/** A worker may write objects that no snapshot names yet. */
const GRACE = '1.day.ago';
const LONGEST_MS = 30 * 60_000;

/** Throws ClientProblem without git; a repository that is missing has nothing to free. */
export async function cleanSnapshots(cleaning: CleanSnapshots): Promise<CleanedSnapshots> {
  const { dataDir, env, dryRun } = cleaning;
  const gitDir = snapshotsFolderOf(dataDir);
  if (!existsSync(join(gitDir, 'HEAD'))) return { sessions: 0, freed: 0 };
  const gone = await findGone(gitDir, cleaning);
  if (dryRun) return { sessions: gone.length, freed: 0 };
  const left = await findLeft(gitDir, cleaning);
  const before = await sizeOf(gitDir);
  if (gone.length + left.length === 0 && before.packs <= MANY_PACKS) return { sessions: 0, freed: 0 };
  for (const path of left) await rm(path, { recursive: true, force: true });
  const run = createRun(gitDir, findGit(dataDir, env));
  for (const segment of gone) {
    const refs = (await run(['for-each-ref', '--format=%(refname)', `refs/sessions/${segment}/`])).split('\n');
    for (const ref of refs.filter(Boolean)) await run(['update-ref', '-d', ref]);
    await rm(join(gitDir, 'sessions', segment), { recursive: true, force: true });
  }
  await run(['repack', '-A', '-d', '-q', `--unpack-unreachable=${GRACE}`]);
  await run(['prune', `--expire=${GRACE}`]);
  return { sessions: gone.length, freed: Math.max(0, before.bytes - (await sizeOf(gitDir)).bytes) };
}

/** Returns the sessions that are unknown and have captured nothing for some time. */
async function findGone(gitDir: string, { known, olderThan }: CleanSnapshots): Promise<readonly string[]> {
  const sessions = join(gitDir, 'sessions');
  const gone: string[] = [];
  for (const segment of await namesIn(sessions)) {
    if (known.has(segment)) continue;
    const roots = await namesIn(join(sessions, segment));
    const times = await Promise.all(roots.map(async (root) => (await stat(join(sessions, segment, root))).mtimeMs));
    if (times.every((time) => time < olderThan)) gone.push(segment);
  }
  return gone;
}

/** Returns packs that were being received when a capture or a worker was killed. */
async function findLeft(gitDir: string, { olderThan }: CleanSnapshots): Promise<readonly string[]> {
  const left: string[] = [];
  for (const name of await namesIn(join(gitDir, 'incoming'))) {
    const path = join(gitDir, 'incoming', name);
    const stats = await statIfThere(path);
    if (stats && stats.mtimeMs < olderThan) left.push(path);
  }
  return left;
}

/** Captures go on meanwhile, and rename what they write. */
async function statIfThere(path: string): Promise<Stats | undefined> {
  return await stat(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    return undefined;
  });
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return existsSync(folder) ? await readdir(folder) : [];
}

async function sizeOf(gitDir: string): Promise<{ readonly bytes: number; readonly packs: number }> {
  let [bytes, packs] = [0, 0];
  const folders = ['objects', 'incoming'].map((name) => join(gitDir, name)).filter((path) => existsSync(path));
  const lists = folders.map((path) => readdir(path, { recursive: true, withFileTypes: true }));
  for (const entry of (await Promise.all(lists)).flat()) {
    if (!entry.isFile()) continue;
    if (entry.name.endsWith('.pack')) packs += 1;
    bytes += (await statIfThere(join(entry.parentPath, entry.name)))?.size ?? 0;
  }
  return { bytes, packs };
}

function createRun(
  gitDir: string,
  { git, runOnShadow }: ReturnType<typeof findGit>,
): (args: readonly string[]) => Promise<string> {
  return async (args) => {
    const argv = gitArguments(git, { gitDir }, args);
    const { exit, stdout, stderr } = await runOnShadow(argv, shadowEnvironment(), LONGEST_MS);
    if (exit.code === 0) return stdout;
    const why = onOneLine(stderr.trim()) || 'git failed';
    throw new ClientProblem('refused', `the snapshots of sessions that are gone were not freed: ${why}`);
  };
}
