import { expect, test } from 'vitest';
import { findNewest, ResourceLog } from '../../store/values/resource-log.ts';
import { reserveIds } from '../../managed/request-log.ts';
import { memoryStore } from '../support/memory-store.ts';

type Counter = { readonly count: number };

const now = () => 0;
const open = (store: ReturnType<typeof memoryStore>) => new ResourceLog<Counter>({ store, name: 'counters', now });

const increase = (log: ResourceLog<Counter>, id = 'a') =>
  log.append('ana', (items) => ({ id, item: { count: (items.get(id)?.count ?? 0) + 1 } }));

test('writers of several processes lose nothing: each decides by the newest state (G2)', async () => {
  const store = memoryStore();
  const logs = [open(store), open(store), open(store)];
  await Promise.all(Array.from({ length: 60 }, (_, n) => increase(logs[n % 3]!)));
  const states = await Promise.all([...logs, open(store)].map((log) => log.read()));
  expect(states.map((items) => items.get('a'))).toEqual(Array.from({ length: 4 }, () => ({ count: 60 })));
});

test('a new process begins at the newest checkpoint, and finds what came after it (G2)', async () => {
  const store = memoryStore();
  const log = open(store);
  for (let n = 0; n < 600; n += 1) await increase(log, `id-${n % 7}`);
  const reads: string[] = [];
  const counted = { ...store, read: (key: string) => (reads.push(key), store.read(key)) };
  const items = await new ResourceLog<Counter>({ store: counted, name: 'counters', now }).read();
  expect([...items]).toEqual([...(await log.read())]);
  expect(reads.filter((key) => key.startsWith('managed/counters/'))).not.toContain('managed/counters/512');
});

test('a resource that was deleted is gone for every reader, also behind a checkpoint (G22)', async () => {
  const store = memoryStore();
  const log = open(store);
  await increase(log, 'gone');
  await log.append('ana', () => ({ id: 'gone', item: null }));
  for (let n = 0; n < 300; n += 1) await increase(log, 'stays');
  expect([...(await open(store).read()).keys()]).toEqual(['stays']);
});

test('the id of a deleted resource stays known, also behind a checkpoint (G22)', async () => {
  const store = memoryStore();
  const log = open(store);
  await increase(log, 'gone');
  await log.append('ana', () => ({ id: 'gone', item: null }));
  const deletedOf = async (of: ResourceLog<Counter>): Promise<readonly string[]> => {
    let ids: readonly string[] = [];
    await of.append('ana', (_, deleted) => ((ids = [...deleted]), null));
    return ids;
  };
  expect(await deletedOf(log)).toEqual(['gone']);
  for (let n = 0; n < 300; n += 1) await increase(log, 'stays');
  expect(await deletedOf(open(store))).toEqual(['gone']);
});

test('a checkpoint of an earlier version, without deleted ids, is read (G2)', async () => {
  const store = memoryStore();
  const hash = await store.put(Buffer.from('{"v":1,"items":[["a",{"count":256}]]}'));
  await store.create('managed/counters-checkpoints/1', Buffer.from(JSON.stringify({ v: 1, hash })));
  expect([...(await open(store).read())]).toEqual([['a', { count: 256 }]]);
});

test('a decision that throws, or changes nothing, writes nothing, and the next one is made (G2)', async () => {
  const log = open(memoryStore());
  await expect(
    log.append('ana', () => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  await log.append('ana', () => null);
  await increase(log);
  expect([...(await log.read())]).toEqual([['a', { count: 1 }]]);
});

test('a damaged record is named, not skipped (G2)', async () => {
  const store = memoryStore();
  await store.create('managed/counters/1', Buffer.from('{"v":1'));
  await expect(open(store).read()).rejects.toThrow(/the record "managed\/counters\/1" is damaged/);
});

test('the newest of a row of numbers is found by halving', async () => {
  for (const last of [0, 1, 2, 3, 7, 8, 100, 255, 256, 1_000]) {
    let asks = 0;
    expect(await findNewest(async (n) => ((asks += 1), n <= last))).toBe(last);
    expect(asks).toBeLessThan(25);
  }
});

const request = { person: 'ana', path: '/v1/sessions', body: { agent: 'a' }, key: undefined, retries: 0 };
let count = 0;
const ids = () => [`id-${(count += 1)}`];

test('a retry finds the ids of its first try; two equal requests on purpose stay two (G21)', async () => {
  const ports = { store: memoryStore(), now: () => 1_000 };
  const first = await reserveIds(ports, request, ids);
  const second = await reserveIds(ports, request, ids);
  expect(second).not.toEqual(first);
  expect(await reserveIds(ports, { ...request, retries: 1 }, ids)).toEqual(second);
  expect(await reserveIds(ports, { ...request, retries: 2, body: { agent: 'b' } }, ids)).not.toEqual(second);
  expect(await reserveIds(ports, { ...request, retries: 1, person: 'bob' }, ids)).not.toEqual(second);
  const later = { ...ports, now: () => 1_000 + 16 * 60_000 };
  expect(await reserveIds(later, { ...request, retries: 1 }, ids)).not.toEqual(second);
});

test('an Idempotency-Key decides where it is sent, and belongs to one body (G21)', async () => {
  const ports = { store: memoryStore(), now };
  const keyed = { ...request, key: 'order-1' };
  const first = await reserveIds(ports, keyed, ids);
  expect(await reserveIds(ports, keyed, ids)).toEqual(first);
  expect(await reserveIds(ports, { ...keyed, person: 'bob' }, ids)).not.toEqual(first);
  await expect(reserveIds(ports, { ...keyed, body: {} }, ids)).rejects.toThrow(/another body/);
  await expect(reserveIds(ports, { ...keyed, key: 'a b' }, ids)).rejects.toThrow(/printable/);
});
