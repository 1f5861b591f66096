// Snapshots that go along with an exported session, from one data folder to another (T4).
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type CarriedSnapshots, packSnapshots, unpackSnapshots } from '../../../client/store-care/carry-snapshots.ts';
import { hasSnapshot } from '../../../store/snapshots/compare.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { runHere, shadowed } from '../../store/snapshots/support.ts';

const session = 's-1' as SessionId;
const NONE: CarriedSnapshots = { pack: '' as Hash, refs: {} };

test('all snapshots of a session are in the file and are kept where it is imported; a damaged pack is refused (T4)', async () => {
  const [here, there] = [shadowed(), shadowed()];
  here.sh('mkdir a && echo 1 > a/one && echo 2 > two');
  const first = await here.take();
  here.sh('rm two && echo more >> a/one');
  const second = await here.take(first.id);
  const env = process.env;
  const packed = await packSnapshots({ dataDir: join(here.place.gitDir, '..'), env, session });
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
  expect(await packSnapshots(other)).toBeNull();
  expect(await packSnapshots({ ...target, session: 's-2' as SessionId })).toBeNull();
});
