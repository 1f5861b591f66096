// What a store in a bucket asks for and keeps: requests of a step and of a cold view, and the cache
// on the machine's disk.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { blobCache } from '../../store/values/blob-cache.ts';
import { openStore } from '../../store/values/open-store.ts';
import { hashOf } from '../../store/values/store.ts';
import { faultyProxy } from '../support/faulty-proxy.ts';
import { BUCKET } from '../support/s3-gateway.ts';
import { longTranscript } from '../support/long-transcript.ts';
import { sharedStore, useS3Keys } from '../support/shared-store.ts';
import { endOf, storeTown } from '../support/store-town.ts';
import { tempDir } from '../support/temp-dir.ts';
import { loadView } from '../../store/view/view.ts';
import { session } from '../support/transcript.ts';

beforeAll(useS3Keys);

const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const textOf = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString();

/** A step that a busy machine is slow at is done again, which takes requests of its own. */
const TRIES = 5;

describe('few requests (W2)', () => {
  test('a step takes two requests, and what this process created or found is not asked for again', async () => {
    const { endpoint, passed } = await faultyProxy(inject('s3Endpoint'));
    const store = sharedStore({ endpoint });
    await store.identity();
    passed.length = 0;
    const key = 'steps/s-1/a';
    await store.writeStep({ key, bytes: bytesOf('facts'), blobs: [bytesOf('segment')] });
    expect(passed.map(({ method }) => method)).toEqual(['PUT', 'PUT']);
    expect(textOf(await store.read(key))).toBe('facts');
    expect(await store.create(key, bytesOf('others'))).toEqual({ kind: 'existing', bytes: bytesOf('facts') });
    expect(passed).toHaveLength(2);
  });

  test('large values are sent once, before the record', async () => {
    const { endpoint, passed, load } = await faultyProxy(inject('s3Endpoint'), { delayMs: 10 });
    const store = sharedStore({ endpoint });
    await store.identity();
    passed.length = 0;
    await store.writeStep({ key: 'steps/s-1/a', bytes: bytesOf('facts'), blobs: [Buffer.alloc(100_000, 'x')] });
    expect(passed.map(({ path }) => /(blobs|keys)/.exec(path)?.[0])).toEqual(['blobs', 'keys']);
    expect(load.most).toBe(1);
    expect(passed.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(110_000);
  });

  test('a view of 1,000 entries is read cold with a request a segment, 64 at once on connections that stay open (W2)', async () => {
    const prefix = randomUUID();
    const head = await longTranscript(sharedStore({ prefix }));
    // Long enough for all that is asked at once to be under way together.
    const { endpoint, passed, load } = await faultyProxy(inject('s3Endpoint'), { delayMs: 300 });
    const cold = sharedStore({ endpoint, prefix });
    await cold.identity();
    passed.length = 0;
    expect((await loadView(cold, session, head)).length).toBe(1_002);
    expect(passed).toHaveLength(251);
    expect(load.most).toBe(64);
    expect(load.connections).toBeLessThanOrEqual(64);
  });

  test.each([
    ['safe', 2, toolUse('glob', { pattern: '*' })],
    ['effectful', 4, toolUse('write', { path: 'a.txt', content: 'a' })],
  ] as const)('a turn with a call that is %s takes at most %i requests (W2)', async (_, most, call) => {
    const { endpoint, passed } = await faultyProxy(inject('s3Endpoint'));
    process.env['AWS_ENDPOINT_URL_S3'] = endpoint;
    onTestFinished(useS3Keys);
    const turns = [2, 10] as const;
    const script = turns.flatMap((count) => [...Array.from({ length: count }, () => reply([call])), reply('Done.')]);
    const town = await storeTown('a bucket', Array.from({ length: TRIES }, () => script).flat());
    const requestsOf = async (): Promise<number> => {
      const before = passed.length;
      const { session: id } = await town.sessions.start('Go.', { cwd: town.cwd });
      expect(await endOf(town, id)).toBe('completed');
      return passed.length - before;
    };
    const eachTurn: number[] = [];
    while (eachTurn.length < TRIES && !eachTurn.some((count) => count <= most)) {
      const few = await requestsOf();
      eachTurn.push(((await requestsOf()) - few) / (turns[1] - turns[0]));
    }
    expect(Math.min(...eachTurn)).toBeLessThanOrEqual(most);
  });

  test('a step takes the time of one request: its record and its values are sent at once', async () => {
    const { endpoint, load } = await faultyProxy(inject('s3Endpoint'), { delayMs: 10 });
    const store = sharedStore({ endpoint });
    await store.identity();
    const steps: number[] = [];
    const requests: number[] = [];
    const timed = async (times: number[], work: () => Promise<unknown>): Promise<void> => {
      const began = performance.now();
      await work();
      times.push(performance.now() - began);
    };
    for (let n = 0; n < 20; n += 1) {
      const blobs = [bytesOf(`segment ${n}`)];
      await timed(steps, () => store.writeStep({ key: `steps/s-1/${n}`, bytes: bytesOf('facts'), blobs }));
      await timed(requests, () => store.put(bytesOf(`value ${n}`)));
    }
    const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[10] ?? 0;
    console.info(
      `10 ms a request: one ${median(requests).toFixed(0)} ms, a step ${median(steps).toFixed(0)} ms (medians)`,
    );
    expect(load.most).toBe(2);
  });
});

describe('the values kept on this machine (W2)', () => {
  test('what was read once is not asked for again, and another process finds it', async () => {
    const { endpoint, passed } = await faultyProxy(inject('s3Endpoint'));
    const place = `s3://${BUCKET}/${randomUUID()}`;
    process.env['AWS_ENDPOINT_URL_S3'] = endpoint;
    const [writer, reader] = [tempDir(), tempDir()];
    try {
      const hash = await openStore({ storePlace: place, dataDir: writer }).store.put(bytesOf('hot'));
      for (const dataDir of [reader, reader, writer]) {
        expect(textOf(await openStore({ storePlace: place, dataDir }).store.get(hash))).toBe('hot');
      }
      expect(passed.filter(({ method, path }) => method === 'GET' && path.includes('/blobs/'))).toHaveLength(1);
    } finally {
      useS3Keys();
    }
  });

  test('the least recently used go when there are too many bytes, and a damaged one is not given', async () => {
    const dir = join(tempDir(), 'cache');
    const values = Array.from({ length: 8 }, (_, n) => Buffer.alloc(100, `${n}`));
    const hashes = values.map(hashOf);
    const cache = blobCache(dir, 500);
    values.forEach((bytes, n) => cache.put(hashes[n] ?? hashOf(bytes), bytes));
    expect(readdirSync(dir).toSorted()).toEqual(hashes.slice(3).toSorted());
    const [newest] = hashes.slice(-1);
    if (!newest) throw new Error('no value was kept');
    writeFileSync(join(dir, newest), 'damaged');
    expect(await cache.get(newest)).toBeNull();
    expect(readdirSync(dir)).not.toContain(newest);
  });

  test('a folder that cannot be used makes it slower, and nothing else', async () => {
    const dir = join(tempDir(), 'a-file');
    mkdirSync(join(dir, '..'), { recursive: true });
    writeFileSync(dir, '');
    const cache = blobCache(join(dir, 'cache'));
    const hash = hashOf(bytesOf('x'));
    cache.put(hash, bytesOf('x'));
    expect(await cache.get(hash)).toBeNull();
  });
});
