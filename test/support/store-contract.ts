// What every backend of the store must do (store/values/store.ts): one suite, run against each.
import { describe, expect, test } from 'vitest';
import { hashOf, type Store, StoreError } from '../../store/values/store.ts';

const bytesOf = (text: string): Uint8Array => Buffer.from(text);

export function storeContract(name: string, open: () => Store | Promise<Store>): void {
  describe(name, () => {
    valueRules(open);
    keyRules(open);
    stepRules(open);
  });
}

function valueRules(open: () => Store | Promise<Store>): void {
  test.each([
    ['an empty value', new Uint8Array()],
    ['a short value', bytesOf('hello')],
    ['bytes that are no text', Uint8Array.from({ length: 256 }, (_, index) => 255 - index)],
    ['8 MB', Buffer.alloc(8 * 1024 * 1024, 'perdure ')],
  ])('gives %s back by its hash', async (_, bytes) => {
    const store = await open();
    const hash = await store.put(bytes);
    expect(hash).toBe(hashOf(bytes));
    expect(Buffer.compare(await store.get(hash), bytes)).toBe(0);
    expect(await store.has(hash)).toBe(true);
  });

  test('takes the same value again, also from many at once', async () => {
    const store = await open();
    const hashes = await Promise.all(Array.from({ length: 20 }, () => store.put(bytesOf('same'))));
    expect(new Set(hashes)).toEqual(new Set([hashOf(bytesOf('same'))]));
    expect(await store.get(await store.put(bytesOf('same')))).toEqual(Buffer.from('same'));
  });

  test('says which value is missing', async () => {
    const store = await open();
    const hash = hashOf(bytesOf('never stored'));
    expect(await store.has(hash)).toBe(false);
    const error = await store.get(hash).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ problem: 'missing', message: expect.stringContaining(hash) });
  });

  test('a caller that changes its bytes afterwards changes nothing stored', async () => {
    const store = await open();
    const bytes = new Uint8Array([1, 2, 3]);
    const hash = await store.put(bytes);
    await store.create('records/one', bytes);
    bytes.fill(9);
    expect([...(await store.get(hash))]).toEqual([1, 2, 3]);
    expect([...((await store.read('records/one')) ?? [])]).toEqual([1, 2, 3]);
  });
}

function keyRules(open: () => Store | Promise<Store>): void {
  test('of 50 that create a key at once, one creates and the others see its bytes', async () => {
    const store = await open();
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, racer) => store.create('claims/s-1/key', bytesOf(`racer ${racer}`))),
    );
    const winners = made.flatMap((created, racer) => (created.kind === 'created' ? [racer] : []));
    expect(winners).toHaveLength(1);
    const won = `racer ${winners[0]}`;
    const seen = made.flatMap((created) =>
      created.kind === 'existing' ? [Buffer.from(created.bytes).toString()] : [],
    );
    expect(new Set(seen)).toEqual(new Set([won]));
    expect(Buffer.from((await store.read('claims/s-1/key')) ?? []).toString()).toBe(won);
  });

  test('reads null under a key that nobody created, and an empty record as empty', async () => {
    const store = await open();
    expect(await store.read('steps/s-1/none')).toBeNull();
    expect(await store.create('steps/s-1/empty', new Uint8Array())).toEqual({ kind: 'created' });
    expect(await store.read('steps/s-1/empty')).toHaveLength(0);
  });

  test.each(['', '/', 'a//b', '../up', 'a/../b', 'a/./b', 'a b', 'ä', 'nul\0', 'x'.repeat(201)])(
    'refuses the key %j',
    async (key) => {
      const store = await open();
      await expect(store.create(key, bytesOf('x'))).rejects.toThrow(/the key/);
    },
  );
}

function stepRules(open: () => Store | Promise<Store>): void {
  test('a step has its blobs and its record', async () => {
    const store = await open();
    const blobs = [bytesOf('segment'), bytesOf('whole result')];
    expect(await store.writeStep({ key: 'steps/s-1/a', bytes: bytesOf('facts'), blobs })).toEqual({ kind: 'created' });
    for (const blob of blobs) expect(await store.get(hashOf(blob))).toEqual(Buffer.from(blob));
    expect(await store.read('steps/s-1/a')).toEqual(Buffer.from('facts'));
  });

  test('steps may share a value, with each other and with what was put', async () => {
    const store = await open();
    const shared = bytesOf('shared');
    await store.put(shared);
    await store.writeStep({ key: 'steps/s-1/a', bytes: bytesOf('a'), blobs: [shared, shared, bytesOf('own')] });
    await store.writeStep({ key: 'steps/s-1/b', bytes: bytesOf('b'), blobs: [bytesOf('own'), shared] });
    for (const value of ['shared', 'own']) expect(await store.get(hashOf(bytesOf(value)))).toEqual(Buffer.from(value));
    for (const step of ['a', 'b']) expect(await store.read(`steps/s-1/${step}`)).toEqual(Buffer.from(step));
  });

  test('of two attempts at a step the first counts', async () => {
    const store = await open();
    await store.writeStep({ key: 'steps/s-1/a', bytes: bytesOf('first'), blobs: [bytesOf('one')] });
    const second = await store.writeStep({ key: 'steps/s-1/a', bytes: bytesOf('second'), blobs: [bytesOf('two')] });
    expect(second).toEqual({ kind: 'existing', bytes: Buffer.from('first') });
    expect(await store.read('steps/s-1/a')).toEqual(Buffer.from('first'));
  });
}
