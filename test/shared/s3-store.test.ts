// The store in a bucket: the contract of every backend on a real gateway, and each fault of a network or a service before it.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { blobCache } from '../../activities/transcript/store/blob-cache.ts';
import { openStore, storePlaceProblem } from '../../activities/transcript/store/open-store.ts';
import { s3Objects } from '../../activities/transcript/store/s3-objects.ts';
import { hashOf } from '../../activities/transcript/store/store.ts';
import { storeContract } from '../support/store-contract.ts';
import { FAULTS, faultyProxy, type Fault, type Passing } from '../support/faulty-proxy.ts';
import { BUCKET, S3_KEYS } from '../support/s3-gateway.ts';
import { sharedStore, useS3Keys } from '../support/shared-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { loadView } from '../../activities/transcript/view/view.ts';
import {
  callBlock,
  outcome,
  outcomes,
  reply,
  runStarted,
  session,
  stored,
  textBlock,
  transition,
  user,
} from '../support/transcript.ts';

beforeAll(useS3Keys);

const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const textOf = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString();

storeContract('the store in a bucket (W1)', () => sharedStore());

/** Strikes each request's first try once it is armed. */
function strikeOnce(kind: Fault) {
  const struck = new Set<string>();
  let armed = false;
  const fault = ({ method, path }: Passing): Fault | null => {
    const name = `${method} ${path}`;
    // Only a conditional write meets another one.
    const struckAt = kind !== '409' || (method === 'PUT' && path.includes('/keys/'));
    if (!armed || !struckAt || struck.has(name)) return null;
    struck.add(name);
    return kind;
  };
  return { fault, struck, arm: () => void (armed = true) };
}

describe('a request that meets a fault once (F8 W3)', () => {
  test.each(FAULTS.filter((fault) => fault !== 'wrong bytes'))(
    '%s: step, value and record are there, made once',
    async (kind) => {
      const { fault, struck, arm } = strikeOnce(kind);
      const { endpoint } = await faultyProxy(inject('s3Endpoint'), { fault });
      const prefix = randomUUID();
      const store = sharedStore({ endpoint, prefix });
      await store.identity();
      arm();
      const made = await store.writeStep({ key: 'steps/s-1/a', bytes: bytesOf('facts'), blobs: [bytesOf('segment')] });
      const other = sharedStore({ endpoint, prefix });
      expect(textOf(await other.read('steps/s-1/a'))).toBe('facts');
      expect(textOf(await other.get(hashOf(bytesOf('segment'))))).toBe('segment');
      expect(struck.size).toBeGreaterThanOrEqual(kind === '409' ? 1 : 3);
      expect(made).toEqual({ kind: 'created' });
    },
  );
});

describe('bytes that are wrong (F8 W1)', () => {
  test('a value whose bytes differ from its hash is never given: it is corrupt', async () => {
    const prefix = randomUUID();
    const hash = await sharedStore({ prefix }).put(bytesOf('as it was written'));
    const fault = ({ method, path }: Passing): Fault | null =>
      method === 'GET' && path.includes('/blobs/') ? 'wrong bytes' : null;
    const { endpoint } = await faultyProxy(inject('s3Endpoint'), { fault });
    await expect(sharedStore({ endpoint, prefix }).get(hash)).rejects.toMatchObject({ name: 'StoreError' });
    expect(textOf(await sharedStore({ prefix }).get(hash))).toBe('as it was written');
  });

  test('a record that was damaged in the bucket is refused by name', async () => {
    const prefix = randomUUID();
    const store = sharedStore({ prefix });
    await store.create('claims/s-1/a', bytesOf('mine'));
    await s3Objects({ bucket: BUCKET, prefix, endpoint: inject('s3Endpoint') }).put(
      'keys/claims/s-1/a',
      bytesOf('junk'),
    );
    await expect(sharedStore({ prefix }).read('claims/s-1/a')).rejects.toMatchObject({
      problem: 'corrupt',
      message: expect.stringContaining(`s3://${BUCKET}/${prefix}/keys/claims/s-1/a`) as string,
    });
  });
});

describe('a service that does not recover (F8)', () => {
  test.each(['500', 'reset before', 'reset after', '503 slow down'] as const)(
    '%s for good: one sentence, nothing said to be stored',
    async (kind) => {
      const { endpoint } = await faultyProxy(inject('s3Endpoint'), { fault: () => kind });
      await expect(sharedStore({ endpoint }).put(bytesOf('x'))).rejects.toMatchObject({
        name: 'StoreError',
        problem: 'unavailable',
        message: expect.stringMatching(/^cannot (read from|write to) the store \(s3:\/\/[^\n]+$/) as string,
      });
    },
  );

  test('of 20 that create one key while half of the answers are lost, one creates (W1)', async () => {
    let n = 0;
    const fault = ({ method }: Passing): Fault | null =>
      method === 'PUT' && (n += 1) % 2 === 0 ? 'reset after' : null;
    const { endpoint } = await faultyProxy(inject('s3Endpoint'), { fault });
    const prefix = randomUUID();
    await sharedStore({ prefix }).identity();
    const tries = Array.from({ length: 20 }, (_, racer) =>
      sharedStore({ endpoint, prefix }).create('claims/s-1/k', bytesOf(`racer ${racer}`)),
    );
    const made = await Promise.allSettled(tries);
    const winner = textOf(await sharedStore({ prefix }).read('claims/s-1/k'));
    const created = made.flatMap((one, racer) =>
      one.status === 'fulfilled' && one.value.kind === 'created' ? [`racer ${racer}`] : [],
    );
    const seen = made.flatMap((one) =>
      one.status === 'fulfilled' && one.value.kind === 'existing' ? [textOf(one.value.bytes)] : [],
    );
    expect(new Set([...created, ...seen])).toEqual(new Set([winner]));
    expect(created.length).toBeLessThanOrEqual(1);
  });
});

describe('what cannot work says what to do (W1)', () => {
  test('a bucket that is not there', async () => {
    const sentence = /there is no bucket "elsewhere": create it, or name another in PERDURE_STORE/;
    await expect(sharedStore({ bucket: 'elsewhere' }).identity()).rejects.toThrow(sentence);
  });

  test('nothing that listens', async () => {
    await expect(sharedStore({ endpoint: 'http://127.0.0.1:9' }).identity()).rejects.toThrow(/nothing answers there/);
  });

  test.each([
    ['a wrong secret', { AWS_SECRET_ACCESS_KEY: 'wrong' }, /its secret key is wrong/],
    ['an unknown key', { AWS_ACCESS_KEY_ID: 'nobody' }, /its access key is not known/],
    ['no region', { AWS_REGION: undefined }, /no region is set: set AWS_REGION/],
    [
      'no credentials',
      { AWS_ACCESS_KEY_ID: undefined, AWS_EC2_METADATA_DISABLED: 'true' },
      /no credentials were found: set AWS_ACCESS_KEY_ID/,
    ],
  ] as const)('%s', async (_, env, sentence) => {
    for (const [name, value] of Object.entries(env)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    try {
      await expect(sharedStore().identity()).rejects.toThrow(sentence);
    } finally {
      useS3Keys();
    }
  });

  test('a store of a newer version is neither read nor written', async () => {
    const prefix = randomUUID();
    const objects = s3Objects({ bucket: BUCKET, prefix, endpoint: inject('s3Endpoint') });
    await objects.put('store.json', bytesOf('{"version":2,"id":"x"}'));
    await expect(sharedStore({ prefix }).put(bytesOf('x'))).rejects.toThrow(
      /has version 2, this Perdure reads version 1/,
    );
  });

  test.each(['s3://', 's3://Bucket/x', 's3://bucket/a//b', 's3://bucket/ä', '/a/folder', 'https://bucket/x'])(
    'PERDURE_STORE=%s',
    (place) => {
      expect(storePlaceProblem(place)).toContain('give s3://bucket/prefix');
    },
  );
});

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

  test('a view of 1,000 entries is read cold with a request for each segment, a page of 64 at a time', async () => {
    const prefix = randomUUID();
    const turns = Array.from({ length: 250 }, (_, n) => [
      reply([textBlock(`Step ${n}.`), callBlock(`c${n}`, { path: 'notes.txt' })], { at: n }),
      outcomes(outcome(1, `${n} `.padEnd(1_500, 'line of a file, '))),
      transition(n, 'next_turn'),
      user(`Note ${n}.`),
    ]);
    const { head } = await stored(sharedStore({ prefix }), [runStarted(1), user('go')], ...turns);
    const { endpoint, passed } = await faultyProxy(inject('s3Endpoint'), { delayMs: 10 });
    const cold = sharedStore({ endpoint, prefix });
    await cold.identity();
    passed.length = 0;
    const began = performance.now();
    expect((await loadView(cold, session, head)).length).toBe(1_002);
    const taken = performance.now() - began;
    expect(passed).toHaveLength(251);
    console.info(`1,000 entries from a bucket, 10 ms a request: ${taken.toFixed(0)} ms cold`);
  });

  test('a step takes the time of two requests', async () => {
    const { endpoint } = await faultyProxy(inject('s3Endpoint'), { delayMs: 10 });
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
    console.info(`10 ms a request: one ${median(requests).toFixed(0)} ms, a step ${median(steps).toFixed(0)} ms (medians)`);
    expect(median(steps)).toBeLessThan(3 * median(requests));
  });
});

describe('the values kept on this machine (W2)', () => {
  test('what was read once is not asked for again, and another process finds it', async () => {
    const { endpoint, passed } = await faultyProxy(inject('s3Endpoint'));
    const place = `s3://${BUCKET}/${randomUUID()}`;
    process.env['AWS_ENDPOINT_URL_S3'] = endpoint;
    const [writer, reader] = [tempDir(), tempDir()];
    try {
      const hash = await openStore(place, writer).store.put(bytesOf('hot'));
      for (const dataDir of [reader, reader, writer]) {
        expect(textOf(await openStore(place, dataDir).store.get(hash))).toBe('hot');
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

test('no credential is in what an error says (W3)', async () => {
  process.env['AWS_SECRET_ACCESS_KEY'] = 'a-secret-that-is-wrong';
  try {
    const thrown = await sharedStore()
      .identity()
      .catch((error: unknown) => String(error));
    expect(thrown).toContain('secret key is wrong');
    expect(thrown).not.toContain('a-secret-that-is-wrong');
    expect(thrown).not.toContain(S3_KEYS.AWS_SECRET_ACCESS_KEY);
  } finally {
    useS3Keys();
  }
});
