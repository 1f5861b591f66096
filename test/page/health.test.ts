// The look at the parts that the page depends on.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { lookAtHealth } from '../../page/frame/health.ts';
import { memoryStore } from '../support/memory-store.ts';
import { openStore } from '../../store/values/open-store.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a server that does not answer in time is a problem of the server, not a look without end (O13)', async () => {
  const client = {
    workflowService: { getSystemInfo: () => Promise.resolve({}) },
    withDeadline: (deadline: number) =>
      Promise.reject(new Error(deadline > Date.now() ? 'no answer in time' : 'no time')),
  } as unknown as Client;
  const storeId = () => Promise.resolve('id');
  const { server, store, workers } = await lookAtHealth({
    temporal: { client },
    store: memoryStore(),
    storeId,
    folder: { root: tempDir() },
  });
  expect(server).toEqual({ problem: 'no answer in time' });
  expect([store, workers]).toEqual([{ ms: expect.any(Number) as number }, null]);
});

test('a store whose folder was moved away does not answer, and does again when it is back (O4)', async () => {
  const root = tempDir();
  const dir = join(root, 'store');
  const { store, id } = openStore({ storePlace: dir, dataDir: root });
  const client = {
    workflowService: { getSystemInfo: () => Promise.resolve({}) },
    withDeadline: (_deadline: number, call: () => Promise<unknown>) => call(),
  } as unknown as Client;
  const look = async () => (await lookAtHealth({ temporal: { client }, store, storeId: id, folder: { root } })).store;
  expect(await look()).toEqual({ ms: expect.any(Number) as number });
  renameSync(dir, join(root, 'away'));
  expect(await look()).toEqual({ problem: expect.stringContaining('has gone since it was opened') as string });
  renameSync(join(root, 'away'), dir);
  expect(await look()).toEqual({ ms: expect.any(Number) as number });
});
