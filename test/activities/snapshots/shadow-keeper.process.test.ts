// A worker packs the shadow repository in quiet moments, and captures nothing while it is too large.
import { rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ShadowKeeper, type KeeperOptions } from '../../../activities/snapshots/shadow-keeper.ts';
import { DEFAULT_DISK_BYTES, measureShadow, readRoom, withPackingLock } from '../../../store/snapshots/pack-shadow.ts';
import { runHere, shadowed } from '../../store/snapshots/support.ts';

const patient = { timeout: 60_000, interval: 20 };

function kept(options: Partial<KeeperOptions> = {}) {
  const folder = shadowed();
  const lines: string[] = [];
  const keeper = new ShadowKeeper({
    dataDir: join(folder.place.gitDir, '..'),
    git: 'git',
    runUntil: () => runHere,
    isBusy: () => false,
    log: (_, line) => void lines.push(line),
    quietMs: 0,
    ...options,
  });
  onTestFinished(() => keeper.close());
  const measure = () => measureShadow(folder.place.gitDir, 'exact');
  return { ...folder, keeper, lines, measure };
}

test('many loose objects are packed after a capture, and few are left as they are (T4)', async () => {
  const { keeper, take, sh, measure } = kept({ bounds: { loose: 50, packs: 5 } });
  sh('for n in $(seq 40); do mkdir d$n && echo $n > d$n/f; done');
  await take();
  expect((await measure()).loose).toBeGreaterThan(50);
  keeper.noteCapture();
  await vi.waitFor(async () => expect((await measure()).loose).toBe(0), patient);
});

test('nothing is packed beside a capture, unless there is far too much (T4)', async () => {
  const state = { isBusy: true, looks: 0 };
  const isBusy = () => {
    state.looks += 1;
    return state.isBusy;
  };
  const { keeper, take, sh, measure } = kept({ bounds: { loose: 50, packs: 5 }, isBusy });
  sh('for n in $(seq 40); do mkdir d$n && echo $n > d$n/f; done');
  await take();
  const { loose } = await measure();
  keeper.noteCapture();
  await vi.waitFor(() => expect(state.looks).toBeGreaterThan(3), patient);
  expect((await measure()).loose).toBe(loose);
  state.isBusy = false;
  await vi.waitFor(async () => expect((await measure()).loose).toBe(0), patient);
});

test('beyond the bound of the disk nothing is captured, and it begins again once there is room (T2 T4)', async () => {
  const { keeper, take, root, place, lines } = kept({ diskBytes: 2_000_000 });
  writeFileSync(join(root, 'small'), 'small');
  const small = await take();
  keeper.requireRoom();
  const large = join(place.own, 'large');
  writeFileSync(large, randomBytes(3_000_000));
  keeper.noteCapture();
  const refused = /take more of the disk than snapshots\.diskBytes allows \(0\.00186 GiB\): perdure gc frees/;
  await vi.waitFor(() => expect(() => keeper.requireRoom()).toThrow(refused), patient);
  expect(readRoom(place.gitDir)).toEqual({ diskBytes: 2_000_000, isFull: true });
  rmSync(large);
  // An attempt to capture is enough.
  await vi.waitFor(() => keeper.requireRoom(), patient);
  expect(readRoom(place.gitDir).isFull).toBe(false);
  expect((await take(small.id)).id).toBe(small.id);
  expect(lines).toEqual([]);
});

test('what can be packed makes room before captures stop (T4)', async () => {
  const { keeper, take, sh, measure, place } = kept({ diskBytes: 1_000_000 });
  expect(readRoom(place.gitDir).diskBytes).toBe(DEFAULT_DISK_BYTES);
  let before: string | null = null;
  for (let version = 0; version < 4; version += 1) {
    sh(`for n in $(seq 40); do mkdir -p d$n && echo ${version} $n > d$n/f; done`);
    before = (await take(before)).id;
  }
  expect((await measure()).bytes).toBeGreaterThan(1_000_000);
  keeper.noteCapture();
  await vi.waitFor(async () => expect((await measure()).loose).toBe(0), patient);
  await vi.waitFor(() => expect(readRoom(place.gitDir)).toEqual({ diskBytes: 1_000_000, isFull: false }), patient);
  keeper.requireRoom();
});

test('a packing that fails is told once, and one by another worker not at all (T4)', async () => {
  const attempts = { count: 0 };
  const runUntil = () => () => {
    attempts.count += 1;
    return Promise.reject(new Error('fatal: no room'));
  };
  const { keeper, take, sh, place, lines } = kept({ bounds: { loose: 30, packs: 5 }, runUntil });
  sh('for n in $(seq 40); do mkdir d$n && echo $n > d$n/f; done');
  await take();
  await withPackingLock(place.gitDir, 0, async () => {
    keeper.noteCapture();
    await keeper.close();
  });
  expect([attempts.count, lines]).toEqual([0, []]);
  const other = kept({ bounds: { loose: 30, packs: 5 }, runUntil });
  other.sh('for n in $(seq 40); do mkdir d$n && echo $n > d$n/f; done');
  await other.take();
  for (const times of [2, 4]) {
    other.keeper.noteCapture();
    await vi.waitFor(() => expect(attempts.count).toBe(times), patient);
  }
  await vi.waitFor(() => expect(other.lines).toHaveLength(1), patient);
  expect(other.lines).toEqual(['the snapshots of files are not packed: fatal: no room']);
});
