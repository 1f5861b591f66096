// Frees what the shadow repository of this machine holds of sessions that are gone, and packs what
// it holds of the others (T4).
import { existsSync, type Stats } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../system/text.ts';
import {
  freeUnnamed,
  isPackingDue,
  LONGEST_PACKING_MS,
  measureShadow,
  type Packing,
  type PackingBounds,
  packShadow,
  readRoom,
  readStoreNote,
  type ShadowRoom,
  type ShadowSize,
  STORE_NOTE,
  withPackingLock,
} from '../../store/snapshots/pack-shadow.ts';
import { gitArguments, shadowEnvironment, snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { HostedSessions } from '../../store/hosted-sessions.ts';
import { keySegment } from '../../store/values/store.ts';
import { ClientProblem } from '../problem.ts';
import { findGit, whyGitFailed } from '../sessions/files/read-shadow.ts';

type CleanSnapshots = {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The store whose sessions are known; `isOwn`: it is that of the data folder itself. */
  readonly store: { readonly id: string; readonly isOwn: boolean };
  /** The names in keys of all sessions whose snapshots stay. */
  readonly known: ReadonlySet<string>;
  /** Milliseconds since the epoch: what was captured since then stays. */
  readonly olderThan: number;
  readonly dryRun: boolean;
};

export type CleanedSnapshots = {
  /** Sessions that are gone and whose snapshots were freed. */
  readonly sessions: number;
  /** Sessions of other stores: whether they are gone is not known here, and they stay. */
  readonly others: number;
  /** Bytes of the disk by which the repository became smaller. */
  readonly freed: number;
  /** Its size, and the bound. */
  readonly size: ShadowSize;
  readonly room: ShadowRoom;
};

/** Someone who asks for it waits for it: little is left as it is. */
const BOUNDS: PackingBounds = { loose: 100, packs: 10 };
/** A worker may be packing. Milliseconds. */
const WAIT_MS = 60_000;

/** Throws ClientProblem without git; a repository that is missing has nothing to free. */
export async function cleanSnapshots(cleaning: CleanSnapshots): Promise<CleanedSnapshots> {
  const { dataDir, env, dryRun } = cleaning;
  const gitDir = snapshotsFolderOf(dataDir);
  const before = await measureShadow(gitDir, 'exact');
  let others = 0;
  const done = async (sessions: number, isSame = false): Promise<CleanedSnapshots> => {
    const size = isSame ? before : await measureShadow(gitDir, 'exact');
    return { sessions, others, freed: Math.max(0, before.bytes - size.bytes), size, room: readRoom(gitDir) };
  };
  if (!existsSync(join(gitDir, 'HEAD'))) return done(0, true);
  const unknown = await findUnknown(gitDir, cleaning);
  const removable = unknown.filter((segment) => isOfStore(gitDir, segment, cleaning));
  others = unknown.length - removable.length;
  if (dryRun) return done(removable.length, true);
  const left = await findLeft(gitDir, cleaning);
  for (const path of left) await rm(path, { recursive: true, force: true });
  if (removable.length === 0 && !isPackingDue(before, BOUNDS)) return done(0, left.length === 0);
  const found = findGit(dataDir, env);
  const run = createRun(found);
  const packing: Packing = { gitDir, git: found.git, run };
  await withPackingLock(gitDir, WAIT_MS, async () => {
    for (const segment of removable) await removeSession(packing, segment, run);
    if (removable.length > 0) await freeUnnamed(packing);
    await packShadow(packing, BOUNDS);
  });
  return done(removable.length);
}

/** Refs are files here: git alone removes packed ones, and its lock may be left. */
async function removeSession({ gitDir, git }: Packing, segment: string, run: RunPrinting): Promise<void> {
  await rm(join(gitDir, 'refs', 'sessions', segment), { recursive: true, force: true });
  const list = ['for-each-ref', '--format=%(refname)', `refs/sessions/${segment}/`];
  const refs = (await run(gitArguments(git, { gitDir }, list))).split('\n');
  for (const ref of refs.filter(Boolean)) await run(gitArguments(git, { gitDir }, ['update-ref', '-d', ref]));
  await rm(join(gitDir, 'sessions', segment), { recursive: true, force: true });
}

/**
 * Returns the sessions that are unknown and have captured nothing for some time; what a host was
 * left with stays while it is listed (T19).
 */
async function findUnknown(gitDir: string, { dataDir, known, olderThan }: CleanSnapshots): Promise<readonly string[]> {
  const sessions = join(gitDir, 'sessions');
  const lostSegments = new Set(new HostedSessions(dataDir).listLost().map(({ session }) => keySegment(session)));
  const found: string[] = [];
  for (const segment of await namesIn(sessions)) {
    if (known.has(segment) || lostSegments.has(segment)) continue;
    const own = join(sessions, segment);
    // A session that has just begun has a note and no folder yet.
    const roots = (await namesIn(own)).filter((name) => name !== STORE_NOTE).map((name) => join(own, name));
    const stats = await Promise.all([own, ...roots].map(statIfThere));
    if (stats.every((one) => one === undefined || one.mtimeMs < olderThan)) found.push(segment);
  }
  return found;
}

/** Sessions without a note were captured when a data folder had one store. */
function isOfStore(gitDir: string, segment: string, { store }: CleanSnapshots): boolean {
  const noted = readStoreNote(join(gitDir, 'sessions', segment));
  return noted === null ? store.isOwn : noted === store.id;
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

type RunPrinting = (argv: readonly string[]) => Promise<string>;

function createRun({ runOnShadow }: ReturnType<typeof findGit>): RunPrinting {
  return async (argv) => {
    const end = await runOnShadow(argv, shadowEnvironment(), LONGEST_PACKING_MS);
    if (end.exit.code === 0) return end.stdout;
    throw new ClientProblem('refused', `the snapshots of files were not freed or packed: ${whyGitFailed(end)}`);
  };
}
