// The log of one memory store, and what a cleaning leaves of it.
import { expect, test } from 'vitest';
import {
  findKeptMemories,
  Memories,
  MEMORY_STORES,
  newMemoryId,
  newVersionId,
} from '../../../store/memories/memories.ts';
import { ResourceLog } from '../../../store/values/resource-log.ts';
import { memoryStore } from '../../support/memory-store.ts';

const ana = { person: 'ana' };
const DAY_MS = 24 * 3_600_000;

function opened() {
  const clock = { now: 0 };
  const keys: string[] = [];
  const base = memoryStore();
  const store = { ...base, create: (key: string, bytes: Uint8Array) => (keys.push(key), base.create(key, bytes)) };
  const now = () => clock.now;
  const open = () => new Memories({ store, id: 'memstore_1', now });
  return { clock, keys, store, now, open };
}

const ids = () => ({ memory: newMemoryId(), version: newVersionId() });

test('a creation that is repeated with the same ids creates one memory (G21 G67)', async () => {
  const { open } = opened();
  const own = ids();
  await open().create(ana, own, { path: '/a', text: 'x' });
  await open().create(ana, own, { path: '/a', text: 'x' });
  expect([...(await open().list()).values()]).toMatchObject([{ memory: own.memory, version: own.version }]);
});

test('of two that create one path at once, one is refused (G67)', async () => {
  const { open } = opened();
  const create = () => open().create(ana, ids(), { path: '/a', text: 'x' });
  const ends = await Promise.allSettled([create(), create()]);
  expect(ends.filter(({ status }) => status === 'rejected')).toMatchObject([{ reason: { kind: 'path_conflict' } }]);
  expect(await open().list()).toHaveProperty('size', 1);
});

test('a memory that is renamed while its text changes keeps the new text (G67)', async () => {
  const { open } = opened();
  const own = ids();
  await open().create(ana, own, { path: '/a', text: 'old' });
  await Promise.all([open().update(ana, own.memory, { path: '/b' }), open().update(ana, own.memory, { text: 'new' })]);
  const memory = await open().find(own.memory);
  expect([memory.path, await open().readText(memory)]).toEqual(['/b', 'new']);
});

test('versions are kept for thirty days, and for good while a memory holds them (G67)', async () => {
  const { open, clock } = opened();
  const [kept, own] = [ids(), ids()];
  await open().create(ana, kept, { path: '/kept', text: 'x' });
  await open().create(ana, own, { path: '/a', text: '1' });
  clock.now = 20 * DAY_MS;
  await open().update(ana, own.memory, { text: '2' });
  clock.now = 31 * DAY_MS;
  await open().update(ana, own.memory, { text: '3' });
  const versions = [...(await open().versions())];
  expect(versions.map(([id, { n }]) => [id === kept.version, n])).toEqual([
    [true, 1],
    [false, 3],
    [false, 4],
  ]);
});

test('a cleaning leaves all of memory stores that exist, but for texts that were redacted (G67 W4)', async () => {
  const { store, now, open, keys } = opened();
  const stores = new ResourceLog<object>({ store, name: MEMORY_STORES, now });
  await stores.append('ana', () => ({ id: 'memstore_1', item: {} }));
  await stores.append('ana', () => ({ id: 'memstore_2', item: {} }));
  const own = ids();
  await open().create(ana, own, { path: '/a', text: 'secret' });
  await open().update(ana, own.memory, { text: 'public' });
  await open().update(ana, own.memory, { path: '/b' });
  await open().redact(ana, own.version);
  await new Memories({ store, id: 'memstore_2', now }).create(ana, ids(), { path: '/a', text: 'x' });
  await stores.append('ana', () => ({ id: 'memstore_2', item: null }));
  const isKept = await findKeptMemories(store, now);
  const dropped = keys.filter((key) => isKept(key) === false);
  expect(dropped).toContain(`memory-texts/memstore_1/${own.version}`);
  expect(dropped.filter((key) => !key.includes('memstore_2'))).toHaveLength(1);
  expect(dropped.filter((key) => key.includes('memstore_2'))).toHaveLength(2);
  expect(isKept('managed/memory-stores/1')).toBeUndefined();
  expect(isKept('managed/agents/1')).toBeUndefined();
  expect(isKept('memory-texts/memstore_1/memver_other')).toBe(false);
});

test.each([
  ['/a.md', '/A.md'],
  ['/É/x', '/é'],
])('two memories are no files of one folder on a machine that ignores case: %s and %s (G67)', async (one, other) => {
  const memories = opened().open();
  const own = ids();
  await memories.create(ana, own, { path: one, text: 'x' });
  const refused = memories.create(ana, ids(), { path: other, text: 'y' });
  await expect(refused).rejects.toMatchObject({ kind: 'path_conflict', conflict: { memory: own.memory } });
  await memories.update(ana, own.memory, { path: one.toUpperCase() });
  expect((await memories.find(own.memory)).path).toBe(one.toUpperCase());
});

test('a memory that was deleted by a slow clock stays deleted when its versions are forgotten (G67)', async () => {
  const { open, clock } = opened();
  const memories = open();
  const own = ids();
  clock.now = 5_000;
  await memories.create(ana, own, { path: '/a', text: 'x' });
  clock.now = 1_000;
  await memories.delete(ana, own.memory);
  clock.now = 30 * DAY_MS + 3_000;
  await memories.create(ana, ids(), { path: '/b', text: 'y' });
  expect([...(await open().list()).values()].map(({ path }) => path)).toEqual(['/b']);
});
