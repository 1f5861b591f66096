// A real worker, a scripted model and a workspace, on the tier's server. Sessions end with the
// test.
import { randomUUID } from 'node:crypto';
import { inject, onTestFinished } from 'vitest';
import { Client, Connection, type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { startWorker, type RunningWorker, type StartWorker } from '../../worker/start-worker.ts';
import { createClientConverter } from '../../connection/payloads/data-converter.ts';
import type { KeyRing } from '../../connection/payloads/key-ring.ts';
import {
  startScriptedModel,
  type ParsedRequest,
  type ScriptedModel,
  type ScriptedModelOptions,
} from '../../scripted-model/index.ts';
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import {
  MEMO_KEY,
  SIGNALS,
  WORKFLOW_TYPE,
  type HandoverLimits,
  type RunOptions,
  type RunSummary,
  type SessionInput,
  type SessionMemo,
  type UserMessage,
} from '../../workflows/contract/session.ts';
import type { SignalOnce } from '../../workflows/contract/steered.ts';
import { createClient } from '../../client/client.ts';
import { fileStore } from '../../store/values/file-store.ts';
import type { Entry } from '../../store/log/entries.ts';
import { loadView } from '../../store/view/view.ts';
import { join } from 'node:path';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { tempDir } from './temp-dir.ts';
import { oneRuntime } from './one-runtime.ts';
import { gatherChain } from './replay-histories.ts';
import { until } from './until.ts';

export type HarnessOptions = {
  readonly script: ScriptedModelOptions['script'];
  readonly worker?: Partial<StartWorker>;
  readonly handover?: HandoverLimits;
  /** How long a task of its sessions may take before it is done again. */
  readonly workflowTask?: '5s' | '1 minute';
  /** Beside what its workers need. */
  readonly env?: Readonly<Record<string, string>>;
  /** Of a server of the test's own. */
  readonly address?: string;
  /**
   * Payloads are sealed with these, as on the embedded server of a data folder; plain without, so
   * that histories can be kept.
   */
  readonly keys?: KeyRing;
};

export async function harness(options: HarnessOptions) {
  const model = await startScriptedModel({ script: options.script });
  onTestFinished(() => model.close());
  return harnessOn(model, options);
}

export type Harness = Awaited<ReturnType<typeof harnessOn>>;

async function harnessOn(
  model: ScriptedModel,
  { worker: settings, handover, keys, env: more, workflowTask, address = inject('temporalAddress') }: HarnessOptions,
) {
  oneRuntime();
  const root = tempDir();
  const folders = { cwd: join(root, 'workspace'), storePlace: join(root, 'store'), liveDir: join(root, 'live') };
  mkdirSync(folders.cwd);
  const taskQueue = `test-${randomUUID()}`;
  const own = { PATH: process.env.PATH, ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url };
  const env = { ...own, ...more };
  const maxCachedWorkflows = inject('maxCachedWorkflows');
  const start = (other: Partial<StartWorker> = {}): Promise<RunningWorker> =>
    startWorker({
      address,
      namespace: 'default',
      ...(keys && { keys }),
      ...folders,
      dataDir: join(root, 'data'),
      env,
      log: () => {},
      taskQueue,
      ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }),
      ...settings,
      ...other,
      // Tests that are about captured files ask for them.
      config: { snapshots: false, ...(other.config ?? settings?.config) },
      defaults: { backoff: fastBackoff, permissionMode: 'bypass', ...settings?.defaults },
    });
  const worker = await start();
  onTestFinished(() => worker.stop());
  const client = new Client({
    connection: await Connection.connect({ address }),
    dataConverter: createClientConverter(keys),
  });
  onTestFinished(() => client.connection.close());
  return {
    ...folders,
    model,
    client,
    taskQueue,
    worker,
    startWorker: start,
    /** The bodies of the requests that the model server answered, in order. */
    bodies: () => model.requests.map((request) => request.body as ParsedRequest),
    /** When request `n` (from 0) arrived, in milliseconds since the epoch. */
    requestedAt: (n: number): number => model.requests[n]?.at ?? Number.NaN,
    /** All live files of a session, as text. */
    liveText: (session: SessionId): string => liveText(join(folders.liveDir, session)),
    open: (text: string, run: SessionOptions = {}, message: Partial<UserMessage> = {}) =>
      openSession({ client, taskQueue, folders, handover, workflowTask, ...(keys && { keys }) }, text, run, message),
  };
}

export function liveText(folder: string): string {
  if (!existsSync(folder)) return '';
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('');
}

/** Retries as L14, a thousand times faster. */
export const fastBackoff = { maxRetries: 10, firstMs: 1, maxMs: 20, parkOverMs: 60_000 };

export type Where = {
  readonly client: Client;
  readonly taskQueue: string;
  readonly folders: { readonly cwd: string; readonly storePlace: string };
  readonly handover: HandoverLimits | undefined;
  readonly workflowTask?: HarnessOptions['workflowTask'] | undefined;
  readonly keys?: KeyRing;
};

export type OpenSession = Awaited<ReturnType<typeof openSession>>;

/** Options of a run, which may name the session. */
type SessionOptions = Partial<RunOptions> | ((session: SessionId) => Partial<RunOptions>);

export async function openSession(
  { client, taskQueue, folders, handover, workflowTask, keys }: Where,
  text: string,
  options: SessionOptions,
  message: Partial<UserMessage> = {},
) {
  const id = `t-${randomUUID()}` as SessionId;
  const input: SessionInput = {
    options: { cwd: folders.cwd, ...(typeof options === 'function' ? options(id) : options) },
    title: text.slice(0, 120),
    visibility: true,
    attributes: true,
    ...(handover ? { handover } : {}),
    ...(keys ? { sealed: true } : {}),
  };
  const handle = await client.workflow.signalWithStart(WORKFLOW_TYPE, {
    workflowId: id,
    taskQueue,
    args: [input],
    signal: SIGNALS.message,
    signalArgs: [{ ...userMessage(text), ...message }],
    workflowTaskTimeout: workflowTask ?? '5s',
  });
  const handleOfChain: WorkflowHandle = client.workflow.getHandle(handle.workflowId);
  onTestFinished(async () => {
    await endSession(handleOfChain);
    if (inject('replays') && !keys) await gatherChain(client, { id, handle: handleOfChain });
  });
  const memo = async (): Promise<SessionMemo | undefined> =>
    (await handleOfChain.describe()).memo?.[MEMO_KEY] as SessionMemo | undefined;
  const entries = async (): Promise<readonly Entry[]> =>
    (await loadView(fileStore({ dir: folders.storePlace }), id, (await memo())?.head ?? null)).entries;
  const ended = async (run: number): Promise<Omit<RunSummary, 'head'>> => {
    const last = await until(async () => {
      const summary = (await memo())?.last;
      return summary && summary.run >= run ? summary : null;
    });
    if (last.run === run) return last;
    const found = (await entries()).find((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
    if (found?.kind !== 'run_ended') throw new Error(`the transcript has no end of run ${run}`);
    return found.ended;
  };
  return {
    id,
    handle: handleOfChain,
    memo,
    /** The summary of run `run`, once it ended. */
    ended,
    send: (body: string, more: Partial<UserMessage> = {}) =>
      handleOfChain.signal(SIGNALS.message, { ...userMessage(body), ...more }),
    interrupt: () => handleOfChain.signal(SIGNALS.interrupt, once('interrupt')),
    /** Why the newest activity's last attempt failed, once one has. */
    lastFailure: async (): Promise<string | undefined> => {
      const [activity] = (await handleOfChain.describe()).raw.pendingActivities ?? [];
      const { namespace, loadedDataConverter } = client.options;
      const activityId = activity?.activityId ?? '';
      const context = { type: 'activity', namespace, workflowId: id, activityId, isLocal: false } as const;
      return (await decodeOptionalFailureToOptionalError(loadedDataConverter, activity?.lastFailure, context))?.message;
    },
    resume: () => handleOfChain.signal(SIGNALS.resume, once('resume')),
    /** Everything stored up to the session's last change of phase. */
    entries,
  };
}

export function once(signal: SignalOnce['signal']): SignalOnce {
  return { signal, id: randomUUID() };
}

export function userMessage(text: string): UserMessage {
  return { id: randomUUID() as MessageId, body: { kind: 'text', text } };
}

/** A session may close by itself before it is terminated; any other failure is the test's. */
export async function endSession(handle: WorkflowHandle): Promise<void> {
  const { status } = await handle.describe();
  if (status.name !== 'RUNNING') return;
  await handle.terminate('the test is over').catch((error: unknown) => {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  });
}

/**
 * A client on the harness's store; nothing is told live. `taskQueue`: it asks for the workers of
 * this one.
 */
export const clientOf = ({ client, storePlace }: Harness, taskQueue?: string) =>
  createClient({
    temporal: client,
    ...(taskQueue === undefined ? {} : { taskQueue }),
    store: fileStore({ dir: storePlace }),
    live: async function* () {},
    visibility: () => Promise.resolve(true),
  });
