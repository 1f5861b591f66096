// Work trees of agents whose sessions are gone, at a cleaning of the store.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore } from '../../../store/values/open-store.ts';
import { cleanStore, GRACE_MS } from '../../../client/store-care/clean-store.ts';
import { emptyServer } from '../../support/empty-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

async function withTree() {
  const root = tempDir();
  const { store, care, id } = openStore({ storePlace: join(root, 'store'), dataDir: join(root, 'data') });
  const holder = join(root, 'data-worktrees', 'agent-1-0');
  const [tree, common] = [join(holder, 'agent-1-0'), join(root, 'workspace', '.git')];
  mkdirSync(tree, { recursive: true });
  const begun = { v: 1, host: null, holder, tree, common, base: 'b', branch: 'perdure/agent-1-0', prefix: '' };
  const write = (key: string, value: object) => store.create(key, Buffer.from(JSON.stringify(value)));
  return { root, holder, tree, common, begun, write, care, store: await id() };
}

test('gc keeps what is stored of a work tree that is still there, and says where it is (L72 W4)', async () => {
  const { root, holder, tree, common, begun, write, care, store } = await withTree();
  await write('worktrees/s-gone.agent-1-0/begun', begun);
  await write('worktrees/s-gone.agent-1-0/ended', { kind: 'kept', path: tree, detail: 'inner in it is a repository' });
  await write('worktrees/s-other.agent-2-0/begun', { ...begun, tree: join(root, 'removed'), holder: root });
  const now = (): number => Date.now() + 2 * GRACE_MS;
  const cleaning = { temporal: emptyServer, care, store, graceMs: GRACE_MS, now };
  const kept = [{ holder, tree, common }];
  expect(await cleanStore({ ...cleaning, dryRun: true })).toMatchObject({ records: { objects: 1 }, worktrees: kept });
  expect(await cleanStore({ ...cleaning, dryRun: false })).toMatchObject({ records: { objects: 1 }, worktrees: kept });
  rmSync(holder, { recursive: true });
  expect(await cleanStore({ ...cleaning, dryRun: false })).toMatchObject({ records: { objects: 2 }, worktrees: [] });
});

test('gc tells nobody to remove a folder that is in no place for work trees (L72 W4)', async () => {
  const { root, tree, begun, write, care, store } = await withTree();
  await write('worktrees/s-gone.agent-1-0/begun', { ...begun, holder: root });
  await write('worktrees/s-gone.agent-2-0/begun', { ...begun, holder: join(tree, '..', '..'), tree });
  const now = (): number => Date.now() + 2 * GRACE_MS;
  const cleaning = { temporal: emptyServer, care, store, graceMs: GRACE_MS, now, dryRun: true };
  expect(await cleanStore(cleaning)).toMatchObject({ worktrees: [] });
});

test('gc tells of no work tree of a session that began after it had looked which there are (L72 W4)', async () => {
  const { begun, write, care, store } = await withTree();
  await write('worktrees/s-new.agent-1-0/begun', begun);
  const cleaning = { temporal: emptyServer, care, store, graceMs: GRACE_MS, dryRun: true };
  expect(await cleanStore(cleaning)).toMatchObject({ records: { objects: 0 }, worktrees: [] });
});
