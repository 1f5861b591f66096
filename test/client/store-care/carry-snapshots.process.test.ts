// Snapshots that go along with an exported session, from one data folder to another (T4).
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type CarriedSnapshots,
  listSnapshotIds,
  packSnapshots,
  unpackSnapshots,
} from '../../../client/store-care/carry-snapshots.ts';
import { hasSnapshot } from '../../../store/snapshots/compare.ts';
import { describeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runHere, shadowed } from '../../store/snapshots/support.ts';

const session = 's-1' as SessionId;
const NONE: CarriedSnapshots = { pack: '' as Hash, refs: {} };
const NO_IDS: ReadonlySet<string> = new Set();

test('all snapshots of a session are in the file and are kept where it is imported; a damaged pack is refused (T4)', async () => {
  const [here, there] = [shadowed(), shadowed()];
  here.sh('mkdir a && echo 1 > a/one && echo 2 > two');
  const first = await here.take();
  here.sh('rm two && echo more >> a/one');
  const second = await here.take(first.id);
  const env = process.env;
  const packed = await packSnapshots({ dataDir: join(here.place.gitDir, '..'), env, session }, NO_IDS);
  const { carried, bytes } = packed ?? { carried: NONE, bytes: new Uint8Array() };
  const target = { dataDir: join(there.place.gitDir, '..'), env, session };
  const damaged = Buffer.from(bytes);
  damaged[damaged.length - 30] = (damaged.at(-30) ?? 0) ^ 1;
  await expect(unpackSnapshots(target, carried, damaged)).rejects.toThrow('its snapshots are damaged');
  await unpackSnapshots(target, carried, bytes);
  const reading = { gitDir: there.place.gitDir, git: 'git', run: runHere };
  // Nothing is lost to a cleaning of what no ref names.
  there.sh(`git --git-dir=${there.place.gitDir} prune --expire=now`);
  for (const { id } of [first, second]) expect(await hasSnapshot(reading, id)).toBe(true);
  expect(await there.files(first.id)).toEqual(['100644 a/one', '100644 two']);
  const other = { dataDir: tempDir(), env, session };
  expect(await packSnapshots(other, NO_IDS)).toBeNull();
  expect(await packSnapshots({ ...target, session: 's-2' as SessionId }, NO_IDS)).toBeNull();
});

test('snapshots that a fork shares are in its file, once, and are kept where it is imported (T4 T10)', async () => {
  const [here, there] = [shadowed(), shadowed()];
  here.sh('mkdir a && echo 1 > a/one && echo 2 > two');
  const first = await here.take();
  here.sh('rm two');
  const second = await here.take(first.id);
  const fork = 's-2' as SessionId;
  const where = { dataDir: join(here.place.gitDir, '..'), env: process.env };
  const transcript = async function* () {
    const roots = [first, second, { ...first, id: 'f'.repeat(40) }, { ...first, id: '--all' }];
    for (const snapshot of roots)
      yield { entry: { kind: 'files' as const, at: 0, roots: [describeSnapshot(here.root, snapshot)] } };
  };
  const ids = await listSnapshotIds(transcript());
  const packed = await packSnapshots({ ...where, session: fork }, ids);
  const { carried, bytes } = packed ?? { carried: NONE, bytes: new Uint8Array() };
  const target = { dataDir: join(there.place.gitDir, '..'), env: process.env, session: fork };
  await unpackSnapshots(target, carried, bytes);
  there.sh(`git --git-dir=${there.place.gitDir} prune --expire=now`);
  expect(await there.files(first.id)).toEqual(['100644 a/one', '100644 two']);
  expect(await there.files(second.id)).toEqual(['100644 a/one']);
  // They go on to a third machine, and those that are a session's own are not told of twice.
  expect((await packSnapshots(target, ids))?.carried.refs).toEqual(carried.refs);
  const own = await packSnapshots({ ...where, session }, ids);
  expect(Object.keys(own?.carried.refs ?? {})).toEqual([basename(here.place.own)]);
  expect(await packSnapshots({ ...where, session: fork }, new Set(['f'.repeat(40)]))).toBeNull();
});

test('files with names that git refuses to check out are carried, and a pack that lacks something is refused (T4)', async () => {
  const [here, there] = [shadowed(), shadowed()];
  here.sh(`
    echo a > a; ln -s a .gitmodules; echo 1 > 'git~1'; mkdir d; echo 2 > 'd/back\\slash'
    printf '[submodule "../../x"]\\n\\tpath = -x\\n\\turl = -u\\n' > d/.gitmodules
  `);
  const { id } = await here.take();
  const where = { dataDir: join(here.place.gitDir, '..'), env: process.env, session };
  const { carried, bytes } = (await packSnapshots(where, NO_IDS)) ?? { carried: NONE, bytes: new Uint8Array() };
  const target = { dataDir: join(there.place.gitDir, '..'), env: process.env, session };
  await unpackSnapshots(target, carried, bytes);
  expect(await there.files(id)).toEqual(await here.files(id));
  const alone = { [basename(here.place.own)]: 'f'.repeat(40) };
  await expect(unpackSnapshots(target, { ...carried, refs: alone }, bytes)).rejects.toThrow(
    'its snapshots are damaged',
  );
});
