// Agents inside a Temporal worker of the user's own: its queue, codec, interceptors and connection,
// and PerdurePlugin.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NativeConnection, Worker, type ActivityInterceptorsFactory, type WorkerPlugin } from '@temporalio/worker';
import { expect, inject, onTestFinished, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { until } from '../support/until.ts';
import { ENCODING } from '../support/user-codec.mjs';
import { execute, running, userPlace, workflowsPath } from '../support/user-worker.ts';

test('runAgent({ prompt }) runs in the user’s worker, on its queue, in its codec, beside its activities (Q3)', async () => {
  const at = await userPlace([reply([toolUse('glob', { pattern: '*' })]), reply('All done.')]);
  const seen: string[] = [];
  const activity: ActivityInterceptorsFactory = () => ({
    inbound: { execute: (input, next) => (seen.push('activity'), next(input)) },
  });
  await running(at, { interceptors: { activity: [activity] } });
  const handle = await execute(at, 'asked', ['Go.']);
  expect(await handle.result()).toEqual({ text: 'ALL DONE.', reason: 'completed' });
  expect(seen.length).toBeGreaterThan(2);
  const { events } = await handle.fetchHistory();
  const child = events?.find(({ childWorkflowExecutionStartedEventAttributes: started }) => started);
  const id = child?.childWorkflowExecutionStartedEventAttributes?.workflowExecution?.workflowId ?? '';
  const session = at.client.workflow.getHandle(id);
  expect((await session.describe()).taskQueue).toBe(at.taskQueue);
  // Everything that the session's history holds went through the user's codec.
  const history = await session.fetchHistory();
  const encodings = JSON.stringify(history).matchAll(/"encoding":"([^"]+)"/g);
  const names = new Set([...encodings].map(([, name = '']) => Buffer.from(name, 'base64').toString()));
  expect([...names].filter((name) => name !== ENCODING && !name.startsWith('json/'))).toEqual([]);
  for (const each of [handle, session]) {
    const replayed = { workflowsPath, plugins: [at.plugin()], dataConverter: at.dataConverter };
    await Worker.runReplayHistory(replayed, await each.fetchHistory(), each.workflowId);
  }
});

test('the user’s other workflows, a default one too, stay as they were, with signals that the SDK reserves (Q3)', async () => {
  const at = await userPlace([]);
  await running(at);
  expect(await (await execute(at, 'neverHeardOf', [])).result()).toBe('any other');
  const stream = await execute(at, 'stream', []);
  await stream.signal('__temporal_workflow_stream_publish', 'published');
  expect(await stream.result()).toBe('published');
});

test('plugins that come after it, and its own connection’s, reach the worker that records as well (Q3)', async () => {
  const at = await userPlace([reply('Traced.')]);
  const seen: string[] = [];
  const watch: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: { execute: (input, next) => (seen.push(info.activityType), next(input)) },
  });
  const later: WorkerPlugin = {
    name: 'later',
    configureWorker: (options) => ({ ...options, interceptors: { ...options.interceptors, activity: [watch] } }),
  };
  const connection = await NativeConnection.connect({
    address: inject('temporalAddress'),
    plugins: [at.plugin(), later],
  });
  onTestFinished(() => connection.close());
  await running(at, { connection, plugins: [] });
  expect(await (await execute(at, 'asked', ['Go.'])).result()).toMatchObject({ text: 'TRACED.' });
  expect(new Set(seen)).toEqual(
    new Set(['perdure.openRun', 'perdure.callModel', 'perdure.commit', 'perdure.readResult', 'shout']),
  );
});

test('a workflow that is cancelled while its agent’s tool runs ends the tool and the agent (Q3 L48 L49)', async () => {
  const command = 'echo $$ > begun; sleep 1000';
  const script = [reply([toolUse('bash', { command })]), reply('Never said.')];
  const at = await userPlace(script, { config: { permissionMode: 'bypass' } });
  await running(at);
  const handle = await execute(at, 'asked', ['Go.']);
  await until(() => existsSync(join(at.cwd, 'begun')));
  const [child] = (await handle.describe()).raw.pendingChildren ?? [];
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  const session = await at.client.workflow.getHandle(child?.workflowId ?? '').describe();
  expect(session.status.name).toBe('CANCELLED');
  expect(at.model.requests).toHaveLength(1);
});

test('a worker that ends while an agent thinks is followed by another, which goes on with it (Q3 L50)', async () => {
  const held = gate();
  const at = await userPlace(
    [
      reply([toolUse('glob', { pattern: '*' })]),
      reply('This attempt is cut off.', { hold: held.hold, holdAfterEvent: 4 }),
      reply('Done by the next.'),
    ],
    { config: { drainMs: 100 } },
  );
  const first = await running(at);
  const handle = await execute(at, 'asked', ['Go.']);
  await until(() => at.model.requests.length === 2);
  first.shutdown();
  await until(() => first.getState() === 'STOPPED');
  await running(at);
  const ended = handle.result();
  await until(() => at.model.requests.length === 3);
  held.release();
  expect(await ended).toEqual({ text: 'DONE BY THE NEXT.', reason: 'completed' });
});
