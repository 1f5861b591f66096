// A store in a bucket that takes 10 ms for each request: a turn beside the same turn on a store in a folder. Ratios alone: a machine may be busy.
import { beforeAll, expect, inject, test } from 'vitest';
import { turnsOf } from '../../bench/history.ts';
import { median } from '../../bench/table.ts';
import { reply, toolUse } from '../../worker/scripted-model/index.ts';
import { faultyProxy } from '../support/faulty-proxy.ts';
import { sharedStore, useS3Keys } from '../support/shared-store.ts';
import { endOf, storeTown, type StoreKind, type Town } from '../support/store-town.ts';

const DELAY_MS = 10;

beforeAll(() => {
  useS3Keys();
  return () => void delete process.env['AWS_ENDPOINT_URL_S3'];
});

const ROUNDS = 4;
const TURNS = 12;

/** Milliseconds of each turn of a new session that looks `TURNS` times, its first ones left out. */
async function turnsIn(town: Town): Promise<readonly number[]> {
  const { session: id } = await town.sessions.start('Look.', { cwd: town.cwd });
  expect(await endOf(town, id)).toBe('completed');
  const turns = await turnsOf(town.temporal.client, id, 'perdure.callModel', 1);
  return turns.slice(2).map(({ from, to }) => to - from);
}

test('a safe turn takes at most three times as long as in a folder, and two requests (W2)', async () => {
  const { endpoint } = await faultyProxy(inject('s3Endpoint'), { delayMs: DELAY_MS });
  process.env['AWS_ENDPOINT_URL_S3'] = endpoint;
  const looks = Array.from({ length: TURNS }, () => reply([toolUse('glob', { pattern: '*' })]));
  const script = Array.from({ length: ROUNDS }, () => [...looks, reply('Done.')]).flat();
  const town = (kind: StoreKind) => storeTown(kind, script);
  const [onDisk, inBucket] = [await town('a folder, with payloads sealed'), await town('a bucket')];
  const store = sharedStore({ endpoint });
  await store.identity();
  const taken = { folder: [] as number[], bucket: [] as number[], request: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    taken.folder.push(...(await turnsIn(onDisk)));
    taken.bucket.push(...(await turnsIn(inBucket)));
    for (let n = 0; n < TURNS; n += 1) {
      const began = performance.now();
      await store.put(Buffer.from(`${round} ${n}`));
      taken.request.push(performance.now() - began);
    }
  }
  const [folder, bucket, request] = [median(taken.folder), median(taken.bucket), median(taken.request)];
  console.info(
    `medians: a safe turn ${folder.toFixed(1)} ms in a folder, ${bucket.toFixed(1)} ms in a bucket, a request ${request.toFixed(1)} ms`,
  );
  expect(bucket).toBeLessThan(3 * folder + 2 * request);
});
