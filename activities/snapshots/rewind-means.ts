// Previews a rewind of files, and shares with the rewind itself how a folder is captured as it is
// and where missing snapshots come from.
import { existsSync } from 'node:fs';
import { realOf } from '../../system/process/places.ts';
import { reasonOf } from '../../system/text.ts';
import type { Log } from '../../system/log.ts';
import { hasSnapshot } from '../../store/snapshots/compare.ts';
import { showPath, type SnapshotChange } from '../../store/snapshots/listing.ts';
import { fetchPacks } from '../../store/snapshots/packs.ts';
import {
  RestoreProblem,
  type Restoring,
  type UntakenFile,
  ForeignProblem,
  previewRestore,
  type RestorePreview,
} from '../../store/snapshots/preview-restore.ts';
import { openShadow, placeOfRoot, snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { readWithLeftBehind } from '../../store/log/read-chain.ts';
import { type SnapshotMeans, takeSnapshot, compareSnapshots } from '../../store/snapshots/take-snapshot.ts';
import { describeUncaptured } from '../../store/snapshots/uncaptured.ts';
import type { Store } from '../../store/values/store.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import type { FolderRewind, RemainingFiles, FilesPreview, RootPreview } from '../../workflows/contract/rewind.ts';
import { isGitRefusal, runGitHeld } from './run-git-held.ts';
import type { RewindAbout } from './snapshots-port.ts';
import { waysBelow } from '../../store/snapshots/nested-roots.ts';
import { present } from '../../workflows/contract/present.ts';
import { describeWriter, findProgramsInUse } from './programs-in-use.ts';

export type RewindMeans = Pick<SnapshotMeans, 'caps' | 'include' | 'personal' | 'capture' | 'packs'> & {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  /** Has what other hosts have captured. */
  readonly store?: Store;
  readonly log?: Log;
};

/** Tells whether a rewind is refused with the sentence of an error. */
export const isStop = (error: unknown): error is Error => error instanceof RestoreProblem || isGitRefusal(error);

export function openMeans(options: RewindMeans, { attempt, step }: RewindAbout, root: string): SnapshotMeans {
  const { session, signal } = attempt;
  const git = options.sandbox.programs.at('git');
  const place = placeOfRoot(options.dataDir, session, root);
  return { ...options, place, git, run: runGitHeld(options, signal), about: { session, rewind: step } };
}

/** Opens a folder that is to go back. Throws RestoreProblem where it cannot. */
export async function openRoot(
  options: RewindMeans,
  about: RewindAbout,
  { root, to }: FolderRewind,
): Promise<SnapshotMeans> {
  if (realOf(root) !== root)
    throw new RestoreProblem(
      `${root} is not there any longer, or a link is in its place: files go back only where they were. If it has moved, move it back, ` +
        `or leave files alone (\`perdure rewind --conversation\`) and go on with \`perdure run --session ${about.attempt.session} --cwd DIR\``,
    );
  const means = openMeans(options, about, root);
  if (!(await hasSnapshot({ ...means, ...means.place }, to)))
    throw new RestoreProblem(`the snapshot of ${root} is not on this machine`);
  // Someone may have removed the folder of the session, and left the repository.
  await openShadow(means.place);
  return means;
}

type Captured = Required<Pick<Restoring, 'now' | 'leftOut'>>;

/** Captures a folder as it is now. */
export async function captureNow(means: SnapshotMeans): Promise<Captured> {
  try {
    const { id: now, leftOut } = await takeSnapshot(means, null);
    return { now, leftOut };
  } catch (error) {
    // The process that captures is started anew where it was killed.
    throw new RestoreProblem(`${means.place.root} cannot be captured: ${reasonOf(error)}`);
  }
}

/**
 * Brings what another host has captured, where one of the snapshots is not here. Throws
 * RestoreProblem for a folder that the session has captured nowhere.
 */
export async function fetchSnapshots(options: RewindMeans, { from, roots, attempt }: RewindAbout): Promise<void> {
  const { store, sandbox, dataDir } = options;
  const { session, signal } = attempt;
  const gitDir = snapshotsFolderOf(dataDir);
  const reading = { gitDir, git: sandbox.programs.at('git'), run: runGitHeld(options, signal) };
  await openShadow({ gitDir, own: gitDir });
  const isHere = roots.map(({ root }) => existsSync(placeOfRoot(dataDir, session, root).own));
  const areStored = await Promise.all(
    roots.flatMap(({ known, to }) => [known, to]).map((id) => hasSnapshot(reading, id)),
  );
  if ([...isHere, ...areStored].every(Boolean)) return;
  const entries = from === undefined || !store ? [] : await readWithLeftBehind(store, session, from);
  const captured = entries.flatMap((entry) => (entry.kind === 'files' ? entry.roots : []));
  const foreign = roots.find(({ root }, at) => isHere[at] !== true && !captured.some((one) => one.root === root));
  if (foreign) throw new RestoreProblem(`${foreign.root} was never captured on this machine`);
  if (store) await fetchPacks(reading, store, entries);
}

function describeUntaken(why: UntakenFile['why']): string {
  if (why === 'git_made') return "git's own folder, made since then, stays";
  if (why === 'git_gone') return "git's own folder, gone since then, is in no snapshot";
  return describeUncaptured(why, 'it was not captured then');
}

const MOST_UNTAKEN = 20;

/** Sums up the files that stay; undefined without any. */
export function sumUntaken(untaken: readonly UntakenFile[]): RemainingFiles | undefined {
  if (untaken.length === 0) return undefined;
  return {
    count: untaken.length,
    first: untaken.slice(0, MOST_UNTAKEN).map(({ path, why }) => ({ path: showPath(path), why: describeUntaken(why) })),
  };
}

/** Bounds what travels to the client: changes of one folder, and characters of their paths. */
const MOST_CHANGES = 2_000;
const MOST_CHARACTERS = 200_000;

/**
 * Reports what a rewind would do to the folders of a session, and what would stop it (T7). Each is
 * captured as it is, as before a real one; nothing in it is written.
 */
export async function previewRoots(options: RewindMeans, about: RewindAbout): Promise<FilesPreview> {
  const { attempt } = about;
  try {
    await fetchSnapshots(options, about);
    const roots: RootPreview[] = [];
    for (const request of about.roots) roots.push(await previewRoot(options, about, request));
    return { kind: 'looked', roots };
  } catch (error) {
    attempt.signal.throwIfAborted();
    if (!isStop(error)) throw error;
    return { kind: 'refused', problem: error.message };
  }
}

async function previewRoot(options: RewindMeans, about: RewindAbout, request: FolderRewind): Promise<RootPreview> {
  const { root, known, to, nested } = request;
  const apart = waysBelow(root, about.roots);
  const { attempt, force = false } = about;
  const means = { ...(await openRoot(options, about, request)), held: [known] };
  const { now, leftOut } = await captureNow(means);
  const { changes, untaken, stop } = await previewAnyway(means, { known, now, leftOut, to, force, apart, nested });
  const { dataDir } = options;
  const { named, writer } = await findProgramsInUse({ dataDir, session: attempt.session, root, changes });
  const problems = [
    ...(stop === undefined ? [] : [stop]),
    ...(writer === null || force ? [] : [describeWriter(writer)]),
  ];
  const unlessEmpty = (words: readonly string[]) => (words.length > 0 ? words : undefined);
  const more = { untaken: sumUntaken(untaken), problems: unlessEmpty(problems), inUse: unlessEmpty(named) };
  return { root, count: changes.length, changes: takeFirst(changes), ...present(more) };
}

type Stopped = RestorePreview & { readonly stop?: string };

/** Lists what would change also where something stands in the way. */
async function previewAnyway(means: SnapshotMeans, restoring: Restoring): Promise<Stopped> {
  try {
    return await previewRestore(means, restoring);
  } catch (error) {
    if (!isStop(error)) throw error;
    const stop = error.message;
    if (error instanceof ForeignProblem)
      return { stop, ...(await previewAnyway(means, { ...restoring, force: true })) };
    return { stop, changes: await compareSnapshots(means, restoring.now, restoring.to), untaken: [] };
  }
}

function takeFirst(changes: readonly SnapshotChange[]): RootPreview['changes'] {
  let left = MOST_CHARACTERS;
  const listed = changes.slice(0, MOST_CHANGES).map(({ path, ...change }) => ({ path: showPath(path), ...change }));
  return listed.filter(({ path }) => (left -= path.length) >= 0);
}
