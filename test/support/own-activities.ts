// A worker in place of the harness's own, whose activities a test has changed.
import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { inject, onTestFinished } from 'vitest';
import type { Deps } from '../../activities/deps.ts';
import { createDeps } from '../../worker/create-deps.ts';
import { createWorker } from '../../worker/create-worker.ts';
import { openModelAccess } from '../../worker/model-access.ts';
import type { KeyRing } from '../../connection/payloads/key-ring.ts';
import type { ActivityBodies } from '../../workflows/contract/activities.ts';
import { fastBackoff, type Harness } from './harness.ts';

/** `stop` it before the next. `keys`: the harness's, when it has any. */
export async function workerWith(
  h: Harness,
  change: (deps: Deps) => ActivityBodies,
  keys?: KeyRing,
): Promise<{ stop(): Promise<void> }> {
  await h.worker.stop();
  const activities = change(await depsOf(h));
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const { taskQueue } = h;
  const own = { connection, namespace: 'default', taskQueue, activities, ...(keys && { keys }) };
  const worker = await createWorker({ log: () => {}, ...own });
  const done = worker.run();
  let over: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    worker.shutdown();
    await done;
    await connection.close();
  };
  const stop = (): Promise<void> => (over ??= end());
  onTestFinished(stop);
  return { stop };
}

async function depsOf({ storePlace, liveDir, model }: Harness): Promise<Deps> {
  const env = { PATH: process.env.PATH, ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url };
  const defaults = { backoff: fastBackoff, permissionMode: 'bypass' } as const;
  const settings = { storePlace, liveDir, dataDir: join(storePlace, '..', 'data'), env, defaults, log: () => {} };
  return createDeps({ ...settings, snapshots: false, access: await openModelAccess(env) });
}
