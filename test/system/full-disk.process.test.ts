import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDataFolder } from '../../connection/data-folder.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { hasNoInodes, nameFullDisk } from '../../system/full-disk.ts';
import { toFsFailure } from '../../tools/builtin/files/fs-failures.ts';
import { MAY_NOT_MOUNT, mountSmall } from '../support/small-disk.ts';
import { tempFolder } from '../tools/support.ts';

function fillInodes(dir: string): unknown {
  for (let n = 0; ; n++)
    try {
      writeFileSync(join(dir, `filler${n}`), '');
    } catch (error) {
      return error;
    }
}

test('a disk that has room and no inodes is not called full: by the store, the data folder and tools', async ({
  skip,
}) => {
  const disk = tempFolder();
  skip(!mountSmall(disk, '1m,nr_inodes=40'), MAY_NOT_MOUNT);
  const store = fileStore({ dir: join(disk, 'store') });
  await store.put(Buffer.from('one'));
  expect(hasNoInodes(join(disk, 'absent', 'place'))).toBe(false);
  const error = fillInodes(disk);
  expect(hasNoInodes(join(disk, 'absent', 'place'))).toBe(true);
  expect(nameFullDisk('git: No space left on device', disk)).toContain('git: no inodes left on device');
  expect((toFsFailure(error, 'a') as Error).message).toContain('the disk holds as many files as it can');
  await expect(store.put(Buffer.from('two'))).rejects.toThrow('the disk holds as many files as it can (`df -i`)');
  expect(() => openDataFolder({ PERDURE_DATA: join(disk, 'data') })).toThrow('no inodes left on device');
});

test('a disk without room is called full', ({ skip }) => {
  const disk = tempFolder();
  skip(!mountSmall(disk, '64k'), MAY_NOT_MOUNT);
  mkdirSync(join(disk, 'folder'));
  expect(() => writeFileSync(join(disk, 'large'), Buffer.alloc(1_000_000))).toThrow('ENOSPC');
  expect(nameFullDisk('no space left on device', disk)).toBe('no space left on device');
});
