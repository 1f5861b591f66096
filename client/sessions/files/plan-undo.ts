// Plans to undo the last rewind of a session, also when it went on since (T7): what it did since is
// left behind in turn.
import { type Entry, rewoundIn } from '../../../store/log/entries.ts';
import { readChain } from '../../../store/log/read-chain.ts';
import { lastSnapshots } from '../../../store/snapshots/folder-knowledge.ts';
import { withMovedRoots } from '../../../store/snapshots/moved-roots.ts';
import type { Store } from '../../../store/values/store.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import type { RewindRequest, FolderRewind } from '../../../workflows/contract/rewind.ts';
import { ClientProblem } from '../../problem.ts';
import { entriesIn, goBack, knownAfter, nestedIn } from './plan-rewind.ts';

/** `turns`: replies since the rewind, which are left behind. */
export type UndoPlan = { readonly rewind: RewindRequest; readonly turns: number };

/** `from` is the head of the session. Throws ClientProblem where nothing was taken back. */
export async function planUndo(store: Store, session: SessionId, from: Hash): Promise<UndoPlan> {
  const entries = entriesIn(await readChain(store, session, from));
  const at = findLastRewind(entries);
  const last = rewoundIn(entries[at]);
  if (!last) throw new ClientProblem('refused', 'There is no rewind to undo in this session.');
  const renamed = withMovedRoots(entries);
  const newest = lastSnapshots(renamed);
  const files = last.files?.map(({ root, before, to, after = to }): FolderRewind => ({
    root,
    known: newest.get(root) ?? after,
    to: before,
    ...nestedIn(root, newest),
  }));
  const folders = files && { files };
  if (last.to === undefined) return { rewind: { from, ...folders }, turns: 0 };
  const kept = entriesIn(await readChain(store, session, last.from));
  const known = knownAfter(withMovedRoots(kept), renamed, files ?? []);
  const turns = entries.slice(at).filter(({ kind }) => kind === 'reply').length;
  return { rewind: { from, ...goBack(kept, last.from), ...known, ...folders }, turns };
}

/** A rewind of the session that this one is a fork of cannot be undone here. */
function findLastRewind(entries: readonly Entry[]): number {
  const forked = entries.findLastIndex((entry) => entry.kind === 'notice' && entry.notice.kind === 'forked');
  const at = entries.findLastIndex((entry) => rewoundIn(entry) !== undefined);
  return at > forked ? at : -1;
}
