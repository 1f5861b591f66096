// Finds work trees of agents (L72) whose sessions are gone. A work tree on this machine may hold
// work that is on no branch; its record is the only thing that leads there, and stays as long as
// the tree does.
import { existsSync } from 'node:fs';
import { parseStored, type StoreCare } from '../../store/values/store.ts';
import { isWorktreePlace, type WorktreeRecord } from '../../store/worktree-record.ts';

export const WORKTREES = 'worktrees';

/**
 * `common` is the git directory of its repository. `holder` is the folder that contains only the
 * work tree.
 */
export type KeptWorktree = Pick<WorktreeRecord, 'tree' | 'common' | 'holder'>;

/**
 * Returns the work tree that a session's record names if it is on this machine, else null. Throws
 * StoreError.
 */
export async function findWorktree(care: Pick<StoreCare, 'record'>, key: string): Promise<KeptWorktree | null> {
  const [kind, session = ''] = key.split('/');
  if (kind !== WORKTREES) return null;
  const record = await care.record(`${WORKTREES}/${session}/begun`);
  const { tree, common, holder } = ((record && parseStored(record.bytes)) ?? {}) as Partial<WorktreeRecord>;
  if (tree === undefined || common === undefined || holder === undefined || !existsSync(tree)) return null;
  // A person is told to remove it, so it must be a place of ours.
  if (!isWorktreePlace({ holder, tree })) return null;
  return { tree, common, holder };
}
