// Workspaces and data folders on disks that are full when files are to go back or to a fork.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { Attempt } from '../../../activities/attempt.ts';
import { checkOutRoot } from '../../../activities/snapshots/check-out.ts';
import { rewindRoots } from '../../../activities/snapshots/rewind-roots.ts';
import { runGitHeld } from '../../../activities/snapshots/run-git-held.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { DEFAULT_CAPS, takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { MAY_NOT_MOUNT, mountSmall } from '../../support/small-disk.ts';
import { tempFolder } from '../../tools/support.ts';

const session = 's-1' as SessionId;
const { signal } = new AbortController();
const attempt = { session, signal, fence: () => Promise.resolve(true) } as unknown as Attempt;
const FULL = expect.stringMatching(/no space left on device/i) as string;
const NO_ROOM = 'b cannot be written: no space left on device';

const noise = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, (_, at) => (at * at) % 251));

/** A folder with two large files in the first of two snapshots, and a small one in both. */
async function openFolder(root = tempFolder(), dataDir = join(tempFolder(), 'data')) {
  mkdirSync(dataDir, { recursive: true });
  const options = { sandbox: await probeSandbox({ kinds: ['group'] }), dataDir, caps: DEFAULT_CAPS };
  const place = placeOfRoot(dataDir, session, root);
  const means = { place, git: 'git', run: runGitHeld(options, signal), caps: DEFAULT_CAPS };
  const look = () => readdirSync(root).map((name) => [name, readFileSync(join(root, name)).length]);
  for (const name of ['a', 'b']) writeFileSync(join(root, name), noise(700_000));
  writeFileSync(join(root, 'small'), 'old\n');
  writeFileSync(join(root, '.gitignore'), 'filler\n');
  const { id: to } = await takeSnapshot(means, null);
  for (const name of ['a', 'b']) rmSync(join(root, name));
  writeFileSync(join(root, 'small'), 'newer\n');
  const { id: known } = await takeSnapshot(means, null);
  return { root, options, to, look, asked: { root, known, to } };
}

test('a rewind for which the disk of the workspace has no room is refused, and puts all back (T7)', async ({
  skip,
}) => {
  const disk = tempFolder();
  skip(!mountSmall(disk, '2m'), MAY_NOT_MOUNT);
  const { root, options, look, asked } = await openFolder(disk);
  writeFileSync(join(root, 'filler'), noise(1_000_000));
  const before = look();
  expect(await rewindRoots(options, { step: 3, roots: [asked], attempt })).toEqual({
    kind: 'refused',
    problem: NO_ROOM,
  });
  expect(look()).toEqual(before);
  rmSync(join(root, 'filler'));
  expect(await rewindRoots(options, { step: 4, roots: [asked], attempt })).toMatchObject({ kind: 'done' });
});

test('a rewind for which the disk has room and no inodes says so (T7)', async ({ skip }) => {
  const disk = tempFolder();
  skip(!mountSmall(disk, '4m,nr_inodes=40'), MAY_NOT_MOUNT);
  const { root, options, asked } = await openFolder(disk);
  writeFileSync(join(root, '.gitignore'), 'filler*\n');
  spawnSync('sh', ['-c', 'for n in $(seq 60); do : > filler$n || exit; done'], { cwd: root, stdio: 'ignore' });
  const refused = await rewindRoots(options, { step: 3, roots: [asked], attempt, force: true });
  expect(refused).toEqual({
    kind: 'refused',
    problem: expect.stringMatching(/cannot be written: no inodes left on device: the disk holds as many files/),
  });
});

test('a rewind for which the data folder has no room is refused before anything is written (T7)', async ({ skip }) => {
  const dataDir = tempFolder();
  skip(!mountSmall(dataDir, '4m'), MAY_NOT_MOUNT);
  const { root, options, look, asked } = await openFolder(tempFolder(), dataDir);
  writeFileSync(join(root, 'new'), noise(900_000));
  spawnSync('sh', ['-c', 'cat /dev/zero > filler'], { cwd: dataDir });
  const before = look();
  const refused = await rewindRoots(options, { step: 3, roots: [asked], attempt, force: true });
  expect(refused).toEqual({ kind: 'refused', problem: FULL });
  expect(look()).toEqual(before);
  rmSync(join(dataDir, 'filler'));
  expect(await rewindRoots(options, { step: 4, roots: [asked], attempt, force: true })).toMatchObject({ kind: 'done' });
});

test('a fork for whose files there is no room is refused, and leaves nothing there (T10)', async ({ skip }) => {
  const disk = tempFolder();
  skip(!mountSmall(disk, '1m'), MAY_NOT_MOUNT);
  const { root, options, to } = await openFolder();
  const git = 'git init -q && git -c user.name=a -c user.email=b commit -q --allow-empty -m one';
  spawnSync('sh', ['-ec', git], { cwd: root });
  const about = { from: root, to: join(disk, 'fork'), snapshot: to, step: 1, attempt };
  for (const worktree of [false, true]) {
    expect(await checkOutRoot(options, { ...about, ...(worktree && { worktree }) })).toEqual({
      kind: 'refused',
      problem: NO_ROOM,
    });
    expect(readdirSync(disk)).toEqual([]);
  }
});
