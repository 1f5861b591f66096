// Which snapshot holds the files of a point, and which calls a capture tells of.
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import type { CallKey, Hash } from '../../../workflows/contract/ids.ts';
import type { RewindRecord } from '../../../workflows/contract/rewind.ts';
import type { FilesEntry } from '../../../store/snapshots/files-entry.ts';
import {
  findCauses,
  findPosition,
  firstSnapshots,
  lastSnapshots,
  parsePoint,
  snapshotsAt,
} from '../../../store/snapshots/snapshot-points.ts';
import {
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  user,
} from '../../support/transcript.ts';

const files = (id: string, root = '/w'): FilesEntry => ({
  kind: 'files',
  roots: [
    {
      root,
      id,
      parent: null,
      files: 1,
      bytes: 0,
      added: 0,
      changed: 1,
      deleted: 0,
      insertions: 1,
      deletions: 0,
      names: [],
    },
  ],
  at: 0,
});

const log = (name: string, key: string | null, decision: 'allowed' | 'denied' = 'allowed') =>
  ({ log: { key: key as CallKey | null, name, decision, duration: 1, outcome: 'ok' } }) as const;

const entries: readonly Entry[] = [
  runStarted(1),
  user('Go.'),
  reply([callBlock('a', {}, 'read'), callBlock('b', { command: 'make' }, 'bash')], { iteration: 1 }),
  outcomes(outcome(0, 'text', log('read', null))),
  files('first'),
  outcomes(outcome(1, 'made', log('bash', '1.1.1'))),
  reply([callBlock('c', {}, 'read')], { iteration: 2 }),
  files('made'),
  outcomes(outcome(0, 'text', log('read', '1.2.0'))),
  reply([callBlock('d', { path: 'x' }, 'write'), callBlock('e', { path: 'y' }, 'write')], { iteration: 3 }),
  outcomes(outcome(0, '', log('write', '1.3.0')), outcome(1, '', log('write', '1.3.1', 'denied'))),
  runEnded(1),
  files('end'),
  runStarted(2),
  user('Again.'),
  reply([textBlock('Yes.')], { iteration: 1 }),
  files('person'),
];
const stretch = { entries, first: 0 };

test('the files of a point are those of its capture: at a reply, before its effects; at outcomes, behind them (T11)', () => {
  const at = entries.map((_, position) => snapshotsAt(stretch, position).get('/w'));
  const firstUntilReply2 = Array<string>(5).fill('first');
  const madeUntilReply3 = Array<string>(5).fill('made');
  // Nothing had changed when reply 3 came: its files are those of the capture before.
  const end = Array<string>(3).fill('end');
  const person = Array<string>(4).fill('person');
  expect(at).toEqual([...firstUntilReply2, ...madeUntilReply3, ...end, ...person]);
  expect(firstSnapshots(entries).get('/w')).toBe('first');
  expect(lastSnapshots(entries).get('/w')).toBe('person');
  expect(snapshotsAt({ entries: entries.slice(0, 1), first: 0 }, 0).size).toBe(0);
});

test('a point is the position of an entry or a run and an iteration, as pages and commands name them (T11)', () => {
  expect(['12', 'e12', '2.1', 'x', '1.2.3', '', '-1'].map(parsePoint)).toEqual([
    12,
    12,
    { run: 2, iteration: 1 },
    null,
    null,
    null,
    null,
  ]);
  expect(findPosition(stretch, { run: 1, iteration: 3 })).toBe(9);
  expect(findPosition(stretch, { run: 2, iteration: 1 })).toBe(15);
  expect(findPosition(stretch, { run: 3, iteration: 1 })).toBeNull();
  expect(findPosition({ entries, first: 100 }, 99)).toBeNull();
  expect(findPosition({ entries, first: 100 }, 116)).toBe(116);
});

test('a capture tells of the calls of the step before it, and of none where a person changed files (T5)', () => {
  const causes = (at: number) => findCauses(entries, at, ({ name }) => name !== 'read').map(({ name }) => name);
  expect(causes(4)).toEqual([]);
  expect(causes(7)).toEqual(['bash']);
  expect(causes(12)).toEqual(['write']);
  expect(causes(16)).toEqual([]);
});

test('a fork that parts within a step has the capture right after its last calls, which it tells of (T5 T10 T11)', () => {
  // Its origin has stored the capture with reply 2, after the point.
  const forked = [...entries.slice(0, 6), files('made'), runEnded(1)];
  const at = (position: number) => snapshotsAt({ entries: forked, first: 0 }, position).get('/w');
  expect([at(1), at(2), at(3), at(5), at(6), at(7)]).toEqual(['first', 'first', 'first', 'made', 'made', 'made']);
  expect(findCauses(forked, 6, () => true).map(({ name }) => name)).toEqual(['bash']);
});

test('the files at a rewind are what it brought back, and not what the next run finds (T7 T11)', () => {
  const from = 'f'.repeat(64) as Hash;
  const rewind = (rewound: Partial<RewindRecord>): Entry => ({
    kind: 'steered',
    steered: { action: 'rewind', at: 1, rewound: { from, ...rewound } },
  });
  const back = rewind({ files: [{ root: '/w', before: 'made', to: 'first', files: 1 }] });
  const apart = rewind({
    files: [{ root: '/w', before: 'x', to: 'first', after: 'first, and a file that stayed', files: 1 }],
    known: [{ root: '/x', id: 'newest', first: 'oldest' }],
  });
  const next = [runStarted(2), user('Again.'), reply([textBlock('Yes.')]), files('person'), runEnded(2)];
  const all = [runStarted(1), user('Go.'), reply([]), files('made'), runEnded(1), back, ...next, apart];
  const at = (position: number) => snapshotsAt({ entries: all, first: 0 }, position).get('/w');
  // The run before has the end that was captured of it.
  expect([at(4), at(5), at(6), at(all.length - 1)]).toEqual([
    'made',
    'first',
    'person',
    'first, and a file that stayed',
  ]);
  expect(lastSnapshots(all).get('/x')).toBe('newest');
  expect(firstSnapshots(all).get('/x')).toBe('oldest');
  expect(firstSnapshots([back]).get('/w')).toBe('first');
});
