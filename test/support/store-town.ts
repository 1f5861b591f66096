// A namespace, a store and a worker of a test's own, for what concerns a store and all of its
// sessions.
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { openStore } from '../../store/values/open-store.ts';
import type { StoreCare, StoredObject } from '../../store/values/store.ts';
import { openWholeServer } from '../../client/runtime/open-server.ts';
import { cleanStore, GRACE_MS, type CleanResult, type CleanStore } from '../../client/store-care/clean-store.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { makeKeyFile } from '../../connection/payloads/key-ring.ts';
import type { ScriptedModelOptions } from '../../scripted-model/index.ts';
import { startWorker } from '../../worker/start-worker.ts';
import { modelFor } from './cli.ts';
import { fastBackoff } from './harness.ts';
import { oneRuntime } from './one-runtime.ts';
import { ownNamespace } from './own-namespace.ts';
import { BUCKET } from './s3-gateway.ts';
import { tempDir } from './temp-dir.ts';
import { until } from './until.ts';

export type StoreKind = 'a folder, with payloads sealed' | 'a bucket';
export const STORE_KINDS: readonly StoreKind[] = ['a folder, with payloads sealed', 'a bucket'];

export type Town = Awaited<ReturnType<typeof storeTown>>;

/** `script`: of its worker's model; null for a town without a worker. */
export async function storeTown(kind: StoreKind, script: ScriptedModelOptions['script'] | null) {
  oneRuntime();
  const root = tempDir();
  const cwd = join(root, 'workspace');
  mkdirSync(cwd);
  const model = await modelFor(script ?? []);
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    HOME: root,
    PERDURE_DATA: join(root, 'data'),
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: model.url,
    ...(await ownNamespace(inject('temporalAddress'))),
  };
  if (kind === 'a bucket') env['PERDURE_STORE'] = `s3://${BUCKET}/${randomUUID()}`;
  const keys = join(openDataFolder(env).root, 'keys.json');
  makeKeyFile(keys);
  env['PERDURE_CODEC_KEYS'] = keys;
  const taskQueue = `town-${randomUUID()}`;
  const server = await openWholeServer({ env, taskQueue });
  onTestFinished(() => server.close());
  const { folder, temporal, target } = server;
  const { storePlace, storeKeys, liveDir, root: dataDir } = folder;
  if (script !== null) {
    const places = { storePlace, storeKeys, liveDir, dataDir, env, taskQueue };
    const defaults = { backoff: fastBackoff, permissionMode: 'bypass' } as const;
    const worker = await startWorker({
      ...target,
      ...places,
      log: () => undefined,
      defaults,
      config: { snapshots: false },
    });
    onTestFinished(() => worker.stop());
  }
  const { care, id } = openStore({ ...folder, dataDir });
  const store = await id();
  const clean = (more: Partial<CleanStore> = {}): Promise<CleanResult> =>
    cleanStore({ temporal: temporal.client, care, store, graceMs: GRACE_MS, dryRun: false, ...more });
  return { ...server, env, cwd, model, care, clean, taskQueue, storeId: store, list: () => listed(care) };
}

async function listed(care: StoreCare): Promise<readonly string[]> {
  const all: StoredObject[] = [];
  for (const kind of ['record', 'value', 'aside'] as const)
    for await (const object of care.list(kind)) all.push(object);
  return all.map(({ kind, name }) => `${kind} ${name}`).toSorted();
}

/** The text of the session's newest run, once `runs` have ended. */
export async function endOf({ sessions }: Town, session: string, runs = 1): Promise<string> {
  const { last } = await until(async () => {
    const described = await sessions.describe(session);
    return (described.last?.run ?? 0) >= runs && described.phase === 'idle' ? described : null;
  });
  return last?.terminal.reason ?? '';
}

/** As a namespace does when its retention ends. */
export async function dropFromServer({ temporal: { client } }: Town, session: string): Promise<void> {
  const { namespace } = client.options;
  await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId: session } });
  await until(async () => {
    for await (const { workflowId } of client.workflow.list()) if (workflowId === session) return false;
    return true;
  });
}

/** So many days from now, for a cleaning. */
export const inDays = (days: number) => (): number => Date.now() + days * 24 * 3_600_000;
