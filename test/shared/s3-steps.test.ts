// A step in a bucket: its record carries its values, which lie under their own names as well,
// whoever writes them there.
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { hashOf } from '../../store/values/store.ts';
import { s3Care } from '../../store/values/open-store.ts';
import { s3Objects } from '../../store/values/s3/s3-objects.ts';
import type { S3Store } from '../../store/values/s3/s3-store.ts';
import { faultyProxy, type Fault, type Passing } from '../support/faulty-proxy.ts';
import { BUCKET } from '../support/s3-gateway.ts';
import { sharedStore, useS3Keys } from '../support/shared-store.ts';

beforeAll(useS3Keys);

const bytesOf = (text: string): Uint8Array => Buffer.from(text);
const textOf = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString();

describe('a writer that dies between the record of a step and its values (W2)', () => {
  const KEY = 'steps/s-1/a';
  /**
   * Of a store whose values are refused for as long as `refused` says: the step fails, and its
   * record is there.
   */
  async function recordAlone(refused: { value: boolean }) {
    const fault = ({ method, path }: Passing): Fault | null =>
      refused.value && method === 'PUT' && path.includes('/blobs/') ? 'denied' : null;
    const { endpoint } = await faultyProxy(inject('s3Endpoint'), { fault });
    const prefix = randomUUID();
    const writer = sharedStore({ endpoint, prefix });
    const step = { key: KEY, bytes: bytesOf('facts'), blobs: [bytesOf('segment'), bytesOf('a result')] };
    await expect(writer.writeStep(step)).rejects.toMatchObject({ name: 'StoreError', problem: 'unavailable' });
    return { writer, step, prefix };
  }
  const values = ['segment', 'a result'];
  const valuesOf = (store: S3Store) =>
    Promise.all(values.map(async (value) => textOf(await store.get(hashOf(bytesOf(value))))));

  test('whoever reads the record writes them, the writer itself as well', async () => {
    for (const who of ['another', 'itself'] as const) {
      const refused = { value: true };
      const { writer, prefix } = await recordAlone(refused);
      await expect(valuesOf(sharedStore({ prefix }))).rejects.toMatchObject({ problem: 'missing' });
      refused.value = false;
      const reader = who === 'itself' ? writer : sharedStore({ prefix });
      expect(textOf(await reader.read(KEY))).toBe('facts');
      expect(await valuesOf(sharedStore({ prefix }))).toEqual(values);
    }
  });

  test('another attempt at the step finds the record, and writes them', async () => {
    const { prefix, step } = await recordAlone({ value: true });
    const second = await sharedStore({ prefix }).writeStep({ ...step, bytes: bytesOf('others'), blobs: [] });
    expect(second).toEqual({ kind: 'existing', bytes: bytesOf('facts') });
    expect(await valuesOf(sharedStore({ prefix }))).toEqual(values);
  });

  test('also what a cleaning has set aside: one that began before the record would remove it (W4)', async () => {
    const refused = { value: true };
    const { prefix } = await recordAlone(refused);
    const segment = await sharedStore({ prefix }).put(bytesOf('segment'));
    const care = s3Care(s3Objects({ bucket: BUCKET, prefix, endpoint: inject('s3Endpoint') }), () =>
      Promise.resolve(null),
    );
    expect(await care.setAside(segment, Date.now() + 60_000)).toBe(true);
    expect(textOf(await sharedStore({ prefix }).read(KEY))).toBe('facts');
    await care.remove({ kind: 'aside', name: segment, bytes: 7, at: 0 }, Date.now() + 60_000);
    expect(await valuesOf(sharedStore({ prefix }))).toEqual(values);
  });

  test('a reader that may not write finds the record of a whole step', async () => {
    const prefix = randomUUID();
    await sharedStore({ prefix }).writeStep({ key: KEY, bytes: bytesOf('facts'), blobs: [bytesOf('segment')] });
    const fault = ({ method }: Passing): Fault | null => (method === 'PUT' ? 'denied' : null);
    const { endpoint } = await faultyProxy(inject('s3Endpoint'), { fault });
    expect(textOf(await sharedStore({ prefix, endpoint }).read(KEY))).toBe('facts');
  });
});
