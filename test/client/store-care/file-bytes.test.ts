// Bytes of files (G66) and of versions of skills (G64) at a cleaning of the store: they live as long as
// their file does, or what has the version.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanStore, GRACE_MS } from '../../../client/store-care/clean-store.ts';
import { Files } from '../../../store/values/files.ts';
import { Skills } from '../../../store/values/skills.ts';
import { openStore } from '../../../store/values/open-store.ts';
import { emptyServer } from '../../support/empty-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('gc keeps the bytes of files, also of two with the same, and drops them once both are deleted (G66 W4)', async () => {
  const root = tempDir();
  const { store, care, id } = openStore({ storePlace: join(root, 'store'), dataDir: join(root, 'data') });
  const files = new Files(store, Date.now);
  const bytes = Buffer.from('the same');
  const item = { createdAt: 0, filename: 'x', mimeType: 'text/plain', size: bytes.length };
  for (const name of ['file_a', 'file_b']) {
    await files.keepBytes(name, bytes);
    await files.log.append('test', () => ({ id: name, item }));
  }
  const late = (times: number) => (): number => Date.now() + times * 2 * GRACE_MS;
  const clean = async (times: number) => {
    const own = new Set((await files.log.read()).keys());
    const cleaning = { temporal: emptyServer, care, store: await id(), graceMs: GRACE_MS, dryRun: false };
    return cleanStore({ ...cleaning, now: late(times), files: own });
  };
  expect(await clean(1)).toMatchObject({ records: { objects: 0 }, aside: { objects: 0 } });
  await files.log.append('test', () => ({ id: 'file_a', item: null }));
  expect(await clean(1)).toMatchObject({ records: { objects: 1 }, aside: { objects: 0 } });
  expect(Buffer.from((await files.bytesOf('file_b')) ?? []).toString()).toBe('the same');
  await files.log.append('test', () => ({ id: 'file_b', item: null }));
  expect(await clean(1)).toMatchObject({ records: { objects: 1 }, aside: { objects: 1 } });
  expect(await files.hashOf('file_b')).toBeNull();
  expect(await clean(2)).toMatchObject({ values: { objects: 1 } });
});

test('gc keeps the versions of skills and of sessions, and drops one that neither has (G64 W4)', async () => {
  const root = tempDir();
  const { store, care, id } = openStore({ storePlace: join(root, 'store'), dataDir: join(root, 'data') });
  const skills = new Skills(store, Date.now);
  const facts = { skill: 'skill_a', name: 'a', description: 'A.', createdAt: 0 };
  for (const version of ['skillver_1', 'skillver_2']) await skills.keepVersion(version, facts, Buffer.from(version));
  const item = { createdAt: 0, updatedAt: 0, displayName: 'a', name: 'a', versions: ['skillver_1', 'skillver_2'] };
  await skills.log.append('test', () => ({ id: 'skill_a', item }));
  await skills.ofSessions.append('test', () => ({ id: 'sesn_a', item: { versions: ['skillver_1'] } }));
  const now = (): number => Date.now() + 2 * GRACE_MS;
  const clean = async () => {
    const cleaning = { temporal: emptyServer, care, store: await id(), graceMs: GRACE_MS, dryRun: false, now };
    return cleanStore({ ...cleaning, files: new Set(await skills.kept()) });
  };
  expect(await clean()).toMatchObject({ records: { objects: 0 }, aside: { objects: 0 } });
  await skills.log.append('test', () => ({ id: 'skill_a', item: null }));
  expect(await clean()).toMatchObject({ records: { objects: 1 }, aside: { objects: 1 } });
  expect(await skills.version('skillver_1')).toEqual(facts);
  expect(await skills.version('skillver_2')).toBeNull();
  await skills.ofSessions.append('test', () => ({ id: 'sesn_a', item: null }));
  expect(await clean()).toMatchObject({ records: { objects: 1 }, aside: { objects: 1 } });
  expect(await skills.archiveOf('skillver_1')).toBeNull();
});
