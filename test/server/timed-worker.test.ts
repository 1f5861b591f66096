// How long a workflow may compute at a stretch, watched from outside its thread.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { expect, inject, onTestFinished, test } from 'vitest';
import { TimedWorker } from '../../worker/timed-worker.ts';
import { oneRuntime } from '../support/one-runtime.ts';

const workflowsPath = fileURLToPath(new URL('../support/user-workflows.mjs', import.meta.url));

async function timedWorker(isolateExecutionTimeout: string) {
  oneRuntime();
  const address = inject('temporalAddress');
  const connection = await NativeConnection.connect({ address });
  onTestFinished(() => connection.close());
  const taskQueue = `timed-${randomUUID()}`;
  const client = new Client({ connection: await Connection.connect({ address }) });
  onTestFinished(() => client.connection.close());
  const options = { isolateExecutionTimeout, connection, taskQueue, workflowsPath, debugMode: false };
  const worker = await TimedWorker.create(options);
  const start = (workflow: string, ...args: readonly unknown[]) =>
    client.workflow.start(workflow, { workflowId: `t-${randomUUID()}`, taskQueue, args: [...args] });
  return { worker, start };
}

test('a worker ends over a workflow that computes for too long, and is not in the way of its process', async () => {
  const { worker, start } = await timedWorker('1s');
  const running = worker.run();
  const endless = await start('computeForever');
  await expect(running).rejects.toThrow(/Thread exited/);
  expect(worker.getState()).toBe('FAILED');
  await endless.terminate();
});

test('what a workflow waits does not count as computed', async () => {
  const { worker, start } = await timedWorker('5s');
  const waiting = await start('waitFor', '6s');
  expect(await worker.runUntil(waiting.result())).toBe('waited');
});
