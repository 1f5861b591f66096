// A Temporal worker of a user's own, with PerdurePlugin: its workflows, activity, codec, queue and
// connection.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { inject, onTestFinished } from 'vitest';
import { PerdurePlugin, type PluginOptions } from '../../worker/plugin/perdure-plugin.ts';
import type { ScriptedModelOptions } from '../../scripted-model/index.ts';
import { modelFor } from './cli.ts';
import { oneRuntime } from './one-runtime.ts';
import { tempDir } from './temp-dir.ts';
import { userCodec } from './user-codec.mjs';

export const workflowsPath = fileURLToPath(new URL('./user-workflows.mjs', import.meta.url));
const shout = (text: string): Promise<string> => Promise.resolve(text.toUpperCase());

export async function userPlace(script: ScriptedModelOptions['script'], more: PluginOptions = {}) {
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
  return { model, cwd, env, client, connection, dataConverter, plugin, taskQueue };
}

export type UserPlace = Awaited<ReturnType<typeof userPlace>>;

export async function running(at: UserPlace, more: Partial<WorkerOptions> = {}): Promise<Worker> {
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

export const execute = (at: UserPlace, workflow: string, args: readonly unknown[]) =>
  at.client.workflow.start(workflow, { workflowId: `u-${randomUUID()}`, taskQueue: at.taskQueue, args: [...args] });
