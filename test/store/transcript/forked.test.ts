// Transcripts that go on from a point of another one (T10): every link between the two is checked,
// over pages and in parts.
import { expect, test } from 'vitest';
import { verifyTranscript } from '../../../store/log/audit.ts';
import { readChain, readRange } from '../../../store/log/read-chain.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { lastSnapshots, withMovedRoots } from '../../../store/snapshots/snapshot-points.ts';
import { nextSegment } from '../../../store/view/append.ts';
import { emptyView, loadView, loadWorkingView, type View } from '../../../store/view/view.ts';
import type { Entry } from '../../../store/log/entries.ts';
import type { ForkNotice } from '../../../workflows/contract/fork.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { files, user } from '../../support/transcript.ts';

const ORIGIN = 's-origin' as SessionId;
const FORK = 's-fork' as SessionId;

async function grow(store: ReturnType<typeof memoryStore>, from: View, count: number): Promise<View> {
  let view = from;
  for (let n = 0; n < count; n += 1) {
    const next = nextSegment(view, [user(`${view.session} ${view.length}`)]);
    await store.put(next.bytes);
    view = next.view;
  }
  return view;
}

async function fork(
  store: ReturnType<typeof memoryStore>,
  origin: View,
  link: Partial<ForkNotice> = {},
): Promise<View> {
  const notice: ForkNotice = {
    kind: 'forked',
    session: origin.session,
    head: origin.head,
    position: origin.length,
    at: 1,
    ...link,
  };
  const { bytes } = nextSegment({ ...origin, session: FORK }, [{ kind: 'notice', notice }]);
  return loadView(store, FORK, await store.put(bytes));
}

test.each([1, 7, 63, 64, 65, 130])(
  'a fork after %d segments is read whole, in parts and by its pages',
  async (shared) => {
    const store = memoryStore();
    const origin = await grow(store, emptyView(ORIGIN), shared);
    const view = await grow(store, await fork(store, origin), 140);
    const head = view.head as Hash;
    const chain = await readChain(store, FORK, head);
    expect(chain.map(({ segment }) => segment.session)).toEqual([
      ...Array.from({ length: shared }, () => ORIGIN),
      ...Array.from({ length: 141 }, () => FORK),
    ]);
    expect((await verifyTranscript(store, FORK, head)).problems).toEqual([]);
    expect((await loadWorkingView(store, FORK, head)).entries).toEqual(view.entries);
    for (const from of [0, shared - 1, shared, shared + 100]) {
      const segments = await readRange(store, FORK, head, { from, to: from + 1 });
      expect(segments.map(({ segment }) => segment.first)).toContain(from);
    }
    await expect(loadView(store, ORIGIN, head)).rejects.toThrow('does not belong here');
  },
);

test.each<[string, Partial<ForkNotice>]>([
  ['another session', { session: 's-other' as SessionId }],
  ['another segment', { head: '0'.repeat(64) as Hash }],
])('a link that names %s than the one before it is refused', async (_, link) => {
  const store = memoryStore();
  const origin = await grow(store, emptyView(ORIGIN), 3);
  await expect(fork(store, origin, link)).rejects.toThrow('does not belong here');
});

test('a segment of another session without a link is refused', async () => {
  const store = memoryStore();
  const origin = await grow(store, emptyView(ORIGIN), 3);
  const { bytes } = nextSegment({ ...origin, session: FORK }, [user('x')]);
  await expect(loadView(store, FORK, await store.put(bytes))).rejects.toThrow('does not belong here');
});

test('what was captured before forks that moved counts as captured of the last folder (T11)', () => {
  const moved = (from: string, to: string): Entry => ({
    kind: 'notice',
    notice: { kind: 'forked', session: ORIGIN, head: null, position: 1, at: 1, moved: { from, to } },
  });
  const rewound = {
    from: '0'.repeat(64) as Hash,
    files: [{ root: '/a', before: 'x', to: 'back', files: 1 }],
    known: [{ root: '/a', id: 'known' }],
  };
  const rewind: Entry = { kind: 'steered', steered: { action: 'rewind', at: 1, rewound } };
  expect([...lastSnapshots(withMovedRoots([rewind, moved('/a', '/b')]))]).toEqual([['/b', 'back']]);
  const entries = [files('/a'), files('/other'), moved('/a', '/b'), files('/b'), moved('/b', '/c'), files('/c')];
  const roots = withMovedRoots(entries).flatMap((entry) => (entry.kind === 'files' ? entry.roots : []));
  expect(roots.map(({ root }) => root)).toEqual(['/c', '/other', '/c', '/c']);
});
