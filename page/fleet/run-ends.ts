// Tells when the last run of a session that is idle has ended, which lists do not know: its
// transcript says so, and is read once for each head.
import { readSegment } from '../../client/faces/reading.ts';
import type { Store, SessionInfo } from '../../client/faces/types.ts';
import { StoreError } from '../../client/faces/sessions.ts';
import { createLimit } from '../../system/async.ts';
import { RecentMap } from '../../system/recent-map.ts';

/** Milliseconds since the epoch, by session. */
export type RunEnds = ReadonlyMap<string, number>;
type ReadRunEnds = (sessions: readonly SessionInfo[]) => Promise<RunEnds>;

const TOGETHER = 8;
const MOST_KEPT = 5_000;

export function runEndReader(store: Store): ReadRunEnds {
  const known = new RecentMap<string, number | null>(MOST_KEPT);
  const few = createLimit(TOGETHER);
  const read = async ({ session, head }: SessionInfo): Promise<number | null> => {
    if (head === null) return null;
    const found = known.get(head);
    if (found !== undefined) return found;
    const at = await few(() => readEnd(store, session, head));
    known.set(head, at);
    return at;
  };
  return async (sessions) => {
    const idle = sessions.filter(({ phase }) => phase === 'idle');
    const ends = await Promise.all(idle.map(async (one) => [one.session, await read(one)] as const));
    return new Map(ends.flatMap(([session, at]) => (at === null ? [] : [[session, at] as const])));
  };
}

/** Returns null where the transcript cannot be read, or does not say. */
async function readEnd(
  store: Store,
  session: SessionInfo['session'],
  head: NonNullable<SessionInfo['head']>,
): Promise<number | null> {
  try {
    const { segment } = await readSegment(store, head, { session, entry: null });
    const runEnd = segment.entries.findLast((entry) => entry.kind === 'run_ended');
    return runEnd?.kind === 'run_ended' ? runEnd.ended.at : null;
  } catch (error) {
    if (error instanceof StoreError) return null;
    throw error;
  }
}
