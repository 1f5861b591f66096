// A disk that fills while snapshots are stored on it.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { fetchPacks, sendPacks } from '../../../store/snapshots/packs.ts';
import { describeSnapshot, takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { fileStore } from '../../../store/values/file-store.ts';
import { MAY_NOT_MOUNT, mountSmall } from '../../support/small-disk.ts';
import { tempFolder } from '../../tools/support.ts';
import { runHere, shadowed } from './support.ts';

const FULL = /no space left on device/i;
const usedKilobytes = (dir: string): number => Number.parseInt(execFileSync('du', ['-sk', dir], { encoding: 'utf8' }));

test.for([
  { how: 'one by one', fill: 'head -c 3000000 /dev/urandom > part-0' },
  { how: 'as a pack', fill: 'head -c 3000000 /dev/urandom | split -a 4 -b 10000 - part-' },
])(
  'files, stored $how, that fill the disk are told in a sentence; nothing of them stays, and it goes on (T2)',
  async ({ fill }, { skip }) => {
    const { place, sh, take, files } = shadowed();
    const dataDir = dirname(place.gitDir);
    skip(!mountSmall(dataDir, '2m'), MAY_NOT_MOUNT);
    sh('echo 1 > one');
    const first = await take();
    const used = usedKilobytes(dataDir);
    sh(fill);
    await expect(take(first.id)).rejects.toThrow(FULL);
    expect(usedKilobytes(dataDir)).toBeLessThan(used + 100);
    sh('rm part-*; echo 2 > one');
    const later = await take(first.id);
    expect(later.changes.map(({ path }) => path)).toEqual(['one']);
    expect(await files(later.id)).toEqual(['100644 one']);
  },
);

test('packs of another host for which there is no room are told in a sentence, and nothing of them stays (T4)', async ({
  skip,
}) => {
  const [here, there] = [shadowed(), shadowed()];
  const store = fileStore({ dir: tempFolder() });
  here.sh('head -c 3000000 /dev/urandom > large');
  const taken = await takeSnapshot({ ...here.means, packs: true }, null);
  const packs = await sendPacks(store, here.place, () => new Set());
  const roots = [{ ...describeSnapshot(here.root, taken), packs }];
  const { gitDir } = there.place;
  mkdirSync(gitDir);
  skip(!mountSmall(gitDir, '4m'), MAY_NOT_MOUNT);
  const reading = { gitDir, git: 'git', run: runHere };
  await expect(fetchPacks(reading, store, [{ kind: 'files', roots, at: 0 }])).rejects.toThrow(FULL);
  expect(usedKilobytes(gitDir)).toBeLessThan(100);
});
