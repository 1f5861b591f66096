// Knows which files a repository tracks, as git lists its index: those are captured whatever rules
// match them (T2). Paths are bytes, kept as latin1.
import { lstatSync } from 'node:fs';
import { RepositoryQuestion } from './ask-repository.ts';
import { foldCase } from './ignore-glob.ts';
import { bytesOf, namesIn, type RawPath } from './listing.ts';
import { findGitFolder } from './repository-rules.ts';

/** The tracked files below a folder, relative to it. */
export type TrackedPaths = {
  /** In the order of their bytes; without capital letters where case is ignored. */
  readonly sorted: readonly RawPath[];
  readonly ignoresCase: boolean;
};

export const NO_TRACKED: TrackedPaths = { sorted: [], ignoresCase: false };

type Listed = { readonly index: string; readonly printed: string; readonly paths: TrackedPaths };

export class TrackedFiles {
  readonly #question: RepositoryQuestion;
  readonly #listed = new Map<RawPath, Listed>();
  #version = 0;

  /** `git` is the path of git. */
  constructor(git: string) {
    this.#question = new RepositoryQuestion(git, ['ls-files', '-z']);
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
  list(top: RawPath, folder: RawPath, ignoresCase: boolean): TrackedPaths {
    const gitFolder = findGitFolder(top);
    const index = describeFile(`${gitFolder}/index`);
    const known = this.#listed.get(folder);
    const isAlike = known?.paths.ignoresCase === ignoresCase;
    if (known && isAlike && known.index === index) return known.paths;
    const printed = index === '' ? '' : this.#question.ask(index, { gitFolder, top, folder });
    if (printed === null) return known?.paths ?? NO_TRACKED;
    const isSame = known?.printed === printed || (known === undefined && printed === '');
    const paths = known && isAlike && isSame ? known.paths : { sorted: sortNames(printed, ignoresCase), ignoresCase };
    if (!isSame) this.#version += 1;
    this.#listed.set(folder, { index, printed, paths });
    return paths;
  }
}

function sortNames(printed: string, ignoresCase: boolean): readonly RawPath[] {
  const names = namesIn(printed);
  return ignoresCase ? names.map(foldCase).toSorted(compareUnits) : names;
}

const compareUnits = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** Returns a text that is another where the file is; empty without one. */
function describeFile(path: RawPath): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = lstatSync(bytesOf(path));
    return [ino, size, mtimeMs, ctimeMs].join(' ');
  } catch {
    return '';
  }
}

export function isTracked({ sorted, ignoresCase }: TrackedPaths, path: RawPath): boolean {
  const key = ignoresCase ? foldCase(path) : path;
  return sorted[findFrom(sorted, key)] === key;
}

/** `folder` ends with a slash. */
export function hasTrackedBelow({ sorted, ignoresCase }: TrackedPaths, folder: RawPath): boolean {
  const key = ignoresCase ? foldCase(folder) : folder;
  return sorted[findFrom(sorted, key)]?.startsWith(key) ?? false;
}

/** Finds the first path that does not come before the given one. */
function findFrom(paths: readonly RawPath[], path: RawPath): number {
  let [low, high] = [0, paths.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((paths[middle] as RawPath) < path) low = middle + 1;
    else high = middle;
  }
  return low;
}
