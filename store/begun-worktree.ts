// What a record of a work tree may say: it leads the worker to folders that it makes and removes,
// and may have been written elsewhere.
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import { agentName, type SessionId } from '../workflows/contract/ids.ts';
import { realOf } from '../system/process/places.ts';
import { keySegment } from './values/store.ts';

/**
 * `holder`: the folder, out of its agent's reach, that holds a work tree and what is needed for it.
 */
export type WorktreePlace = { readonly holder: string; readonly tree: string; readonly common: string };

/** The record of a work tree, written before anything of it is made. */
export type Begun = WorktreePlace & {
  readonly v: 1;
  readonly host: string | null;
  /** The commit it began at. */
  readonly base: string;
  readonly branch: string;
  /** The workspace in the work tree. */
  readonly prefix: string;
};

/** Where the work trees of a data folder lie. */
export function worktreesBeside(dataDir: string): string {
  return `${realOf(dataDir) ?? dataDir}-worktrees`;
}

/**
 * A folder of its own in one for work trees, with the tree in it under the same name; of whichever
 * data folder of this machine.
 */
export function isTreePlace({ holder, tree }: Partial<Pick<Begun, 'holder' | 'tree'>>): boolean {
  if (typeof holder !== 'string' || !isAbsolute(holder) || normalize(holder) !== holder) return false;
  return dirname(holder).endsWith('-worktrees') && tree === join(holder, basename(holder));
}

/**
 * Why nothing is to be done by it, or null: it is for no other place than this worker would have
 * made it in.
 */
export function begunProblem(
  { holder, tree, branch, base, common, prefix }: { readonly [Key in keyof Begun]?: unknown },
  session: SessionId,
  dataDir: string,
): string | null {
  const name = keySegment(agentName(session));
  const beside = worktreesBeside(dataDir);
  const own = join(realOf(beside) ?? beside, name);
  const isOwn =
    holder === own &&
    tree === join(own, name) &&
    branch === `perdure/${name}` &&
    typeof base === 'string' &&
    /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(base) &&
    typeof common === 'string' &&
    isAbsolute(common) &&
    typeof prefix === 'string' &&
    !isAbsolute(prefix) &&
    !prefix.split('/').includes('..');
  return isOwn ? null : `the record of its work tree leads to ${String(tree)}, and it would be in ${own}`;
}
