// Packs the shadow repository beside captures, and under kills, with git as it is here.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FolderCapture } from '../../../store/snapshots/capture-folder.ts';
import { measureShadow, type Packing, packShadow, withPackingLock } from '../../../store/snapshots/pack-shadow.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { tempFolder } from '../../tools/support.ts';
import { runHere, shadowed } from './support.ts';

const ALL = { loose: 0, packs: 1 };

const packingOf = (gitDir: string): Packing => ({
  gitDir,
  git: 'git',
  run: (argv) => runHere(argv, { env: {}, cwd: gitDir }),
});

/** Captures many versions of some files, and returns the snapshots. */
async function captureVersions(
  { sh, take }: ReturnType<typeof shadowed>,
  versions: number,
): Promise<readonly string[]> {
  const taken: string[] = [];
  for (let version = 0; version < versions; version += 1) {
    sh(`for n in $(seq 20); do mkdir -p d$n && (seq 100; echo ${version} $n) > d$n/f; done`);
    taken.push((await take(taken.at(-1) ?? null)).id);
  }
  return taken;
}

function expectWhole(gitDir: string, snapshots: readonly string[]): void {
  const git = (...args: readonly string[]) => spawnSync('git', [`--git-dir=${gitDir}`, ...args], { encoding: 'utf8' });
  const fsck = git('fsck', '--full', '--strict', '--no-dangling');
  // A repository without branches has no HEAD.
  expect([fsck.status, fsck.stderr.replace(/^notice: HEAD .*\n/, '')]).toEqual([0, '']);
  for (const id of snapshots) {
    const archive = git('archive', `${id}:files`);
    expect([id, archive.status, archive.stderr]).toEqual([id, 0, '']);
  }
}

test('a session of many steps takes few files and few bytes once it is packed (T4)', async () => {
  const folder = shadowed();
  const taken = await captureVersions(folder, 12);
  const { gitDir } = folder.place;
  const before = await measureShadow(gitDir, 'exact');
  expect(await packShadow(packingOf(gitDir), { loose: 10_000, packs: 50 })).toBe(false);
  expect((await measureShadow(gitDir, 'exact')).loose).toBe(before.loose);
  expect(await packShadow(packingOf(gitDir), ALL)).toBe(true);
  const after = await measureShadow(gitDir, 'exact');
  expect([after.loose, after.packs]).toEqual([0, 1]);
  expect(after.bytes).toBeLessThan(before.bytes / 10);
  expect(after.bytes / taken.length).toBeLessThan(10_000);
  expectWhole(gitDir, taken);
});

test('small packs become one, and a large one stays as it is (T4)', async () => {
  const folder = shadowed();
  const { gitDir } = folder.place;
  const packs = () => readdirSync(join(gitDir, 'objects/pack')).filter((name) => name.endsWith('.pack'));
  const taken = [...(await captureVersions(folder, 6))];
  await packShadow(packingOf(gitDir), ALL);
  const [large] = packs();
  for (const name of ['a', 'b', 'c', 'd']) {
    folder.sh(`echo ${name} > ${name}`);
    taken.push((await folder.take(taken.at(-1))).id);
    await packShadow(packingOf(gitDir), { loose: 0, packs: 50 });
  }
  expect(packs()).toHaveLength(5);
  await packShadow(packingOf(gitDir), { loose: 0, packs: 3 });
  expect(packs()).toHaveLength(2);
  expect(packs()).toContain(large);
  expectWhole(gitDir, taken);
});

test('captures of several processes go on while the repository is packed again and again (T1 T4)', async () => {
  const folder = shadowed();
  const { place, root, means } = folder;
  const dataDir = join(place.gitDir, '..');
  const others = ['s-2', 's-3'].map((id) => {
    const own = placeOfRoot(dataDir, id as SessionId, root);
    return { own, capture: new FolderCapture({ place: own, git: 'git' }) };
  });
  const taken: string[] = [];
  const state = { isOver: false };
  const pack = async () => {
    while (!state.isOver) {
      const child = spawn('git', [`--git-dir=${place.gitDir}`, 'repack', '-d', '-l', '-q'], { stdio: 'ignore' });
      await once(child, 'exit');
      const merge = spawn('git', [`--git-dir=${place.gitDir}`, 'repack', '--geometric=2', '-d', '-l', '-q'], {
        stdio: 'ignore',
      });
      await once(merge, 'exit');
    }
  };
  await folder.take();
  const packing = pack();
  for (let version = 0; version < 25; version += 1) {
    folder.sh(`for n in $(seq 10); do echo ${version % 7} > f$n; done; echo ${version} > own`);
    const all = await Promise.all([
      folder.take(taken.at(-3) ?? null),
      ...others.map(({ own, capture }) =>
        takeSnapshot({ ...means, place: own, capture: (request) => capture.capture(request) }, taken.at(-1) ?? null),
      ),
    ]);
    taken.push(...all.map(({ id }) => id));
  }
  state.isOver = true;
  await packing;
  others.forEach(({ capture }) => capture.close());
  expect(new Set(taken).size).toBe(25);
  expectWhole(place.gitDir, [...new Set(taken)]);
});

test('a capture goes on with what it knows once the repository is packed (T1)', async () => {
  const folder = shadowed();
  const { place, means, sh } = folder;
  const bin = tempFolder();
  const git = join(bin, 'git');
  const log = join(bin, 'log');
  writeFileSync(git, `#!/bin/sh\necho "$*" >> ${log}\nexec git "$@"\n`);
  chmodSync(git, 0o755);
  writeFileSync(log, '');
  const capture = new FolderCapture({ place, git });
  const take = (before: string | null) =>
    takeSnapshot({ ...means, git, capture: (request) => capture.capture(request) }, before);
  sh('mkdir a && echo 1 > a/one && echo 2 > two');
  const first = await take(null);
  await packShadow(packingOf(place.gitDir), ALL);
  writeFileSync(log, '');
  expect((await take(first.id)).id).toBe(first.id);
  expect((await take(first.id)).id).toBe(first.id);
  const asked = readFileSync(log, 'utf8').trim().split('\n');
  expect(asked).toHaveLength(1);
  expect(asked[0]).toContain('cat-file -e');
  sh('echo 3 > two');
  const second = await take(first.id);
  expect(second.changes).toMatchObject([{ path: 'two', kind: 'changed' }]);
  // Without its objects it begins anew.
  rmSync(join(place.gitDir, 'objects/pack'), { recursive: true });
  sh(`rm -r ${place.gitDir}/objects/[0-9a-f]*; rm ${place.gitDir}/refs/sessions/*/*`);
  const again = await take(second.id);
  expect(again.id).toBe(second.id);
  capture.close();
  expectWhole(place.gitDir, [again.id]);
});

const kindsIn = (gitDir: string) => {
  const packs = readdirSync(join(gitDir, 'objects/pack'));
  const has = (name: string) => readdirSync(join(gitDir, 'objects')).includes(name);
  return {
    writing: packs.some((name) => /^\.?tmp[-_]/.test(name)),
    packed: packs.some((name) => name.endsWith('.idx')),
    removing: packs.some((name) => name.endsWith('.idx')) && (!has('00') || !has('01')),
  };
};

test('a packing that is killed at any moment leaves all snapshots readable, and the next one ends it (T4)', async () => {
  const folder = shadowed();
  const { gitDir } = folder.place;
  const taken = await captureVersions(folder, 15);
  for (const kind of ['writing', 'packed', 'removing'] as const) {
    const copy = await killPacking(gitDir, kind);
    expectWhole(copy, taken);
    // What it left counts as old from now on.
    const old = new Date(Date.now() - 2 * 3_600_000);
    for (const name of leftoversIn(copy)) utimesSync(join(copy, 'objects/pack', name), old, old);
    await packShadow(packingOf(copy), ALL);
    expect(await measureShadow(copy, 'exact')).toMatchObject({ loose: 0, packs: 1 });
    expect(leftoversIn(copy)).toEqual([]);
    expectWhole(copy, taken);
  }
});

const leftoversIn = (gitDir: string): readonly string[] =>
  readdirSync(join(gitDir, 'objects/pack')).filter((name) => /^\.?tmp[-_]/.test(name));

/** Packs copies of a repository until one was killed in this state, and returns that. */
async function killPacking(gitDir: string, kind: keyof ReturnType<typeof kindsIn>): Promise<string> {
  for (let attempt = 0; attempt < 30; attempt += 1) {
    const copy = join(tempFolder(), 'snapshots');
    cpSync(gitDir, copy, { recursive: true });
    const argv = [`--git-dir=${copy}`, '-c', 'pack.threads=1', 'repack', '-d', '-l', '-q'];
    const child = spawn('git', argv, { stdio: 'ignore', detached: true });
    const end = once(child, 'exit');
    while (child.exitCode === null && !kindsIn(copy)[kind]) await nextTurn();
    kill(-(child.pid ?? 0));
    const [, signal] = (await end) as [number | null, string | null];
    if (signal === 'SIGKILL') return copy;
  }
  throw new Error(`no packing was seen ${kind}`);
}

function kill(group: number): void {
  try {
    process.kill(group, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

test('one process packs at a time, and what a dead one has held is free (T4)', async () => {
  const gitDir = join(tempFolder(), 'snapshots');
  mkdirSync(gitDir);
  await withPackingLock(gitDir, 0, async () => {
    await expect(withPackingLock(gitDir, 0, () => Promise.resolve('packed'))).rejects.toThrow(
      'packing the snapshots of files',
    );
  });
  const dead = spawnSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' });
  const holder = { pid: Number(dead.stdout), startTime: '1', bootId: 'x', host: 'h' };
  writeFileSync(join(gitDir, 'packing', '99'), JSON.stringify({ holder }));
  expect(await withPackingLock(gitDir, 0, () => Promise.resolve('packed'))).toBe('packed');
});

test('where objects of one session are damaged, those of the others are packed (T4)', async () => {
  const folder = shadowed();
  const { place, root, means, sh } = folder;
  sh('echo good > good');
  const good = await folder.take();
  sh('echo bad > bad');
  const other = placeOfRoot(join(place.gitDir, '..'), 's-2' as SessionId, root);
  const capture = new FolderCapture({ place: other, git: 'git' });
  await takeSnapshot({ ...means, place: other, capture: (request) => capture.capture(request) }, null);
  capture.close();
  const blob = sh('git hash-object bad').trim();
  rmSync(join(place.gitDir, 'objects', blob.slice(0, 2), blob.slice(2)));
  expect(await packShadow(packingOf(place.gitDir), ALL)).toBe(true);
  expect(await measureShadow(place.gitDir, 'exact')).toMatchObject({ loose: 0, packs: 1 });
  expect(await folder.files(good.id)).toEqual(['100644 good']);
});
