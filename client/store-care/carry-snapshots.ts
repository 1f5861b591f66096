// Takes the snapshots of a session's files along with its export: one pack of git with all that the
// shadow repository of this machine holds of it (T4).
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onOneLine } from '../../system/text.ts';
import { gitArguments, openShadow, shadowEnvironment, snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { hashOf, keySegment } from '../../store/values/store.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { ClientProblem } from '../problem.ts';
import { findGit } from '../sessions/files/read-shadow.ts';

/** The value that is the pack, and the last commit of each folder by the name of its ref. */
export type CarriedSnapshots = { readonly pack: Hash; readonly refs: Readonly<Record<string, string>> };

type Where = {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly session: SessionId;
};

/** Bytes of a pack that fits into a line of the file. */
const LARGEST = 180 * 1024 * 1024;
const LONGEST_MS = 10 * 60_000;

/** Returns null where nothing was captured. Throws ClientProblem for what is too large. */
export async function packSnapshots(
  where: Where,
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
  if (Object.keys(refs).length === 0) return null;
  const folder = await mkdtemp(join(gitDir, 'export-'));
  try {
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

/** Adds a pack to this machine's repository. Throws ClientProblem for one that is damaged. */
export async function unpackSnapshots(where: Where, { refs }: CarriedSnapshots, bytes: Uint8Array): Promise<void> {
  const gitDir = snapshotsFolderOf(where.dataDir);
  await openShadow({ gitDir, own: gitDir });
  const git = createGit(where);
  const folder = await mkdtemp(join(gitDir, 'import-'));
  try {
    const path = join(folder, 'pack');
    await writeFile(path, bytes, { mode: 0o600 });
    await git(['index-pack', '--stdin', '--strict'], { from: path, to: '/dev/null' });
    for (const [name, commit] of Object.entries(refs))
      await git(['update-ref', `${prefixOf(where.session)}${name}`, commit]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const prefixOf = (session: SessionId): string => `refs/sessions/${keySegment(session)}/`;

type Redirection = { readonly from: string; readonly to: string };

function createGit({ dataDir, env }: Where): (args: readonly string[], files?: Redirection) => Promise<string> {
  const gitDir = snapshotsFolderOf(dataDir);
  const { git, runIn } = findGit(dataDir, env);
  return async (args, files) => {
    const plain = gitArguments(git, { gitDir }, args);
    const script = 'from=$1; to=$2; shift 2; exec "$@" < "$from" > "$to"';
    const argv = files ? ['sh', '-c', script, 'sh', files.from, files.to, ...plain] : plain;
    const { exit, stdout, stderr } = await runIn(argv, gitDir, shadowEnvironment(), LONGEST_MS);
    if (exit.code === 0) return stdout;
    throw new ClientProblem('refused', `its snapshots are damaged: ${onOneLine(stderr.trim()) || 'git failed'}`);
  };
}
