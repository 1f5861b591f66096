// Brings the folders of a session back to snapshots (T7): what would be changed is checked in all
// of them before anything is, and the files as they are now are captured first. The record of that
// makes a second attempt go on where the first was killed.
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../system/json.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { FilesRewound, FolderRewind, FolderRewindRecord } from '../../workflows/contract/rewind.ts';
import { present } from '../../workflows/contract/present.ts';
import { isAtOrBelow, type RawPath, type SnapshotChange } from '../../store/snapshots/listing.ts';
import { waysBelow } from '../../store/snapshots/nested-roots.ts';
import {
  ForeignProblem,
  previewRestore,
  RestoreProblem,
  type UntakenFile,
} from '../../store/snapshots/preview-restore.ts';
import { restore } from '../../store/snapshots/restore.ts';
import { compareSnapshots, type SnapshotMeans } from '../../store/snapshots/take-snapshot.ts';
import { createGivenUpError } from '../attempt.ts';
import { describeWriter, findProgramsInUse } from './programs-in-use.ts';
import type { RewindAbout } from './snapshots-port.ts';
import {
  captureNow,
  fetchSnapshots,
  isStop,
  openMeans,
  openRoot,
  type RewindMeans,
  sumUntaken,
} from './rewind-means.ts';
import { findNamedUpTo, sendNewPacks } from './send-new-packs.ts';
import { type HeldFile, listHeldPairs, readHeld, type ShadowReading } from '../../store/snapshots/compare.ts';

type Prepared = {
  readonly means: SnapshotMeans;
  readonly request: FolderRewind;
  /** Folders in it that go back by themselves. */
  readonly apart: readonly RawPath[];
  /** The files as they were last captured, and right before the rewind. */
  readonly now: string;
  readonly before: string;
  readonly changes: readonly SnapshotChange[];
  readonly untaken: readonly UntakenFile[];
  /** Files that this attempt and those before it write or delete. */
  readonly files: number;
  readonly inUse: readonly string[];
};

export async function rewindRoots(options: RewindMeans, about: RewindAbout): Promise<FilesRewound> {
  const { attempt } = about;
  // A folder within another goes back first: the other's capture has it then.
  const roots = about.roots.toSorted((one, other) => other.root.length - one.root.length);
  try {
    await fetchSnapshots(options, about);
    const prepared: Prepared[] = [];
    for (const request of roots) prepared.push(await prepare(options, about, request));
    const done: FolderRewindRecord[] = [];
    for (const each of prepared) {
      const ready = await prepareAgain(about, each);
      // A worker that was frozen until now may have been replaced.
      if (!(await attempt.fence())) throw createGivenUpError(attempt);
      const { request, now, apart, changes } = ready;
      await restore(ready.means, { ...request, now, apart, changes });
      done.push(await describeDone(options, about, ready));
    }
    const inOrder = about.roots.flatMap(({ root }) => done.filter((one) => one.root === root));
    return { kind: 'done', roots: inOrder };
  } catch (error) {
    attempt.signal.throwIfAborted();
    if (!isStop(error)) throw error;
    const left: string[] = [];
    for (const request of roots) left.push(...(await takeBack(options, about, request)));
    return { kind: 'refused', problem: [error.message, ...left].join('; ') };
  }
}

/**
 * Looks at what lies there now: not all files go back with a snapshot. What was captured stays
 * captured, also where a rule that is back ignores it: an undo must know it. Other hosts can undo
 * it by the packs that this one has stored.
 */
async function describeDone(
  { store, log, packs = false }: RewindMeans,
  { attempt: { session }, from }: RewindAbout,
  { means, request, before, files, untaken, inUse }: Prepared,
): Promise<FolderRewindRecord> {
  const { root, known, to } = request;
  const { now } = await captureNow({ ...means, held: [known, before, to] });
  const isNamed = store && from !== undefined ? findNamedUpTo(store, session, from) : () => new Set<Hash>();
  const sent = store && packs ? await sendNewPacks({ store, log }, { session, place: means.place }, isNamed) : [];
  const unlessEmpty = <T>(list: readonly T[]) => (list.length > 0 ? list : undefined);
  const more = { untaken: sumUntaken(untaken), inUse: unlessEmpty(inUse), packs: unlessEmpty(sent) };
  return { root, before, to, ...(now !== to && { after: now }), files, ...present(more) };
}

async function prepare(options: RewindMeans, about: RewindAbout, request: FolderRewind): Promise<Prepared> {
  const { root, known, to, nested } = request;
  const apart = waysBelow(root, about.roots);
  const opened = await openRoot(options, about, request);
  const { place } = opened;
  const start = readBegun(place.own, about.step);
  const means = { ...opened, held: start === null ? [known] : [known, start, to] };
  const { now, leftOut } = await captureNow(means);
  // Files that an earlier attempt has written are not foreign.
  if (start !== null && about.force !== true) {
    const changed = await findForeignChanges({ ...means, ...place }, { start, now, to });
    const foreign = [...changed].find((path) => !isAtOrBelow(path, apart));
    if (foreign !== undefined) throw new ForeignProblem(foreign);
  }
  const force = about.force === true || start !== null;
  // The comparison has read what is to be written: nothing of it is missing or damaged.
  const { changes, untaken } = await previewRestore(means, { known, now, leftOut, to, force, apart, nested });
  const { dataDir } = options;
  const { named: inUse, writer } = await findProgramsInUse({ dataDir, ...about.attempt, root, changes });
  // A program that came while an earlier attempt wrote does not keep this one from ending it.
  if (writer !== null && !force) throw new RestoreProblem(describeWriter(writer));
  if (start === null) writeBegun(place.own, { step: about.step, before: now });
  const all = start === null ? changes : await compareSnapshots(means, start, to);
  const files = all.filter(({ path }) => !isAtOrBelow(path, apart)).length;
  return { means, request, apart, now, before: start ?? now, changes, untaken, files, inUse };
}

/** Looks once more right before a folder is written: the others may have taken long. */
async function prepareAgain({ step, force }: RewindAbout, prepared: Prepared): Promise<Prepared> {
  const { means, request, apart, now: known, before } = prepared;
  const { now, leftOut } = await captureNow(means);
  if (now === known) return prepared;
  const preview = await previewRestore(means, { known, now, leftOut, to: request.to, force: force === true, apart });
  if (before !== known) return { ...prepared, now, ...preview };
  writeBegun(means.place.own, { step, before: now });
  return { ...prepared, now, before: now, ...preview, files: preview.changes.length };
}

/**
 * Puts back what the attempts of a rewind that is refused now have changed, except what others
 * have changed since, and returns what keeps a folder from that. One in which it would overwrite
 * what no snapshot holds stays as it is.
 */
async function takeBack(
  options: RewindMeans,
  about: RewindAbout,
  { root, to }: FolderRewind,
): Promise<readonly string[]> {
  const { step, attempt, roots } = about;
  const opened = openMeans(options, about, root);
  const { place } = opened;
  const apart = waysBelow(root, roots);
  const start = readBegun(place.own, step);
  if (start === null) return [];
  const means = { ...opened, held: [start, to] };
  try {
    const { now, leftOut } = await captureNow(means);
    if (now === start) return [];
    const foreign = await findForeignChanges({ ...means, ...place }, { start, now, to });
    const brought = (await compareSnapshots(means, start, to)).filter(({ kind }) => kind === 'added');
    const own = new Set(brought.map(({ path }) => path));
    const { changes } = await previewRestore(means, {
      known: to,
      now,
      leftOut,
      to: start,
      force: true,
      kept: foreign,
      apart,
      own,
    });
    if (!(await attempt.fence())) throw createGivenUpError(attempt);
    // Empty folders of the snapshot that it went to are its own.
    await restore(means, { now, known: to, to: start, apart, changes });
    return [];
  } catch (error) {
    attempt.signal.throwIfAborted();
    if (!isStop(error)) throw error;
    return [`${root} is not as it was before: ${error.message}`];
  }
}

const begunSchema = z.object({ step: z.number(), before: z.string() });

const beginningFile = (own: string): string => join(own, 'rewind.json');

/** Returns the snapshot that an earlier attempt took right before it began; null without one. */
function readBegun(own: string, step: number): string | null {
  const record = readJsonFile(beginningFile(own), begunSchema);
  return record.kind === 'read' && record.value.step === step ? record.value.before : null;
}

function writeBegun(own: string, record: z.infer<typeof begunSchema>): void {
  writeJsonFile(beginningFile(own), record, 'durable');
}

/** A rewind from the snapshot `start` to the snapshot `to`; `now` is the folder as it is. */
type RewindProgress = { readonly start: string; readonly now: string; readonly to: string };

/**
 * Finds what others have changed in a folder while a rewind goes on. Where no file may take the
 * place of another, one that a rewind was killed at has the beginning of its content. Returns the
 * files that are neither as in `start` nor as in `to`, nor on the way between. One that both have,
 * and that is missing, someone else has deleted: a rewind replaces it.
 */
async function findForeignChanges(
  reading: ShadowReading,
  { start, now, to }: RewindProgress,
): Promise<ReadonlySet<RawPath>> {
  const found = new Set<RawPath>();
  if (start === now || now === to) return found;
  const sinceBegun = await listHeldPairs(reading, { from: start, to: now, paths: [] });
  const left = new Map((await listHeldPairs(reading, { from: now, to, paths: [] })).map((pair) => [pair.path, pair]));
  for (const { path, from, to: current } of sinceBegun) {
    const pair = left.get(path);
    if (pair === undefined) continue;
    if (current === null || !(await isBeginning(reading, current, [from, pair.to]))) found.add(path);
  }
  return found;
}

/** Tells whether a file has the beginning of another one, or all of it. */
async function isBeginning(
  reading: ShadowReading,
  file: HeldFile,
  others: readonly (HeldFile | null)[],
): Promise<boolean> {
  const bytes = await readHeld(reading, file);
  for (const other of others)
    if (other !== null && (await readHeld(reading, other)).subarray(0, bytes.length).equals(bytes)) return true;
  return false;
}
