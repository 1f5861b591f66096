// The look at the parts that the page depends on.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lookAtHealth } from '../../page/frame/health.ts';
import { openStore } from '../../store/values/open-store.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a store whose folder was moved away does not answer, and does again when it is back (O4)', async () => {
  const root = tempDir();
  const dir = join(root, 'store');
  const { store, id } = openStore({ storePlace: dir, dataDir: root });
  const client = { workflowService: { getSystemInfo: () => Promise.resolve({}) } };
  const look = async () => (await lookAtHealth({ temporal: { client: client as never }, store, storeId: id })).store;
  expect(await look()).toEqual({ ms: expect.any(Number) });
  renameSync(dir, join(root, 'away'));
  expect(await look()).toEqual({ problem: expect.stringContaining('has gone since it was opened') });
  renameSync(join(root, 'away'), dir);
  expect(await look()).toEqual({ ms: expect.any(Number) });
});
