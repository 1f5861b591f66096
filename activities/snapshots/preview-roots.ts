// Says what a rewind would do to the folders of a session, and what would stop it (T7). A folder is
// captured as it is, as before a real one; nothing in it is written.
import { showPath, type SnapshotChange } from '../../store/snapshots/listing.ts';
import { waysBelow } from '../../store/snapshots/nested-roots.ts';
import {
  ForeignProblem,
  previewRestore,
  type RestorePreview,
  type Restoring,
} from '../../store/snapshots/preview-restore.ts';
import { compareSnapshots, type SnapshotMeans } from '../../store/snapshots/take-snapshot.ts';
import type { FilesPreview, RootPreview, FolderRewind } from '../../workflows/contract/rewind.ts';
import { present } from '../../workflows/contract/present.ts';
import { describeWriter, findProgramsInUse } from './programs-in-use.ts';
import type { RewindAbout } from './snapshots-port.ts';
import { captureNow, fetchSnapshots, isStop, openRoot, type RewindMeans, sumUntaken } from './rewind-means.ts';

/** Bounds what travels to the client: changes of one folder, and characters of their paths. */
const MOST_CHANGES = 2_000;
const MOST_CHARACTERS = 200_000;

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
