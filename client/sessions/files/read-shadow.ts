// Runs git on the shadow repository of this machine's data folder, for a client: its objects are
// read, and nothing of a workspace (T11). It is held as the git of a worker is.
// The files of a session's folder as they were captured last, with their contents: those that the
// folder has now may be on another machine.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../../store/log/entries.ts';
import { hasSnapshot, listHeldFiles, type ShadowReading } from '../../../store/snapshots/compare.ts';
import { showPath } from '../../../store/snapshots/listing.ts';
import { fetchPacks } from '../../../store/snapshots/packs.ts';
import { readBlobs } from '../../../store/snapshots/read-blobs.ts';
import { requireOwnSettings, snapshotsFolderOf } from '../../../store/snapshots/shadow.ts';
import { lastSnapshots, withMovedRoots } from '../../../store/snapshots/snapshot-points.ts';
import type { RunHeld } from '../../../store/snapshots/take-snapshot.ts';
import type { Store } from '../../../store/values/store.ts';
import { pipePlace } from '../../../system/process/pipes.ts';
import { findPlaces, realOf } from '../../../system/process/places.ts';
import { findPrograms, isExecutable, type Programs } from '../../../system/process/programs.ts';
import { type ProgramEnd, runProgram } from '../../../system/process/spawn-piped.ts';
import { RecentMap } from '../../../system/recent-map.ts';
import { describeExit, onOneLine } from '../../../system/text.ts';
import { probeSandbox, type Sandbox } from '../../../tools/sandbox.ts';
import { ClientProblem } from '../../problem.ts';

const LONGEST_MS = 120_000;
/** Bytes that git prints at most, and that a patch has. */
export const MOST_PRINTED = 64 * 1024 * 1024;

/** Runs a program in a folder to its end. Throws ClientProblem when it is cut. */
export type RunInFolder = (
  argv: readonly string[] | (() => readonly string[]),
  cwd: string,
  env?: Readonly<Record<string, string>>,
  timeoutMs?: number,
) => Promise<ProgramEnd>;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Runs a program on the shadow repository, and on nothing else. Throws ClientProblem when it is
 * cut.
 */
type RunOnShadow = (
  argv: readonly string[],
  env?: Readonly<Record<string, string>>,
  timeoutMs?: number,
) => Promise<ProgramEnd>;

type FoundGit = { readonly git: string; readonly runIn: RunInFolder; readonly runOnShadow: RunOnShadow };

/** Returns the path of git and what runs it. Throws ClientProblem `refused` without git. */
export function findGit(dataDir: string, env: Environment): FoundGit {
  const programs = findPrograms(env);
  const git = programs.at('git');
  if (!isExecutable(git)) throw new ClientProblem('refused', 'git is not installed here, and snapshots are read by it');
  const runIn: RunInFolder = async (argv, cwd, more = {}, timeoutMs = LONGEST_MS) => {
    const result = await runProgram(argv, {
      cwd,
      env: { ...programs.environment(), ...more },
      pipes: pipePlace(programs, dataDir),
      timeoutMs,
      mostOutput: MOST_PRINTED,
      encoding: 'latin1',
    });
    if (result.cut === undefined) return result;
    if (result.cut === 'output') throw new TooLarge();
    throw new ClientProblem('refused', `git took longer than ${timeoutMs / 1000} s: name some paths`);
  };
  return {
    git,
    runIn,
    runOnShadow: async (argv, more, timeoutMs) => {
      const gitDir = snapshotsFolderOf(dataDir);
      requireOwnSettings(gitDir);
      const cwd = realOf(gitDir) ?? gitDir;
      const sandbox = await findSandbox(env, programs);
      const confinement = { cwd, dataDir, offline: true, alone: true };
      return await runIn(() => sandbox.wrap(argv, confinement), cwd, more, timeoutMs);
    },
  };
}

/** Findings by trial, for each environment of this process. */
const sandboxes = new RecentMap<string, Promise<Sandbox>>(4);

/** Git runs as it does for a worker: held as the commands of agents are, where that works here. */
function findSandbox(env: Environment, programs: Programs): Promise<Sandbox> {
  const name = JSON.stringify([env['PATH'], env['HOME'], env['XDG_CACHE_HOME'], env['XDG_CONFIG_HOME']]);
  const known = sandboxes.get(name);
  if (known) return known;
  const found = probeSandbox({ programs, places: findPlaces(env) });
  sandboxes.set(name, found);
  return found;
}

/** Opens the repository. Throws ClientProblem `refused` without git, or without snapshots. */
export function openShadowReading(dataDir: string, env: Environment, willBring = false): ShadowReading {
  const gitDir = snapshotsFolderOf(dataDir);
  if (!willBring && !existsSync(join(gitDir, 'HEAD')))
    throw new ClientProblem(
      'refused',
      'no snapshots are on this machine: they are in the data folder of the worker that took them',
    );
  const { git, runOnShadow } = findGit(dataDir, env);
  const run: RunHeld = async (argv, options) => {
    const end = await runOnShadow(argv, options.env);
    if (end.exit.code === 0) return end.stdout;
    throw new ClientProblem('refused', `the snapshots cannot be read: ${whyGitFailed(end)}`);
  };
  return { gitDir, git, run };
}

/** Returns what git said, or how it ended where it said nothing. */
export function whyGitFailed({ exit, stderr }: Pick<ProgramEnd, 'exit' | 'stderr'>): string {
  return onOneLine(stderr.trim()) || `git ended with ${describeExit(exit)}`;
}

/** The problem with an answer of git that is too large. */
export class TooLarge extends ClientProblem {
  constructor() {
    super('refused', `this is more than ${MOST_PRINTED / 1024 ** 2} MB: name some paths`);
  }
}

/** `blob`: the hash of its content, by which `read` finds it. */
export type CapturedFile = { readonly path: string; readonly blob: string };

export type CapturedFolder = {
  /** Regular files in the order of their paths, which are relative to the folder. */
  readonly files: readonly CapturedFile[];
  /** Yields contents in the order of their hashes. Rejects with what git said. */
  read(blobs: readonly string[]): AsyncGenerator<readonly [blob: string, content: Buffer]>;
};

/** Returns null for a folder that was never captured. Throws StoreError, ClientProblem. */
export async function readCapturedFolder(
  open: () => { readonly reading: ShadowReading; readonly store: Pick<Store, 'get'> },
  entries: readonly Entry[],
  root: string,
): Promise<CapturedFolder | null> {
  const id = lastSnapshots(withMovedRoots(entries)).get(root);
  if (id === undefined) return null;
  const { reading, store } = open();
  if (!(await hasSnapshot(reading, id))) await fetchPacks(reading, store, entries);
  const files = (await listHeldFiles(reading, id)).map(({ path, blob }) => ({ path: showPath(path), blob }));
  return { files, read: (blobs) => readBlobs(reading, blobs) };
}
