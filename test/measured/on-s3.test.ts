// A store in a bucket that takes 10 ms for each request: its turns beside those of a store in a folder and beside the engine's floor, two activities
// that do nothing, on one server and in turns; and the requests of a turn, which are counted.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { DefaultLogger, NativeConnection, Worker, bundleWorkflowCode } from '@temporalio/worker';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
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

/** Of each turn, milliseconds; the first ones left out. */
async function times(town: Town, workflow: string, opens: string, every: number): Promise<readonly number[]> {
  const turns = await turnsOf(town.temporal.client, workflow, opens, every);
  return turns.slice(2).map(({ from, to }) => to - from);
}

/** Of a new session that makes a call in each of `TURNS` turns. */
async function turnsIn(town: Town): Promise<readonly number[]> {
  const { session: id } = await town.sessions.start('Look.', { cwd: town.cwd });
  expect(await endOf(town, id)).toBe('completed');
  return times(town, id, 'perdure.callModel', 1);
}

/** The engine's floor on the same server: the milliseconds of such turns. */
async function floorOf(town: Town): Promise<() => Promise<readonly number[]>> {
  const { client, connection: _ } = town.temporal;
  const { namespace, address } = town.target;
  const workflowsPath = fileURLToPath(new URL('../../bench/floor-workflow.ts', import.meta.url));
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  const connection = await NativeConnection.connect({ address });
  const taskQueue = `floor-${randomUUID()}`;
  const activities = { nothing: () => Promise.resolve() };
  const worker = await Worker.create({ connection, namespace, taskQueue, workflowBundle, activities });
  const running = worker.run();
  onTestFinished(async () => {
    worker.shutdown();
    await running;
    await connection.close();
  });
  return async () => {
    const workflowId = `floor-${randomUUID()}`;
    await client.workflow.execute('floor', { workflowId, taskQueue, args: [TURNS] });
    return times(town, workflowId, 'nothing', 2);
  };
}

test('a safe turn takes at most three times as long as in a folder, and two requests (W2)', async () => {
  const { endpoint } = await faultyProxy(inject('s3Endpoint'), { delayMs: DELAY_MS });
  process.env['AWS_ENDPOINT_URL_S3'] = endpoint;
  const looks = Array.from({ length: TURNS }, () => reply([toolUse('glob', { pattern: '*' })]));
  const script = Array.from({ length: ROUNDS }, () => [...looks, reply('Done.')]).flat();
  const town = (kind: StoreKind) => storeTown(kind, script);
  const [onDisk, inBucket] = [await town('a folder, with payloads sealed'), await town('a bucket')];
  const floorTurns = await floorOf(inBucket);
  const store = sharedStore({ endpoint });
  await store.identity();
  const taken = { folder: [] as number[], bucket: [] as number[], floor: [] as number[], request: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    taken.folder.push(...(await turnsIn(onDisk)));
    taken.bucket.push(...(await turnsIn(inBucket)));
    taken.floor.push(...(await floorTurns()));
    for (let n = 0; n < TURNS; n += 1) {
      const began = performance.now();
      await store.put(Buffer.from(`${round} ${n}`));
      taken.request.push(performance.now() - began);
    }
  }
  const [folder, bucket, request] = [median(taken.folder), median(taken.bucket), median(taken.request)];
  const floor = median(taken.floor);
  console.info(
    `medians: a safe turn ${folder.toFixed(1)} ms in a folder, ${bucket.toFixed(1)} ms in a bucket, the floor ${floor.toFixed(1)} ms, a request ${request.toFixed(1)} ms`,
  );
  expect(bucket).toBeLessThan(3 * folder + 2 * request);
});
