// Checks a snapshot out into a new folder for a fork (T10). The folder is there with all its files
// or not at all: it is filled under another name first. A second attempt finds what the first made.
import { chmodSync, existsSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { mkdir, readdir, realpath, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../system/json.ts';
import { isInside, realOf } from '../../system/process/places.ts';
import { nameFullDisk } from '../../system/full-disk.ts';
import { codeOf, reasonOf } from '../../system/text.ts';
import type { Entry } from '../../store/log/entries.ts';
import { readChain } from '../../store/log/read-chain.ts';
import { openShadow, placeOfRoot, type ShadowPlace } from '../../store/snapshots/shadow.ts';
import { checkOut } from '../../store/snapshots/restore.ts';
import { hasSnapshot } from '../../store/snapshots/compare.ts';
import { createAbsenceJudge } from '../../store/snapshots/read-notes.ts';
import { fetchPacks } from '../../store/snapshots/packs.ts';
import type { RunHeld } from '../../store/snapshots/take-snapshot.ts';
import { keySegment, type Store } from '../../store/values/store.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import type { CheckOutFiles, FilesCheckedOut } from '../../workflows/contract/fork.ts';
import { createGivenUpError, type Attempt } from '../attempt.ts';
import type { RewindMeans } from './rewind-means.ts';
import { rewindRoots } from './rewind-roots.ts';
import type { BringAbout, CheckOutAbout, FilesRestored } from './snapshots-port.ts';
import type { WorktreePlace } from '../../store/worktree-record.ts';
import { createHeldGit, GitProblem, type HeldGit } from '../worktrees/held-git.ts';
import { findRepository, listWorktrees, type Repository } from '../worktrees/repository.ts';
import { isGitRefusal, runGitHeld } from './run-git-held.ts';

type CheckOutOptions = {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  /** Has what other hosts have captured. */
  readonly store?: Store;
};

type CheckOutMeans = CheckOutOptions & {
  readonly attempt: Attempt;
  readonly git: string;
  readonly run: RunHeld;
  readonly place: ShadowPlace;
  readonly snapshot: string;
  /** The file that says which folder an attempt of this has made. */
  readonly mark: string;
};

/** Says why nothing can be checked out. */
class CheckOutProblem extends Error {
  override readonly name = 'CheckOutProblem';
}

export async function checkOutRoot(options: CheckOutOptions, about: CheckOutAbout): Promise<FilesCheckedOut> {
  try {
    const { attempt, from, to, snapshot, worktree, origin } = about;
    const folder = await findFolder(options, from, to);
    const place = placeOfRoot(options.dataDir, attempt.session, folder);
    const run = runGitHeld(options, attempt.signal);
    const git = options.sandbox.programs.at('git');
    const means = { ...options, attempt, git, run, place, snapshot, mark: join(place.own, 'fork.json') };
    await openShadow(place);
    await requireSnapshot(means, await readOrigin(means, origin));
    if (worktree) return { kind: 'done', folder, branch: await makeWorktree(means, from) };
    await makeFolder(means);
    return { kind: 'done', folder };
  } catch (error) {
    about.attempt.signal.throwIfAborted();
    if (isRefusal(error)) return { kind: 'refused', problem: nameFullDisk(error.message, about.to) };
    throw error;
  }
}

const isRefusal = (error: unknown): error is Error => error instanceof CheckOutProblem || isGitRefusal(error);

/**
 * Restores the folder of a session that moves to this host: its own place is missing or empty here,
 * or has what the session left here before.
 */
export async function bringRoot(
  options: CheckOutOptions & RewindMeans,
  { attempt, root, snapshot, head, step, known }: BringAbout,
): Promise<FilesRestored> {
  try {
    const place = placeOfRoot(options.dataDir, attempt.session, root);
    const run = runGitHeld(options, attempt.signal);
    const git = options.sandbox.programs.at('git');
    const means = { ...options, attempt, git, run, place, snapshot, mark: join(place.own, `taken-${step}.json`) };
    await openShadow(place);
    const stored = await readOrigin(means, { session: attempt.session, head });
    await requireSnapshot(means, [...stored, ...known]);
    if (isFilled(root) && !isMade(means)) {
      const request = {
        attempt,
        step,
        from: head,
        roots: [{ root, known: snapshot, to: snapshot }],
        force: true,
      } as const;
      const end = await rewindRoots(options, request);
      return end.kind === 'done' ? { kind: 'done' } : end;
    }
    await mkdir(dirname(root), { recursive: true }).catch((error: unknown) => {
      throw new CheckOutProblem(`${dirname(root)} cannot be made: ${reasonOf(error)}`);
    });
    await makeFolder(means);
    return { kind: 'done' };
  } catch (error) {
    attempt.signal.throwIfAborted();
    if (isRefusal(error)) return { kind: 'refused', problem: nameFullDisk(error.message, root) };
    throw error;
  }
}

function isFilled(folder: string): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true && readdirSync(folder).length > 0;
}

async function findFolder({ dataDir }: CheckOutOptions, from: string, to: string): Promise<string> {
  const above = await realpath(dirname(to)).catch((error: unknown) => {
    throw new CheckOutProblem(`${dirname(to)} cannot be used: ${reasonOf(error)}`);
  });
  const folder = join(above, basename(to));
  if (isInside(from, folder)) throw new CheckOutProblem(`${folder} lies in ${from}, whose files it would have`);
  if (isInside(realOf(dataDir) ?? dataDir, folder))
    throw new CheckOutProblem(`${folder} lies in Perdure's data folder: use one outside it`);
  return folder;
}

/** Reads the entries that may name the packs of a snapshot that is not here. */
async function readOrigin(
  { store, git, run, place: { gitDir }, snapshot }: CheckOutMeans,
  origin: CheckOutFiles['origin'],
): Promise<readonly Entry[]> {
  if (!existsSync(git)) throw new CheckOutProblem('git is not installed on this worker');
  if (!store || !origin || (await hasSnapshot({ gitDir, git, run }, snapshot))) return [];
  const chain = await readChain(store, origin.session, origin.head);
  return chain.flatMap(({ segment }) => segment.entries);
}

/** Brings what another host has captured, where it is not here. */
async function requireSnapshot(means: CheckOutMeans, entries: readonly Entry[]): Promise<void> {
  const { git, run, place, snapshot, store } = means;
  const reading = { gitDir: place.gitDir, git, run };
  if (await hasSnapshot(reading, snapshot)) return;
  if (store) await fetchPacks(reading, store, entries);
  if (await hasSnapshot(reading, snapshot)) return;
  const captured = entries.find((entry) => entry.kind === 'files' && entry.roots.some(({ id }) => id === snapshot));
  const host = captured?.kind === 'files' && captured.host !== undefined ? `host ${captured.host}` : 'the machine';
  throw new CheckOutProblem(
    `the files of that point are not on this machine: they are in the data folder of ${host}, which captured them, unless that is damaged`,
  );
}

async function makeFolder(means: CheckOutMeans): Promise<void> {
  const { snapshot } = means;
  const { root } = means.place;
  const filled = join(dirname(root), `.perdure-${keySegment(means.attempt.session)}`);
  if (isMade(means)) return;
  await requireFree(root);
  await rm(filled, { recursive: true, force: true });
  await makePrivate(filled, root);
  try {
    await checkOut(means, snapshot, filled);
    closeAs(lstatSync(root, { throwIfNoEntry: false }), filled);
  } catch (error) {
    if (await isRefusedNow(means, error)) await rm(filled, { recursive: true, force: true });
    throw error;
  }
  await requireCurrent(means);
  noteMade(means, filled);
  await rename(filled, root);
}

/** Keeps others out until the folder has the permissions of the snapshot. */
async function makePrivate(folder: string, root: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    throw new CheckOutProblem(`${root} cannot be made: ${reasonOf(error)}`);
  });
}

/** Gives a fork's folder that a person made no more permissions than the original has. */
function closeAs(original: Stats | undefined, folder: string): void {
  if (original) chmodSync(folder, lstatSync(folder).mode & 0o7777 & (original.mode | ~0o077));
}

/** Tells whether no other attempt follows, or is under way already: this one has to tidy up. */
async function isRefusedNow(means: CheckOutMeans, error: unknown): Promise<boolean> {
  if (means.attempt.signal.aborted || !isRefusal(error)) return false;
  await requireCurrent(means);
  return true;
}

async function requireFree(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw new CheckOutProblem(`${folder} cannot be used: ${reasonOf(error)}`);
  });
  if (names.length > 0) throw new CheckOutProblem(`${folder} is there already, and is not empty: name another folder`);
}

/** A worker that was frozen until now may have been replaced. */
async function requireCurrent({ attempt }: CheckOutMeans): Promise<void> {
  if (!(await attempt.fence())) throw createGivenUpError(attempt);
}

/** Makes a work tree of the repository of `from`, and returns its branch. */
async function makeWorktree(means: CheckOutMeans, from: string): Promise<string> {
  const { attempt, place } = means;
  const { root } = place;
  const branch = `perdure/${keySegment(attempt.session)}`;
  const repository = findRepository(from);
  if (typeof repository === 'string') throw new CheckOutProblem(`${from} cannot have another work tree: ${repository}`);
  if (repository.prefix !== '')
    throw new CheckOutProblem(`${from} is a part of its repository, and a work tree holds all: give a folder instead`);
  const ready = join(place.own, 'fork-ready');
  if (existsSync(ready)) return branch;
  const wasMade = isMade(means);
  if (!wasMade) await requireFree(root);
  if (!existsSync(means.mark)) await requireNoBranch(means, repository, branch);
  await requireCurrent(means);
  const original = wasMade ? undefined : lstatSync(root, { throwIfNoEntry: false });
  // Someone may have put files there since, unless it is our own.
  if (wasMade) await rm(root, { recursive: true });
  else if (existsSync(root)) await rmdir(root);
  if (existsSync(means.mark)) await clearLeft(means, repository, branch);
  await makePrivate(root, root);
  noteMade(means, root);
  try {
    await fillWorktree(means, repository, { branch, from });
    closeAs(original, root);
  } catch (error) {
    if (await isRefusedNow(means, error)) await dropWorktree(means, repository, branch);
    throw error;
  }
  await writeFile(ready, '');
  return branch;
}

/** A branch of that name that no attempt of this fork has made may have commits of its own. */
async function requireNoBranch(means: CheckOutMeans, { common, gitDir }: Repository, branch: string): Promise<void> {
  const { attempt, place, sandbox, dataDir } = means;
  const git = createHeldGit(sandbox, dataDir, attempt.signal);
  const at = { holder: place.own, tree: place.root, common };
  if ((await git.resolve(at, `refs/heads/${branch}`, gitDir)) !== null)
    throw new CheckOutProblem(`the repository has a branch ${branch} already: rename it, or fork under another id`);
}

/**
 * Removes what an attempt that was killed has left in the repository: git makes no work tree on a
 * branch that another one has, also where that is gone, and no branch that is locked.
 */
async function clearLeft(means: CheckOutMeans, { common }: Repository, branch: string): Promise<void> {
  const { attempt, place, sandbox, dataDir } = means;
  const entries = listWorktrees(common).filter(({ tree }) => tree === place.root);
  const left = [...entries.map(({ gitDir }) => gitDir), join(common, 'refs', 'heads', `${branch}.lock`)];
  const git = createHeldGit(sandbox, dataDir, attempt.signal);
  await git.run({ holder: place.own, tree: place.root, common }, ['rm', '-rf', '--', ...left]);
}

type Branch = { readonly branch: string; readonly from: string };

async function fillWorktree(
  means: CheckOutMeans,
  { common, gitDir }: Repository,
  { branch, from }: Branch,
): Promise<void> {
  const { attempt, sandbox, dataDir, snapshot } = means;
  const { root } = means.place;
  const git = createHeldGit(sandbox, dataDir, attempt.signal);
  const at = { holder: root, tree: root, common };
  const base = await git.resolve(at, 'HEAD^{commit}', gitDir);
  if (base === null) throw new CheckOutProblem(`${from} has no commit yet, and a work tree begins at one`);
  // The settings of a sparse checkout are those of the work tree that git is started for.
  await git.refs(at, ['worktree', 'add', '--force', '--force', '--no-checkout', '-B', branch, root, base], gitDir);
  const tree = findRepository(root);
  if (typeof tree === 'string' || tree.common !== common)
    throw new CheckOutProblem('git has made no work tree of this repository');
  await git.refs(at, ['read-tree', base], tree.gitDir);
  await skipAs(git, at, { from: gitDir, to: tree.gitDir });
  await checkOut(means, snapshot, root);
  await skipUncaptured(means, git, at, tree.gitDir);
}

/**
 * Leaves out of the index what may have been in the folder and is in no snapshot, as a file over a
 * bound: git would take it for deleted.
 */
async function skipUncaptured(
  { place: { gitDir, root }, git: program, run, snapshot }: CheckOutMeans,
  git: HeldGit,
  at: WorktreePlace,
  to: string,
): Promise<void> {
  const listed = await git.refs(at, [`--work-tree=${root}`, 'ls-files', '--deleted', '-z'], to);
  const missing = new Map(listed.split('\0').map((name) => [name, Buffer.from(name).toString('latin1')]));
  missing.delete('');
  if (missing.size === 0) return;
  const judge = await createAbsenceJudge({ gitDir, git: program, run }, snapshot, [...missing.values()]);
  const uncaptured = [...missing].flatMap(([name, path]) => (judge(path) === null ? [] : [name]));
  await skipPaths(git, at, { names: uncaptured, to });
}

/** Bytes of names in one command. */
const MOST_NAMES = 64 * 1024;
const SKIPPED_MARK = 'S ';

/** Leaves out of one index what another one leaves out: what a sparse checkout does not have. */
async function skipAs(
  git: HeldGit,
  at: WorktreePlace,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const list = async (gitDir: string): Promise<readonly string[]> =>
    (await git.refs(at, ['ls-files', '-t', '-z'], gitDir)).split('\0').filter(Boolean);
  const skipped = (await list(from))
    .filter((line) => line.startsWith(SKIPPED_MARK))
    .map((line) => line.slice(SKIPPED_MARK.length));
  if (skipped.length === 0) return;
  const there = new Set((await list(to)).map((line) => line.slice(SKIPPED_MARK.length)));
  await skipPaths(git, at, { names: skipped.filter((name) => there.has(name)), to });
}

async function skipPaths(
  git: HeldGit,
  at: WorktreePlace,
  { names, to }: { readonly names: readonly string[]; readonly to: string },
): Promise<void> {
  let [some, bytes]: [string[], number] = [[], 0];
  for (const [position, name] of names.entries()) {
    // A name that is no UTF-8 cannot be given.
    if (!name.includes('\ufffd')) some.push(name);
    bytes += Buffer.byteLength(name) + 1;
    if (some.length === 0 || (bytes < MOST_NAMES && position < names.length - 1)) continue;
    await git.refs(at, ['update-index', '--skip-worktree', '--', ...some], to);
    [some, bytes] = [[], 0];
  }
}

/** Removes what was made of a work tree, and its branch, which holds nothing of its own. */
async function dropWorktree(
  { attempt, place, sandbox, dataDir }: CheckOutMeans,
  { common }: Repository,
  branch: string,
): Promise<void> {
  const git = createHeldGit(sandbox, dataDir, attempt.signal);
  const at = { holder: place.own, tree: place.root, common };
  await rm(place.root, { recursive: true, force: true });
  for (const args of [
    ['worktree', 'remove', '--force', '--force', place.root],
    ['branch', '-D', '--', branch],
  ])
    await git.refs(at, args).catch((error: unknown) => {
      // It was refused before it was made.
      if (!(error instanceof GitProblem)) throw error;
    });
}

const identity = z.tuple([z.number(), z.number()]);

/** Notes which folder this attempt has made, before it gets its name. */
function noteMade({ mark }: CheckOutMeans, folder: string): void {
  const { ino, dev } = lstatSync(folder);
  writeJsonFile(mark, [dev, ino], 'not durable');
}

/** Tells whether the folder is the one that an earlier attempt has made. */
function isMade({ mark, place }: CheckOutMeans): boolean {
  const stats = lstatSync(place.root, { throwIfNoEntry: false });
  const record = readJsonFile(mark, identity);
  return (
    stats !== undefined && record.kind === 'read' && record.value[0] === stats.dev && record.value[1] === stats.ino
  );
}
