// Brings the folders of a session back to snapshots (T7): what would be changed is checked in all
// of them before anything is, and the files as they are now are captured first. The record of that
// makes a second attempt go on where the first was killed.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../system/json-file.ts';
import { realOf } from '../../system/process/places.ts';
import { reasonOf } from '../../system/text.ts';
import type { FilesRewound, RewindFiles, RootRewind, RootRewound } from '../../workflows/contract/rewind.ts';
import type { SnapshotChange } from '../../store/snapshots/listing.ts';
import {
  ForeignProblem,
  previewRestore,
  RestoreProblem,
  type Restoring,
} from '../../store/snapshots/preview-restore.ts';
import { restore } from '../../store/snapshots/restore.ts';
import { hasSnapshot } from '../../store/snapshots/compare.ts';
import { fetchPacks } from '../../store/snapshots/packs.ts';
import { openShadow, placeOfRoot, snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { readChain } from '../../store/log/read-chain.ts';
import type { Store } from '../../store/values/store.ts';
import { compareSnapshots, type SnapshotMeans, takeSnapshot } from '../../store/snapshots/take-snapshot.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import { createGivenUpError, type Attempt } from '../attempt.ts';
import { findForeignChanges } from './foreign-changes.ts';
import { isGitRefusal, runGitHeld } from './run-git-held.ts';

export type RewindAbout = RewindFiles & { readonly attempt: Attempt };

export type RewindMeans = Pick<SnapshotMeans, 'caps' | 'include' | 'personal' | 'capture'> & {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  /** Has what other hosts have captured. */
  readonly store?: Store;
};

type Prepared = {
  readonly means: SnapshotMeans;
  readonly asked: RootRewind;
  /** The files as they were last captured, and right before the rewind. */
  readonly now: string;
  readonly before: string;
  readonly changes: readonly SnapshotChange[];
  /** Files that this attempt and those before it write or delete. */
  readonly files: number;
};

export async function rewindRoots(options: RewindMeans, about: RewindAbout): Promise<FilesRewound> {
  const { attempt, roots } = about;
  try {
    await fetchSnapshots(options, about);
    const prepared: Prepared[] = [];
    for (const asked of roots) prepared.push(await prepare(options, about, asked));
    const done: RootRewound[] = [];
    for (const each of prepared) {
      const { means, asked, before, changes, files } = await prepareAgain(about, each);
      // A worker that was frozen until now may have been replaced.
      if (!(await attempt.fence())) throw createGivenUpError(attempt);
      await restore(means, asked.to, changes);
      done.push({ root: asked.root, before, to: asked.to, files });
    }
    return { kind: 'done', roots: done };
  } catch (error) {
    attempt.signal.throwIfAborted();
    if (!isStop(error)) throw error;
    const left: string[] = [];
    for (const asked of roots) left.push(...(await takeBack(options, about, asked)));
    return { kind: 'refused', problem: [error.message, ...left].join('; ') };
  }
}

const isStop = (error: unknown): error is Error => error instanceof RestoreProblem || isGitRefusal(error);

function openMeans(options: RewindMeans, { session, signal }: Attempt, root: string): SnapshotMeans {
  const git = options.sandbox.programs.at('git');
  return { ...options, place: placeOfRoot(options.dataDir, session, root), git, run: runGitHeld(options, signal) };
}

async function prepare(options: RewindMeans, about: RewindAbout, asked: RootRewind): Promise<Prepared> {
  const { root, known, to } = asked;
  if (realOf(root) !== root) throw new RestoreProblem(`${root} is not there any longer, or a link is in its place`);
  const means = openMeans(options, about.attempt, root);
  const { place } = means;
  if (!(await hasSnapshot({ ...means, ...place }, to)))
    throw new RestoreProblem(`the snapshot of ${root} is not on this machine`);
  const { now, leftOut } = await capture(means);
  const begun = readBegun(place.own, about.step);
  // Files that an earlier attempt has written are not foreign.
  if (begun !== null && about.force !== true) {
    const [foreign] = await findForeignChanges({ ...means, ...place }, { begun, now, to });
    if (foreign !== undefined) throw new ForeignProblem(foreign);
  }
  const force = about.force === true || begun !== null;
  // The comparison has read what is to be written: nothing of it is missing or damaged.
  const { changes } = await previewRestore(means, { known, now, leftOut, to, force });
  if (begun === null) writeBegun(place.own, { step: about.step, before: now });
  const files = begun === null ? changes.length : (await compareSnapshots(means, begun, to)).length;
  return { means, asked, now, before: begun ?? now, changes, files };
}

/** Looks once more right before a folder is written: the others may have taken long. */
async function prepareAgain({ step, force }: RewindAbout, prepared: Prepared): Promise<Prepared> {
  const { means, asked, now: known, before } = prepared;
  const { now, leftOut } = await capture(means);
  if (now === known) return prepared;
  const { changes } = await previewRestore(means, { known, now, leftOut, to: asked.to, force: force === true });
  if (before !== known) return { ...prepared, now, changes };
  writeBegun(means.place.own, { step, before: now });
  return { ...prepared, now, before: now, changes, files: changes.length };
}

type Captured = Required<Pick<Restoring, 'now' | 'leftOut'>>;

/** Captures a folder as it is now. */
async function capture(means: SnapshotMeans): Promise<Captured> {
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
async function fetchSnapshots(options: RewindMeans, { from, roots, attempt }: RewindAbout): Promise<void> {
  const { store, sandbox, dataDir } = options;
  const { session, signal } = attempt;
  const gitDir = snapshotsFolderOf(dataDir);
  const reading = { gitDir, git: sandbox.programs.at('git'), run: runGitHeld(options, signal) };
  await openShadow({ gitDir, own: gitDir });
  const isHere = roots.map(({ root }) => existsSync(placeOfRoot(dataDir, session, root).own));
  const held = await Promise.all(roots.flatMap(({ known, to }) => [known, to]).map((id) => hasSnapshot(reading, id)));
  if ([...isHere, ...held].every(Boolean)) return;
  const chain = from === undefined || !store ? [] : await readChain(store, session, from);
  const entries = chain.flatMap(({ segment }) => segment.entries);
  const captured = entries.flatMap((entry) => (entry.kind === 'files' ? entry.roots : []));
  const foreign = roots.find(({ root }, at) => isHere[at] !== true && !captured.some((one) => one.root === root));
  if (foreign) throw new RestoreProblem(`${foreign.root} was never captured on this machine`);
  if (store) await fetchPacks(reading, store, entries);
}

/**
 * Puts back what the attempts of a rewind that is refused now have changed, except what others
 * have changed since, and returns what keeps a folder from that. One in which it would overwrite
 * what no snapshot holds stays as it is.
 */
async function takeBack(
  options: RewindMeans,
  { step, attempt }: RewindAbout,
  { root, to }: RootRewind,
): Promise<readonly string[]> {
  const means = openMeans(options, attempt, root);
  const { place } = means;
  const begun = readBegun(place.own, step);
  if (begun === null) return [];
  try {
    const { now, leftOut } = await capture(means);
    if (now === begun) return [];
    const kept = await findForeignChanges({ ...means, ...place }, { begun, now, to });
    const { changes } = await previewRestore(means, { known: to, now, leftOut, to: begun, force: true, kept });
    if (!(await attempt.fence())) throw createGivenUpError(attempt);
    await restore(means, begun, changes);
    return [];
  } catch (error) {
    attempt.signal.throwIfAborted();
    if (!isStop(error)) throw error;
    return [`${root} is not as it was before: ${error.message}`];
  }
}

const begunSchema = z.object({ step: z.number(), before: z.string() });

const begunFile = (own: string): string => join(own, 'rewind.json');

/** Returns the snapshot that an earlier attempt took right before it began; null without one. */
function readBegun(own: string, step: number): string | null {
  const begun = readJsonFile(begunFile(own), begunSchema);
  return begun.kind === 'read' && begun.value.step === step ? begun.value.before : null;
}

function writeBegun(own: string, begun: z.infer<typeof begunSchema>): void {
  writeJsonFile(begunFile(own), begun, 'not durable');
}
