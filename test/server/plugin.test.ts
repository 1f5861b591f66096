// Agents inside a Temporal worker of the user's own: its queue, codec, interceptors and connection, and PerdurePlugin.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import {
  bundleWorkflowCode,
  DefaultLogger,
  type ActivityInterceptorsFactory,
  NativeConnection,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { expect, inject, onTestFinished, test } from 'vitest';
import { gate, reply, toolUse, type ScriptedModelOptions } from '../../worker/scripted-model/index.ts';
import { PerdurePlugin, type PluginOptions } from '../../worker/plugin/perdure-plugin.ts';
import { modelFor } from '../support/cli.ts';
import { oneRuntime } from '../support/one-runtime.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { ENCODING, userCodec } from '../support/user-codec.mjs';

const workflowsPath = fileURLToPath(new URL('../support/user-workflows.mjs', import.meta.url));
const shout = (text: string): Promise<string> => Promise.resolve(text.toUpperCase());

async function place(script: ScriptedModelOptions['script'], more: PluginOptions = {}) {
  oneRuntime();
  const model = await modelFor(script);
  const cwd = tempDir();
  const env = {
    PATH: process.env.PATH,
    PERDURE_DATA: tempDir(),
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: model.url,
  };
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const clientConnection = await Connection.connect({ address: inject('temporalAddress') });
  onTestFinished(async () => {
    await clientConnection.close();
    await connection.close();
  });
  const dataConverter = { payloadCodecs: [userCodec] };
  const client = new Client({ connection: clientConnection, dataConverter });
  const plugin = () => new PerdurePlugin({ cwd, env, ...more });
  const taskQueue = `user-${randomUUID()}`;
  return { model, cwd, client, connection, dataConverter, plugin, taskQueue };
}

type Place = Awaited<ReturnType<typeof place>>;

async function running(at: Place, more: Partial<WorkerOptions> = {}): Promise<Worker> {
  const { connection, dataConverter, taskQueue } = at;
  const plugins = [at.plugin()];
  const all = { connection, dataConverter, taskQueue, activities: { shout }, workflowsPath, plugins, ...more };
  const worker = await Worker.create(all);
  const ended = worker.run();
  ended.catch(() => undefined);
  onTestFinished(async () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await ended;
  });
  return worker;
}

const execute = (at: Place, workflow: string, args: readonly unknown[]) =>
  at.client.workflow.start(workflow, { workflowId: `u-${randomUUID()}`, taskQueue: at.taskQueue, args: [...args] });

test('runAgent({ prompt }) runs in the user’s worker, on its queue, in its codec, beside its activities (Q3)', async () => {
  const at = await place([reply([toolUse('glob', { pattern: '*' })]), reply('All done.')]);
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

test('the user’s other workflows, a default one too, stay as they were (Q3)', async () => {
  const at = await place([]);
  await running(at);
  expect(await (await execute(at, 'neverHeardOf', [])).result()).toBe('any other');
});

test('a workflow that is cancelled while its agent’s tool runs ends the tool and the agent (Q3 L48 L49)', async () => {
  const command = 'echo $$ > begun; sleep 1000';
  const script = [reply([toolUse('bash', { command })]), reply('Never said.')];
  const at = await place(script, { config: { permissionMode: 'bypass' } });
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
  const at = await place(
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

test('a bundle that was made with the plugin runs agents; one without it is refused with a sentence (Q3)', async () => {
  const at = await place([reply('From a bundle.')]);
  const logger = new DefaultLogger('ERROR');
  const without = await bundleWorkflowCode({ workflowsPath, logger });
  const foreign = running(at, { workflowsPath: undefined as never, workflowBundle: without });
  await expect(foreign).rejects.toThrow(/was made without perdure.agentSession: give the plugin to bundleWorkflowCode/);
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger, plugins: [at.plugin()] });
  await running(at, { workflowsPath: undefined as never, workflowBundle });
  expect(await (await execute(at, 'asked', ['Go.'])).result()).toMatchObject({ text: 'FROM A BUNDLE.' });
});

test('a plugin for two workers, an activity of its names, a wrong configuration: one sentence each (Q3)', async () => {
  const at = await place([]);
  const plugins = [at.plugin()];
  await running(at, { plugins });
  await expect(running(at, { plugins })).rejects.toThrow(/belongs to another worker: make one for each/);
  const activities = { 'perdure.commit': shout };
  await expect(running(at, { activities })).rejects.toThrow(/has an activity "perdure.commit"/);
  expect(() => new PerdurePlugin({ config: { modle: 'x' } as never })).toThrow(/PerdurePlugin/);
});
