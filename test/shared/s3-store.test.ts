// The store in a bucket: the contract of every backend on a real gateway, and each fault of a
// network or a service before it.
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { storePlaceProblem } from '../../store/values/open-store.ts';
import { s3Objects } from '../../store/values/s3/s3-objects.ts';
import { hashOf } from '../../store/values/store.ts';
import { storeContract } from '../support/store-contract.ts';
import { FAULTS, faultyProxy, type Fault, type Passing } from '../support/faulty-proxy.ts';
import { BUCKET, S3_KEYS } from '../support/s3-gateway.ts';
import { sharedStore, useS3Keys } from '../support/shared-store.ts';

beforeAll(useS3Keys);

const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const textOf = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString();

storeContract('the store in a bucket (W1)', () => sharedStore());

/** A hang is waited for: each kind of it once here, and for every kind of request below. */
const hung = new Set<Fault>();

storeContract('the store in a bucket, where the first try of every other request meets a fault (F8 W3)', async () => {
  const kinds = FAULTS.filter((kind) => kind !== 'wrong bytes');
  let n = 0;
  const struck = new Set<string>();
  const fault = ({ method, path, first }: Passing): Fault | null => {
    const kind = kinds[(n += 1) % kinds.length];
    // More at once would use up what the SDK allows for retries.
    if (!first || n % 2 === 0 || kind === undefined) return null;
    if (kind.startsWith('hang')) return hung.size < hung.add(kind).size ? kind : null;
    if (kind !== 'cut answer' && kind !== '409') return kind;
    // What is tried again by us, as another request, meets it once.
    const strikes = !struck.has(`${kind} ${path}`) && (kind !== '409' || (method === 'PUT' && path.includes('/keys/')));
    struck.add(`${kind} ${path}`);
    return strikes ? kind : null;
  };
  const { endpoint } = await faultyProxy(inject('s3Endpoint'), { fault });
  return sharedStore({ endpoint, requestMs: REQUEST_MS });
});

/** Long enough for a request of 8 MB, short enough to be waited for. */
const REQUEST_MS = 3_000;
/** For a few bytes, tried four times. */
const SMALL_MS = 1_000;

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
      const store = sharedStore({ endpoint, prefix, requestMs: SMALL_MS });
      await store.identity();
      arm();
      const made = await store.writeStep({ key: 'steps/s-1/a', bytes: bytesOf('facts'), blobs: [bytesOf('segment')] });
      const other = sharedStore({ endpoint, prefix, requestMs: SMALL_MS });
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

  test.each([
    ['denied', /access is denied: allow s3:GetObject and s3:PutObject there/],
    ['skewed', /this machine's clock is wrong: set it, work goes on by itself/],
    ['another region', /the bucket is in another region: set AWS_REGION to it/],
    ['malformed region', /the bucket is in another region: set AWS_REGION to it/],
    ['hang before', /it answers too slowly: see the network and AWS_ENDPOINT_URL; work goes on by itself/],
  ] as const)(
    'writing is %s: one sentence, and when that is over the same write works (W3)',
    async (kind, sentence) => {
      let refused = true;
      const fault = ({ method }: Passing): Fault | null => (refused && method === 'PUT' ? kind : null);
      const { endpoint } = await faultyProxy(inject('s3Endpoint'), { fault });
      const prefix = randomUUID();
      await sharedStore({ prefix }).identity();
      const store = sharedStore({ endpoint, prefix, requestMs: 500 });
      const step = { key: 'steps/s-1/a', bytes: bytesOf('facts'), blobs: [bytesOf('segment')] };
      const thrown = await store.writeStep(step).catch((error: unknown) => error as Error);
      expect(thrown).toMatchObject({ name: 'StoreError', problem: 'unavailable' });
      expect('message' in thrown ? thrown.message : '').toMatch(sentence);
      expect('message' in thrown ? thrown.message : '').not.toContain('\n');
      refused = false;
      expect(await store.writeStep(step)).toEqual({ kind: 'created' });
    },
  );

  test.each([1, -1])(
    'a clock that is %i hour off is corrected by the answer of the service, and nothing fails (W3)',
    async (hours) => {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 });
      try {
        const store = sharedStore();
        expect(await store.create('claims/s-1/a', bytesOf('mine'))).toEqual({ kind: 'created' });
        expect(textOf(await store.get(await store.put(bytesOf('value'))))).toBe('value');
      } finally {
        vi.useRealTimers();
      }
    },
  );

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
