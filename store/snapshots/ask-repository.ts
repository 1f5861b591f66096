// Runs git to read a repository of a workspace, whose formats have variants. Programs that the
// repository's configuration names are not run. Paths are bytes, kept as latin1.
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { gitEnvironment } from '../../system/process/environment.ts';
import { bytesOf, type RawPath } from './listing.ts';

/** Git is given up that takes longer, or lists more. */
const LONGEST_MS = 10_000;
const MOST_PRINTED = 128 * 1024 * 1024;
const SETTINGS = ['core.fsmonitor=false', 'core.hooksPath=/dev/null', 'core.untrackedCache=false'].flatMap(
  (setting) => ['-c', setting],
);

/** The files that git reads for an answer. If one were a pipe, git would wait for its writer. */
const READ = ['index', 'config', 'commondir', 'HEAD'];
/**
 * Git that has failed is asked again after ten times as long as it took, and ten times that next.
 */
const LATER = 10;
const LATEST_MS = 60_000;

type Failed = { readonly state: string; readonly count: number; readonly until: number };

/** `gitFolder` is git's own folder, and `folder` the one in the work tree that is asked about. */
export type RepositoryPlace = { readonly gitFolder: RawPath; readonly top: RawPath; readonly folder: RawPath };

/** Asks one question about many places, with patience where git fails. */
export class RepositoryQuestion {
  readonly #git: string;
  readonly #args: readonly string[];
  readonly #failed = new Map<RawPath, Failed>();

  /** `git` is the path of git. */
  constructor(git: string, args: readonly string[]) {
    this.#git = git;
    this.#args = args;
  }

  /**
   * Returns what git prints, as latin1; null where it fails, or has failed a short while ago with
   * the same `state`, and may do so again.
   */
  ask(state: string, place: RepositoryPlace): string | null {
    const last = this.#failed.get(place.folder);
    const failed = last?.state === state ? last : { count: 0, until: 0 };
    const began = performance.now();
    if (began < failed.until || mayWait(place)) return null;
    const printed = ask(this.#git, this.#args, place);
    const [now, count] = [performance.now(), failed.count + 1];
    if (printed !== null) this.#failed.delete(place.folder);
    else {
      const until = now + Math.min(LATEST_MS, (now - began) * LATER ** count);
      this.#failed.set(place.folder, { state, count, until });
    }
    return printed;
  }
}

function mayWait({ gitFolder }: RepositoryPlace): boolean {
  return READ.some((name) => {
    try {
      return statSync(bytesOf(`${gitFolder}/${name}`), { throwIfNoEntry: false })?.isFIFO() === true;
    } catch {
      return false;
    }
  });
}

/** Returns null where git fails. */
function ask(git: string, command: readonly string[], { gitFolder, top, folder }: RepositoryPlace): string | null {
  const [from, tree, cwd] = [gitFolder, top === '' ? '/' : top, folder === '' ? '/' : folder].map(textOf);
  // Node starts no program with bytes that are no text.
  if (from === null || tree === null || cwd === null) return '';
  const args = [`--git-dir=${from}`, `--work-tree=${tree}`, ...SETTINGS, ...command];
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
