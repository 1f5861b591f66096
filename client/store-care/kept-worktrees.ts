// Work trees of agents (L72) whose sessions are gone: one that is still on this machine may hold
// work that is on no branch. What is stored of it is the only thing that leads there, and stays as
// long as it does.
import { existsSync } from 'node:fs';
import type { StoreCare } from '../../store/values/store-care.ts';
import { parseStored } from '../../store/values/store.ts';
import { isWorktreePlace, type WorktreeRecord } from '../../store/worktree-record.ts';

export const WORKTREES = 'worktrees';

/** `common`: of its repository. `holder`: the folder that it lies in, alone. */
export type KeptWorktree = Pick<WorktreeRecord, 'tree' | 'common' | 'holder'>;

/**
 * The work tree that a record of a session is about, where it is on this machine; else null. Throws
 * StoreError.
 */
export async function keptWorktree(care: Pick<StoreCare, 'record'>, key: string): Promise<KeptWorktree | null> {
  const [kind, session = ''] = key.split('/');
  if (kind !== WORKTREES) return null;
  const record = await care.record(`${WORKTREES}/${session}/begun`);
  const { tree, common, holder } = ((record && parseStored(record.bytes)) ?? {}) as Partial<WorktreeRecord>;
  if (tree === undefined || common === undefined || holder === undefined || !existsSync(tree)) return null;
  // A person is told to remove it.
  if (!isWorktreePlace({ holder, tree })) return null;
  return { tree, common, holder };
}
