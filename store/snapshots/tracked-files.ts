// Knows which files a repository tracks, as git lists its index: those are captured whatever rules
// match them (T2). Git reads the index, since its format has variants, and nothing else: programs
// that the repository's configuration names are not run. Paths are bytes, kept as latin1.
import { spawnSync } from 'node:child_process';
import { lstatSync, statSync } from 'node:fs';
import { gitEnvironment } from '../../system/process/git-environment.ts';
import { bytesOf, namesIn, type RawPath } from './listing.ts';
import { findGitFolder } from './repository-rules.ts';

/** The tracked files below a folder, relative to it, in the order of their bytes. */
export type TrackedPaths = readonly RawPath[];

const NONE: TrackedPaths = [];
/** Git is given up that takes longer, or lists more. */
const LONGEST_MS = 10_000;
const MOST_PRINTED = 128 * 1024 * 1024;
const SETTINGS = ['core.fsmonitor=false', 'core.hooksPath=/dev/null', 'core.untrackedCache=false'].flatMap(
  (setting) => ['-c', setting],
);

/** What git reads for a list. Where one is a pipe, git would wait for whoever writes to it. */
const READ = ['index', 'config', 'commondir', 'HEAD'];
/** Git that has failed is asked again after ten times as long as it took, and ten times that next. */
const LATER = 10;
const LATEST_MS = 60_000;

type Listed = { readonly index: string; readonly printed: string; readonly paths: TrackedPaths };
type Failed = { readonly index: string; readonly count: number; readonly until: number };

export class TrackedFiles {
  readonly #git: string;
  readonly #listed = new Map<RawPath, Listed>();
  readonly #failed = new Map<RawPath, Failed>();
  #version = 0;

  /** `git` is the path of git. */
  constructor(git: string) {
    this.#git = git;
  }

  /** Grows where a list differs from what was read before. */
  get version(): number {
    return this.#version;
  }

  /**
   * Lists the tracked files below `folder`, an absolute path in the repository with the top `top`.
   * Git is asked when the index has changed. Where it fails, the list is that of before, until git
   * has answered.
   */
  list(top: RawPath, folder: RawPath): TrackedPaths {
    const gitFolder = findGitFolder(top);
    const index = describeFile(`${gitFolder}/index`);
    const known = this.#listed.get(folder);
    if (known?.index === index) return known.paths;
    const printed = index === '' ? '' : this.#askPatiently(index, { gitFolder, top, folder });
    if (printed === null) return known?.paths ?? NONE;
    const paths = known?.printed === printed ? known.paths : printed === '' ? NONE : namesIn(printed);
    if (paths !== (known?.paths ?? NONE)) this.#version += 1;
    this.#listed.set(folder, { index, printed, paths });
    return paths;
  }

  /** Returns null where git fails, or has failed a short while ago. */
  #askPatiently(index: string, place: AskedPlace): string | null {
    const last = this.#failed.get(place.folder);
    const failed = last?.index === index ? last : { count: 0, until: 0 };
    const began = performance.now();
    if (began < failed.until || mayWait(place)) return null;
    const printed = ask(this.#git, place);
    const [now, count] = [performance.now(), failed.count + 1];
    if (printed !== null) this.#failed.delete(place.folder);
    else {
      const until = now + Math.min(LATEST_MS, (now - began) * LATER ** count);
      this.#failed.set(place.folder, { index, count, until });
    }
    return printed;
  }
}

/** `gitFolder` is git's own folder. */
type AskedPlace = { readonly gitFolder: RawPath; readonly top: RawPath; readonly folder: RawPath };

function mayWait({ gitFolder }: AskedPlace): boolean {
  return READ.some((name) => {
    try {
      return statSync(bytesOf(`${gitFolder}/${name}`), { throwIfNoEntry: false })?.isFIFO() === true;
    } catch {
      return false;
    }
  });
}

/** Returns null where git fails. */
function ask(git: string, { gitFolder, top, folder }: AskedPlace): string | null {
  const [from, tree, cwd] = [gitFolder, top === '' ? '/' : top, folder === '' ? '/' : folder].map(textOf);
  // Node starts no program with bytes that are no text.
  if (from === null || tree === null || cwd === null) return '';
  const args = [`--git-dir=${from}`, `--work-tree=${tree}`, ...SETTINGS, 'ls-files', '-z'];
  const { status, stdout } = spawnSync(git, args, {
    cwd,
    env: { ...process.env, ...gitEnvironment(), GIT_OPTIONAL_LOCKS: '0' },
    encoding: 'latin1',
    timeout: LONGEST_MS,
    maxBuffer: MOST_PRINTED,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout : null;
}

function textOf(path: RawPath): string | null {
  const text = bytesOf(path).toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytesOf(path)) ? text : null;
}

/** Returns a text that is another where the file is; empty without one. */
function describeFile(path: RawPath): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = lstatSync(bytesOf(path));
    return [ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return '';
  }
}

export const isTracked = (paths: TrackedPaths, path: RawPath): boolean => paths[findFrom(paths, path)] === path;

/** `folder` ends with a slash. */
export const hasTrackedBelow = (paths: TrackedPaths, folder: RawPath): boolean =>
  paths[findFrom(paths, folder)]?.startsWith(folder) ?? false;

/** Finds the first path that does not come before the given one. */
function findFrom(paths: TrackedPaths, path: RawPath): number {
  let [low, high] = [0, paths.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((paths[middle] as RawPath) < path) low = middle + 1;
    else high = middle;
  }
  return low;
}
