// Checks a snapshot out into a new folder for a fork (T10). The folder is there with all its files
// or not at all: it is filled under another name first. A second attempt finds what the first made.
import { existsSync, lstatSync } from 'node:fs';
import { mkdir, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../system/json-file.ts';
import { isInside, realOf } from '../../system/process/places.ts';
import { codeOf, reasonOf } from '../../system/text.ts';
import {
  gitArguments,
  openShadow,
  placeOfRoot,
  shadowEnvironment,
  type ShadowPlace,
} from '../../store/snapshots/shadow.ts';
import { checkOut } from '../../store/snapshots/check-out.ts';
import { nameTree } from '../../store/snapshots/snapshot-ids.ts';
import type { RunHeld } from '../../store/snapshots/take-snapshot.ts';
import { keySegment } from '../../store/values/store.ts';
import type { Sandbox } from '../../tools/sandbox.ts';
import type { CheckOutFiles, FilesCheckedOut } from '../../workflows/contract/fork.ts';
import { createGivenUpError, type Attempt } from '../attempt.ts';
import { createHeldGit } from '../worktrees/held-git.ts';
import { findRepository } from '../worktrees/repository.ts';
import { isGitRefusal, runGitHeld } from './run-git-held.ts';

export type CheckOutAbout = CheckOutFiles & { readonly attempt: Attempt };

type CheckOutOptions = { readonly sandbox: Sandbox; readonly dataDir: string };

type Means = CheckOutOptions & {
  readonly attempt: Attempt;
  readonly git: string;
  readonly run: RunHeld;
  readonly place: ShadowPlace;
  readonly snapshot: string;
};

/** Says why nothing can be checked out. */
class CheckOutProblem extends Error {
  override readonly name = 'CheckOutProblem';
}

export async function checkOutRoot(options: CheckOutOptions, about: CheckOutAbout): Promise<FilesCheckedOut> {
  try {
    const { attempt, from, to, snapshot, worktree } = about;
    const folder = await findFolder(options, from, to);
    const place = placeOfRoot(options.dataDir, attempt.session, folder);
    const run = runGitHeld(options, attempt.signal);
    const means = { ...options, attempt, git: options.sandbox.programs.at('git'), run, place, snapshot };
    await openShadow(place);
    await requireSnapshot(means);
    if (worktree) return { kind: 'done', folder, branch: await makeWorktree(means, from) };
    await makeFolder(means);
    return { kind: 'done', folder };
  } catch (error) {
    about.attempt.signal.throwIfAborted();
    if (error instanceof CheckOutProblem || isGitRefusal(error)) return { kind: 'refused', problem: error.message };
    throw error;
  }
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

async function requireSnapshot({ run, git, place, snapshot }: Means): Promise<void> {
  try {
    await run(gitArguments(git, place, ['cat-file', '-e', '--end-of-options', nameTree(snapshot, 'files')]), {
      env: shadowEnvironment(),
      cwd: place.own,
    });
  } catch (error) {
    if (!existsSync(git)) throw new CheckOutProblem('git is not installed on this worker');
    if (!isGitRefusal(error)) throw error;
    throw new CheckOutProblem(`the files of that point are not on this machine: ${reasonOf(error)}`);
  }
}

async function makeFolder(means: Means): Promise<void> {
  const { snapshot } = means;
  const { root } = means.place;
  const filled = join(dirname(root), `.perdure-${keySegment(means.attempt.session)}`);
  if (isMade(means.place)) return;
  await requireFree(root);
  await rm(filled, { recursive: true, force: true });
  await mkdir(filled).catch((error: unknown) => {
    throw new CheckOutProblem(`${root} cannot be made: ${reasonOf(error)}`);
  });
  await checkOut(means, snapshot, filled).catch((error: unknown) => dropFilled(means, filled, error));
  await requireCurrent(means);
  noteMade(means.place, filled);
  await rename(filled, root);
}

/** Removes what was filled in part, unless another attempt will do so, and throws the error. */
async function dropFilled(means: Means, folder: string, error: unknown): Promise<never> {
  if (!means.attempt.signal.aborted && isGitRefusal(error)) {
    await requireCurrent(means);
    await rm(folder, { recursive: true, force: true });
  }
  throw error;
}

async function requireFree(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw new CheckOutProblem(`${folder} cannot be used: ${reasonOf(error)}`);
  });
  if (names.length > 0) throw new CheckOutProblem(`${folder} is there already, and is not empty: name another folder`);
}

/** A worker that was frozen until now may have been replaced. */
async function requireCurrent({ attempt }: Means): Promise<void> {
  if (!(await attempt.fence())) throw createGivenUpError(attempt);
}

/** Makes a work tree of the repository of `from`, and returns its branch. */
async function makeWorktree(means: Means, from: string): Promise<string> {
  const { attempt, place, sandbox, dataDir, snapshot } = means;
  const { root } = place;
  const branch = `perdure/${keySegment(attempt.session)}`;
  const repository = findRepository(from);
  if (typeof repository === 'string') throw new CheckOutProblem(`${from} cannot have another work tree: ${repository}`);
  if (repository.prefix !== '')
    throw new CheckOutProblem(`${from} is a part of its repository, and a work tree holds all: give a folder instead`);
  const ready = join(place.own, 'fork-ready');
  if (existsSync(ready)) return branch;
  if (!isMade(place)) await requireFree(root);
  await requireCurrent(means);
  await rm(root, { recursive: true, force: true });
  await mkdir(root).catch((error: unknown) => {
    throw new CheckOutProblem(`${root} cannot be made: ${reasonOf(error)}`);
  });
  noteMade(place, root);
  const git = createHeldGit(sandbox, dataDir, attempt.signal);
  const at = { holder: root, tree: root, common: repository.common };
  const base = await git.resolve(at, 'HEAD^{commit}', repository.gitDir);
  if (base === null) throw new CheckOutProblem(`${from} has no commit yet, and a work tree begins at one`);
  await git.refs(at, ['worktree', 'add', '--force', '--force', '--no-checkout', '-B', branch, root, base]);
  const made = findRepository(root);
  if (typeof made === 'string' || made.common !== repository.common)
    throw new CheckOutProblem('git has made no work tree of this repository');
  await git.refs(at, ['read-tree', base], made.gitDir);
  await checkOut(means, snapshot, root).catch((error: unknown) => dropFilled(means, root, error));
  await writeFile(ready, '');
  return branch;
}

const identity = z.tuple([z.number(), z.number()]);

const madeFile = ({ own }: ShadowPlace): string => join(own, 'fork.json');

/** Notes which folder this fork has made, before it gets its name. */
function noteMade(place: ShadowPlace, folder: string): void {
  const { ino, dev } = lstatSync(folder);
  writeJsonFile(madeFile(place), [dev, ino], 'not durable');
}

/** Tells whether the folder is the one that an earlier attempt has made. */
function isMade(place: ShadowPlace): boolean {
  const stats = lstatSync(place.root, { throwIfNoEntry: false });
  const made = readJsonFile(madeFile(place), identity);
  return stats !== undefined && made.kind === 'read' && made.value[0] === stats.dev && made.value[1] === stats.ino;
}
