// Runs `git worktree` one at a time for a repository: it reads all of its work trees, and fails at
// one that is half made or half removed. The agents of one reply begin at once (L72).
import { createLimit, pause } from '../../system/async.ts';
import type { WorktreePlace } from '../../store/worktree-record.ts';
import { type HeldGit, GitProblem } from './held-git.ts';

/**
 * Another worker, or a person, may make a work tree at the same time all the same: then it is tried
 * again this often, after this many milliseconds more each time.
 */
const MOST_TRIES = 8;
const REST_MS = 50;

export type WorktreeCommand = (
  git: HeldGit,
  place: WorktreePlace,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<string>;

export function createWorktreeCommand(): WorktreeCommand {
  const turns = new Map<string, ReturnType<typeof createLimit>>();
  return (git, place, args, signal) => {
    const turn = turns.get(place.common) ?? createLimit(1);
    turns.set(place.common, turn);
    return turn(async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await git.refs(place, ['worktree', ...args]);
        } catch (error) {
          if (!isHalfMade(error) || tries === MOST_TRIES || !(await pause(tries * REST_MS, signal))) throw error;
        }
      }
    });
  };
}

function isHalfMade(error: unknown): boolean {
  return error instanceof GitProblem && error.message.includes('failed to read');
}
