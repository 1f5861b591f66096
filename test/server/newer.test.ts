// A deploy that goes from worker to worker: one that is still old meets what a new one wrote.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { createConfigReader } from '../../store/configuration.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { createTranscripts } from '../../store/transcript/transcripts.ts';
import { createDeps } from '../../worker/create-deps.ts';
import { createWorker } from '../../worker/create-worker.ts';
import { openModelAccess } from '../../worker/model-access.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { UPDATES, type PendingApproval } from '../../workflows/contract/session.ts';
import { harness, type Harness } from '../support/harness.ts';
import { newerWrote } from '../support/newer-wrote.ts';
import { until } from '../support/until.ts';

/** To it, everything that is stored is of the next version. */
async function startOldWorker({ storePlace, liveDir, cwd, taskQueue }: Harness): Promise<{ stop(): Promise<void> }> {
  const env = { PATH: process.env['PATH'] };
  const access = await openModelAccess({ ANTHROPIC_API_KEY: 'test' });
  const own = await createDeps({
    snapshots: false,
    storePlace,
    liveDir,
    dataDir: join(cwd, '..', 'data'),
    access,
    env,
    log: () => {},
  });
  const store = newerWrote(fileStore({ dir: storePlace }));
  const deps = {
    ...own,
    store,
    config: createConfigReader(store),
    transcripts: createTranscripts(store, () => Promise.resolve(null)),
  };
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const worker = await createWorker({
    log: () => {},
    connection,
    namespace: 'default',
    taskQueue,
    activities: createActivities(deps),
  });
  const ended = worker.run();
  let over: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    worker.shutdown();
    await ended;
    await connection.close();
    await access.close();
  };
  const stop = (): Promise<void> => (over ??= end());
  onTestFinished(stop);
  return { stop };
}

test('a run waits while a worker is older than what is stored, says why, and goes on with a newer one (L40 L50)', async () => {
  const h = await harness({
    script: [reply([toolUse('bash', { command: 'echo once >> made' })]), reply('Done.')],
  });
  const session = await h.open('Go.', { permissionMode: 'default' });
  const [{ call, inputHash }] = await until(async () => (await session.memo())?.approvals as [PendingApproval]);
  await h.worker.stop();
  const old = await startOldWorker(h);
  await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
  const waiting = await until(session.lastFailure);
  expect(waiting).toContain('was written by a newer Perdure (version 2, this one reads 1): update this one');
  await old.stop();
  expect(existsSync(join(h.cwd, 'made'))).toBe(false);
  const worker = await h.startWorker();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(readFileSync(join(h.cwd, 'made'), 'utf8')).toBe('once\n');
  expect((await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []))).toMatchObject(
    [{ log: { outcome: 'ok' } }],
  );
  await worker.stop();
});
