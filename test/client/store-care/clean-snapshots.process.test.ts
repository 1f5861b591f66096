// What gc frees of the shadow repository, with git as it is here.
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanSnapshots } from '../../../client/store-care/clean-snapshots.ts';
import { HostedSessions } from '../../../store/hosted-sessions.ts';
import { noteStore } from '../../../store/snapshots/pack-shadow.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { shadowed } from '../../store/snapshots/support.ts';

/** The store of the data folder itself. */
const store = { id: 'store-1', isOwn: true };
const OLD = new Date(Date.now() - 3 * 24 * 3_600_000);

/** Makes all that was captured so far old. */
function age(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    utimesSync(join(folder, entry), OLD, OLD);
}

const countObjects = (gitDir: string): number =>
  readdirSync(join(gitDir, 'objects'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    /[0-9a-f]{38}$/.test(name),
  ).length;

test('gc frees the snapshots of a session that is gone, and those of the others stay whole (T4)', async () => {
  const { root, place, means, sh, take, files } = shadowed();
  const dataDir = join(place.gitDir, '..');
  const gone = { ...means, place: placeOfRoot(dataDir, 's-gone' as SessionId, root), capture: undefined };
  sh('echo shared > shared && echo secret > only-of-the-first');
  await takeSnapshot(gone, null);
  sh('rm only-of-the-first && echo mine > mine');
  const kept = await take();
  age(place.gitDir);
  const cleaning = {
    dataDir,
    env: process.env,
    store,
    known: new Set(['s-1']),
    olderThan: Date.now() - 24 * 3_600_000,
  };
  expect(await cleanSnapshots({ ...cleaning, dryRun: true })).toMatchObject({ sessions: 1, freed: 0 });
  expect(existsSync(gone.place.own)).toBe(true);
  const young = { ...cleaning, olderThan: OLD.getTime() - 1_000, dryRun: false };
  expect(await cleanSnapshots(young)).toMatchObject({ sessions: 0, freed: 0 });
  const before = countObjects(place.gitDir);
  expect(before).toBeGreaterThan(0);
  expect(await cleanSnapshots({ ...cleaning, dryRun: false })).toMatchObject({ sessions: 1 });
  expect(existsSync(join(gone.place.own, '..'))).toBe(false);
  expect(await files(kept.id)).toEqual(['100644 mine', '100644 shared']);
  // All that is left is in one pack.
  expect(countObjects(place.gitDir)).toBe(0);
  const blob = sh(`echo secret | git hash-object --stdin`).trim();
  expect(() => sh(`git --git-dir=${place.gitDir} cat-file -e ${blob}`)).toThrow();
  expect(await cleanSnapshots({ ...cleaning, dryRun: false })).toMatchObject({ sessions: 0, freed: 0 });
  sh('echo later > later');
  expect((await take(kept.id)).changes.map(({ path }) => path)).toEqual(['later']);
});

test('gc leaves the folder of a session that has just begun and has captured nothing yet (T4)', async () => {
  const { place, take, sh } = shadowed();
  sh('echo one > one');
  await take();
  const dataDir = join(place.gitDir, '..');
  const begun = placeOfRoot(dataDir, 's-new' as SessionId, place.root);
  noteStore(begun, store.id);
  const known = new Set(['s-1']);
  const cleaning = { dataDir, env: process.env, store, known, olderThan: Date.now() - 60_000, dryRun: false };
  expect(await cleanSnapshots(cleaning)).toMatchObject({ sessions: 0 });
  expect(existsSync(join(begun.own, '..'))).toBe(true);
  age(join(place.gitDir, 'sessions'));
  expect(await cleanSnapshots(cleaning)).toMatchObject({ sessions: 1 });
});

test('gc leaves the snapshots of sessions whose transcripts are in another store, and counts them (T4)', async () => {
  const { place, take, sh } = shadowed();
  sh('echo one > one');
  noteStore(place, 'store-2');
  await take();
  age(place.gitDir);
  const dataDir = join(place.gitDir, '..');
  const cleaning = { dataDir, env: process.env, known: new Set<string>(), olderThan: Date.now() - 1_000 };
  for (const isOwn of [true, false]) {
    const other = await cleanSnapshots({ ...cleaning, store: { id: 'store-1', isOwn }, dryRun: false });
    expect([other.sessions, other.others, existsSync(place.own)]).toEqual([0, 1, true]);
  }
  const own = await cleanSnapshots({ ...cleaning, store: { id: 'store-2', isOwn: false }, dryRun: false });
  expect([own.sessions, own.others, existsSync(place.own)]).toEqual([1, 0, false]);
});

test('gc leaves what has no note to the store of the data folder (T4)', async () => {
  const { place, take, sh } = shadowed();
  sh('echo one > one');
  await take();
  age(place.gitDir);
  const cleaning = { dataDir: join(place.gitDir, '..'), env: process.env, known: new Set<string>() };
  const clean = (isOwn: boolean) =>
    cleanSnapshots({ ...cleaning, olderThan: Date.now() - 1_000, store: { id: 'store-1', isOwn }, dryRun: false });
  expect([(await clean(false)).sessions, (await clean(true)).sessions]).toEqual([0, 1]);
});

test('gc frees the snapshots of a gone session though a git that was killed has left its lock (T4)', async () => {
  const { place, take, sh } = shadowed();
  sh('echo one > one');
  await take();
  writeFileSync(join(place.gitDir, 'packed-refs.lock'), '');
  age(place.gitDir);
  const dataDir = join(place.gitDir, '..');
  const cleaning = {
    dataDir,
    env: process.env,
    store,
    known: new Set<string>(),
    olderThan: Date.now() - 24 * 3_600_000,
  };
  expect(await cleanSnapshots({ ...cleaning, dryRun: false })).toMatchObject({ sessions: 1 });
  expect(existsSync(join(place.gitDir, place.ref))).toBe(false);
});

test('gc frees packs that a killed capture has left half received, and leaves those that come in now (T4)', async () => {
  const { place, take, sh } = shadowed();
  sh('echo one > one');
  await take();
  const incoming = join(place.gitDir, 'incoming');
  for (const name of ['pack-old/pack', 'pack-new/pack']) mkdirSync(join(incoming, name), { recursive: true });
  writeFileSync(join(incoming, 'pack-old/pack/tmp_pack_x'), 'x'.repeat(100_000));
  writeFileSync(join(incoming, 'f'.repeat(64)), 'x');
  for (const name of ['pack-old', 'f'.repeat(64)]) utimesSync(join(incoming, name), OLD, OLD);
  const dataDir = join(place.gitDir, '..');
  const cleaning = {
    dataDir,
    env: process.env,
    store,
    known: new Set(['s-1']),
    olderThan: Date.now() - 24 * 3_600_000,
  };
  await cleanSnapshots({ ...cleaning, dryRun: true });
  expect(readdirSync(incoming)).toHaveLength(3);
  const { freed } = await cleanSnapshots({ ...cleaning, dryRun: false });
  expect(freed).toBeGreaterThan(90_000);
  expect(readdirSync(incoming)).toEqual(['pack-new']);
});

test('gc packs the snapshots of sessions that live, and they go on (T4)', async () => {
  const { place, take, sh, files } = shadowed();
  const taken: string[] = [];
  for (let turn = 0; turn < 40; turn += 1) {
    sh(`echo ${turn} >> list`);
    taken.push((await take(taken.at(-1) ?? null)).id);
  }
  const dataDir = join(place.gitDir, '..');
  const before = countObjects(place.gitDir);
  expect(before).toBeGreaterThan(150);
  const cleaning = { dataDir, env: process.env, store, known: new Set(['s-1']), olderThan: Date.now(), dryRun: false };
  const { sessions, size } = await cleanSnapshots(cleaning);
  expect([sessions, size.loose, size.packs]).toEqual([0, 0, 1]);
  for (const id of taken) expect(await files(id)).toEqual(['100644 list']);
  sh('echo more >> list');
  expect((await take(taken.at(-1))).changes).toHaveLength(1);
});

test('a data folder without snapshots has nothing to free (T4)', async () => {
  const cleaning = { dataDir: tempDir(), env: {}, store, known: new Set<string>(), olderThan: 0, dryRun: false };
  expect(await cleanSnapshots(cleaning)).toMatchObject({ sessions: 0, freed: 0, size: { bytes: 0 } });
});

test('gc keeps what a host was left with for as long as that is listed, though the session is gone (T19)', async () => {
  const { root, place, means } = shadowed();
  const dataDir = join(place.gitDir, '..');
  const session = 's-gone' as SessionId;
  const gone = { ...means, place: placeOfRoot(dataDir, session, root), capture: undefined };
  const { id } = await takeSnapshot(gone, null);
  age(place.gitDir);
  const hosted = new HostedSessions(dataDir);
  hosted.noteLost({ session, folders: [root] }, { at: 1, to: 'host-two', snapshots: [{ root, id }] });
  const olderThan = Date.now() - 24 * 3_600_000;
  const cleaning = { dataDir, env: process.env, store, known: new Set<string>(), olderThan, dryRun: false };
  expect(await cleanSnapshots(cleaning)).toMatchObject({ sessions: 0 });
  expect(existsSync(gone.place.own)).toBe(true);
  hosted.forgetLost(session);
  expect(await cleanSnapshots(cleaning)).toMatchObject({ sessions: 1 });
  expect(existsSync(gone.place.own)).toBe(false);
});
