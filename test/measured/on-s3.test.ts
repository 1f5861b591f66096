// A store in a bucket that takes 10 ms for each request: a cold view, and a turn beside the same turn on a store in a folder.
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, inject, test } from 'vitest';
import { loadView } from '../../activities/transcript/view/view.ts';
import { turnsOf } from '../../bench/history.ts';
import { median } from '../../bench/table.ts';
import { reply, toolUse } from '../../worker/scripted-model/index.ts';
import { atBest } from '../support/at-best.ts';
import { faultyProxy } from '../support/faulty-proxy.ts';
import { longTranscript } from '../support/long-transcript.ts';
import { sharedStore, useS3Keys } from '../support/shared-store.ts';
import { endOf, storeTown, type StoreKind, type Town } from '../support/store-town.ts';
import { session } from '../support/transcript.ts';

const DELAY_MS = 10;
const COLD_MS = 1_500;

beforeAll(() => {
  useS3Keys();
  return () => void delete process.env['AWS_ENDPOINT_URL_S3'];
});

test('a view of 1,000 entries is read cold in at most 1.5 s (W2)', async () => {
  const prefix = randomUUID();
  const head = await longTranscript(sharedStore({ prefix }));
  const { endpoint } = await faultyProxy(inject('s3Endpoint'), { delayMs: DELAY_MS });
  const read = async (): Promise<number> => {
    const cold = sharedStore({ endpoint, prefix });
    await cold.identity();
    const began = performance.now();
    expect((await loadView(cold, session, head)).length).toBe(1_002);
    return performance.now() - began;
  };
  expect(await atBest(COLD_MS, 40, read)).toBeLessThanOrEqual(COLD_MS);
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

test('a safe turn takes at most twice as long as in a folder, and two requests (W2)', async () => {
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
  expect(bucket).toBeLessThan(2 * folder + 2 * request);
});
