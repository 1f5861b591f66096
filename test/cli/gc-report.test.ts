// What `perdure gc` says of the worktrees that it leaves.
import { expect, test } from 'vitest';
import { gcReport } from '../../cli/commands/gc.ts';

const none = { objects: 0, bytes: 0 };
const size = { bytes: 0, loose: 0, packs: 0 };
const room = { diskBytes: 10_000_000, isFull: false };
const snapshots = { sessions: 0, others: 0, freed: 0, size, room };
const cleaned = {
  sessions: 0,
  aside: none,
  values: none,
  records: { ...none, sessions: 0 },
  freed: 0,
  putBack: 0,
  snapshots,
  worktrees: [],
};

test('each worktree of a session that is gone is named with the command that removes it (L72 W4)', () => {
  const kept = { common: '/w/.git', holder: "/d's-worktrees/a", tree: "/d's-worktrees/a/a" };
  const lines = gcReport({ ...cleaned, worktrees: [kept] }, true)
    .trimEnd()
    .split('\n');
  expect(lines.slice(-2)).toEqual([
    '1 work tree of sessions that are gone stays, and may hold work that is on no branch; to remove:',
    String.raw`  git --git-dir=/w/.git worktree remove --force --force '/d'\''s-worktrees/a/a'; rm -rf '/d'\''s-worktrees/a'`,
  ]);
  expect(gcReport({ ...cleaned, worktrees: [] }, true)).not.toContain('work tree');
});

test('snapshots of sessions that are gone are counted, with what they took once they are removed (T4)', () => {
  const found = { ...cleaned, snapshots: { ...snapshots, sessions: 2, freed: 3_000_000 } };
  const line = 'the snapshots of files of 2 sessions that are gone';
  expect(gcReport(found, false)).toContain(`${line} removed, 3.0 MB\n`);
  expect(gcReport(found, true)).toContain(`${line} would be removed\n`);
  expect(gcReport(cleaned, false)).not.toContain('snapshots');
  const other = gcReport({ ...cleaned, snapshots: { ...snapshots, others: 2 } }, false);
  expect(other).toContain('the snapshots of files of 2 sessions of other stores stay: run gc with those stores\n');
});

test('what snapshots take is said with its bound, and that no more are taken beyond it (T4)', () => {
  const taking = (bytes: number) => ({
    ...cleaned,
    snapshots: { ...snapshots, freed: 2_000, size: { bytes, loose: 1, packs: 2 } },
  });
  expect(gcReport(taking(3_000_000), false)).toContain(
    'the snapshots of files take 3.0 MB of at most 10.0 MB: 1 loose object, 2 packs; 2.0 KB freed\n',
  );
  expect(gcReport(taking(3_000_000), false)).not.toContain('no more are taken');
  expect(gcReport(taking(11_000_000), false)).toContain(
    '\nno more are taken until there is room: snapshots.diskBytes is',
  );
});
