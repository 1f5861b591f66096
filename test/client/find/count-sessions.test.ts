// Counts that memos decide, where there are more sessions than are read.
import { expect, test } from 'vitest';
import { countSessions } from '../../../client/sessions/find/count-sessions.ts';
import type { Finder } from '../../../client/sessions/find/list-sessions.ts';
import type { Placed } from '../../../client/sessions/find/stream-sessions.ts';
import type { SessionInfo } from '../../../client/sessions/info.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { description } from '../support.ts';

const rowsOf = (count: number, status: 'open' | 'cancelled'): readonly Placed<SessionInfo>[] =>
  Array.from({ length: count }, (_, n) => {
    const session = `${status}-${n}` as SessionId;
    const phase = status === 'open' ? 'idle' : 'closed';
    const item = description({ session, status, phase, title: n % 2 === 0 ? 'the lamp shop' : 'a mail' });
    return { id: session, key: n, bound: n, item };
  });

/** A server with so many open and closed sessions. */
const finderOf = (open: number, closed: number) =>
  ({
    visibility: () => Promise.resolve(true),
    observePhase: (session: SessionInfo) => Promise.resolve(session),
    readAll: (query: string) =>
      Promise.resolve(
        query.includes(`ExecutionStatus = 'Running'`) ? rowsOf(open, 'open') : rowsOf(closed, 'cancelled'),
      ),
  }) as unknown as Finder;

test('a count by text reads ten thousand sessions and no more, and says so (O3 O13)', async () => {
  const { note, ...counts } = await countSessions(finderOf(10_000, 10), { filter: 'lamp' });
  expect(note).toBe('only the newest 10,000 sessions were searched for counts: narrow the filter');
  expect(counts).toMatchObject({ idle: 5_000, closed: 0 });
});

test('a count by text of fewer is whole (O3)', async () => {
  const counts = await countSessions(finderOf(9_990, 10), { filter: 'lamp' });
  expect(counts).toEqual({ running: 0, waiting_worker: 0, waiting_approval: 0, parked: 0, idle: 4_995, closed: 5 });
});
