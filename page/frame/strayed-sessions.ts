// Counts the open sessions whose transcripts lie in another store than the one that is read: theirs
// was emptied or replaced.
import type { OpenedServer } from '../../client/face-types.ts';

/** Open sessions that are looked at, the newest ones. */
const LOOKED_AT = 1_000;

/** A server that is not ours may have sessions of several stores: there it counts none. */
export async function countStrayed({
  embedded,
  sessions,
  storeId,
}: Pick<OpenedServer, 'embedded' | 'sessions' | 'storeId'>): Promise<number> {
  if (embedded === null) return 0;
  const [{ sessions: open }, own] = await Promise.all([
    sessions.page({ filter: 'status:open', size: LOOKED_AT }),
    storeId(),
  ]);
  return open.filter(({ store }) => store !== undefined && store !== own).length;
}
