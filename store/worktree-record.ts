// Checks the record of a work tree, which names folders that the worker makes and removes, and may
// have been written on another machine.
import { basename, dirname, isAbsolute, join, normalize } from 'node:path';
import { agentName, type SessionId } from '../workflows/contract/ids.ts';
import { realOf } from '../system/process/places.ts';
import { keySegment } from './values/store.ts';

/** `holder` is the folder, out of the agent's reach, that holds a work tree and its git data. */
export type WorktreePlace = { readonly holder: string; readonly tree: string; readonly common: string };

/** The record of a work tree, written before any part of it is made. */
export type WorktreeRecord = WorktreePlace & {
  readonly v: 1;
  readonly host: string | null;
  /** The commit that the work tree began at. */
  readonly base: string;
  readonly branch: string;
  /** The path of the workspace within the work tree. */
  readonly prefix: string;
};

/** Returns the folder in which the work trees of a data folder lie. */
export function worktreesFolderOf(dataDir: string): string {
  return `${realOf(dataDir) ?? dataDir}-worktrees`;
}

/**
 * Tells whether `holder` is a folder in one for work trees, of any data folder of this machine, and
 * `tree` lies in it under the same name.
 */
export function isWorktreePlace({ holder, tree }: Partial<Pick<WorktreeRecord, 'holder' | 'tree'>>): boolean {
  if (typeof holder !== 'string' || !isAbsolute(holder) || normalize(holder) !== holder) return false;
  return dirname(holder).endsWith('-worktrees') && tree === join(holder, basename(holder));
}

/**
 * Returns why a record must not be followed, or null: it must name the one place where this worker
 * would have made the work tree.
 */
export function worktreeRecordProblem(
  { holder, tree, branch, base, common, prefix }: { readonly [Key in keyof WorktreeRecord]?: unknown },
  session: SessionId,
  dataDir: string,
): string | null {
  const name = keySegment(agentName(session));
  const folder = worktreesFolderOf(dataDir);
  const own = join(realOf(folder) ?? folder, name);
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
