// Data folders of Perdure that lie in a workspace: their keys are in no snapshot, and a rewind leaves
// them alone.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDataFolder } from '../../../connection/data-folder.ts';
import { previewRestore } from '../../../store/snapshots/preview-restore.ts';
import { tempFolder } from '../../tools/support.ts';
import { shadowed } from './support.ts';

test('another data folder is not captured, also where it was made later, and a rewind leaves it alone (T2 T7)', async () => {
  const { sh, take, files, content, means } = shadowed();
  const open = (path: string): void =>
    void openDataFolder({ HOME: tempFolder(), PERDURE_DATA: join(means.place.root, path) });
  sh('echo 1 > f; mkdir -p deep/er; echo 1 > deep/er/g');
  open('first');
  const { id: to } = await take();
  open('deep/er/data');
  sh('echo secret > deep/er/data/payload-keys.json; echo 2 > f');
  const { id: now, leftOutCount } = await take(to, true);
  expect((await files(now)).map((line) => line.slice(7))).toEqual(['deep/er/g', 'f']);
  expect((await content(now, 'omitted')).split('\0')).toEqual(
    expect.arrayContaining(['data first/', 'data deep/er/data/']),
  );
  expect(leftOutCount).toBe(0);
  const { changes, untaken } = await previewRestore(means, { known: now, now, to, force: false });
  expect(changes.map(({ kind, path }) => `${kind} ${path}`)).toEqual(['changed f']);
  expect(untaken).toEqual([]);
});
