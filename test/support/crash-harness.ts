// A scripted model in this process, workers in others, one workspace: what a crash test kills and
// what outlives it.
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { inject, onTestFinished } from 'vitest';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { bundlePath } from '../../worker/bundle.ts';
import { startScriptedModel, type ParsedRequest, type ScriptedModelOptions } from '../../scripted-model/index.ts';
import { UPDATES, type HandoverLimits, type RunOptions } from '../../workflows/contract/session.ts';
import { NotYet, patience, callUntilAnswered } from '../../client/sessions/persist.ts';
import { chainOf } from './chain.ts';
import { follower } from './follower.ts';
import { fastBackoff, liveText, openSession, type OpenSession } from './harness.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { oneRuntime } from './one-runtime.ts';
import { tempDir } from './temp-dir.ts';
import { ONE_THREAD, type ProcessSettings, workerProcess } from './worker-process.ts';

export type CrashOptions = {
  readonly script: ScriptedModelOptions['script'];
  /** The tier's server unless given. */
  readonly address?: string;
  readonly handover?: HandoverLimits;
  /** Of all workers; it crosses as JSON. */
  readonly config?: PerdureConfig;
  /** A module whose default export is the configuration, instead of `config`. */
  readonly configFile?: string;
  /**
   * Workers run workflows in a thread of their own, as in the product: where much is to be done at
   * once.
   */
  readonly ownThread?: true;
};

export async function crashHarness(options: CrashOptions) {
  const { script, address = inject('temporalAddress'), handover, config, configFile } = options;
  oneRuntime();
  const model = await startScriptedModel({ script });
  onTestFinished(() => model.close());
  const root = tempDir();
  const folders = { cwd: join(root, 'workspace'), storePlace: join(root, 'store'), liveDir: join(root, 'live') };
  const dataDir = join(root, 'data');
  mkdirSync(folders.cwd);
  const taskQueue = `crash-${randomUUID()}`;
  const connect = async (): Promise<Client> => {
    const connection = await Connection.connect({ address });
    onTestFinished(() => connection.close());
    return new Client({ connection });
  };
  const client = await connect();
  /**
   * Whole lines of a file in the workspace: there is a moment in which whoever writes the first has
   * made the file, and no more.
   */
  const lines = (file: string): readonly string[] => {
    const path = join(folders.cwd, file);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  };
  return {
    ...folders,
    dataDir,
    model,
    client,
    taskQueue,
    bodies: () => model.requests.map((request) => request.body as ParsedRequest),
    /** All live files of a session, as text. */
    liveText: (session: SessionId): string => liveText(join(folders.liveDir, session)),
    /** Follows the session's first run, from now on. */
    follow: (session: OpenSession) => follower({ client, ...folders }, session.id),
    open: (text: string, run: Partial<RunOptions> = {}, own = handover) =>
      openSession({ client, taskQueue, folders, handover: own }, text, run),
    worker: (more: Pick<ProcessSettings, 'deployment'> = {}) =>
      workerProcess({
        ...more,
        address,
        namespace: 'default',
        ...folders,
        dataDir,
        taskQueue,
        env: { PATH: process.env.PATH, ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url },
        defaults: { backoff: fastBackoff, permissionMode: 'bypass' },
        config: { snapshots: false, ...config },
        ...(configFile === undefined ? {} : { configFile }),
        processEnv: options.ownThread ? {} : ONE_THREAD,
      }),
    lines,
    /** Lines that effects left in the workspace. */
    effects: () => lines('effects.log'),
  };
}

/**
 * Decides as the client does, however long a busy machine takes: a session whose task failed
 * refuses updates until another worker has taken it. The answer is applied once for each question.
 */
export async function decidePatiently(
  client: Client,
  session: OpenSession,
  decision: 'approve' | 'deny' | 'answer',
  answer: { readonly call: string; readonly inputHash?: string; readonly [more: string]: unknown },
): Promise<void> {
  const asked = { args: [answer] as [unknown], updateId: `${session.id} ${answer.call} ${answer.inputHash}` };
  const decide = async (): Promise<void> => {
    try {
      await session.handle.executeUpdate<void, [unknown]>(UPDATES[decision], asked);
    } catch (error) {
      // What a dead worker had taken is answered when another has it: the same update is asked for
      // again.
      throw error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ? new NotYet(error) : error;
    }
  };
  await callUntilAnswered(client, decision, decide, { ...patience, total: 240_000, oneCall: 20_000 });
}

let replayed: Promise<unknown> = Promise.resolve();

/**
 * Invariant: every run of the session's chain replays. Throws what a replay throws. One after the
 * other: a replay that ends shuts the SDK's runtime down when it holds nothing else, also under one
 * that is just being made.
 */
export function replays(client: Client, session: Pick<OpenSession, 'id' | 'handle'>): Promise<void> {
  const mine = replayed.then(() => replayChain(client, session));
  replayed = mine.catch(() => {});
  return mine;
}

async function replayChain(client: Client, session: Pick<OpenSession, 'id' | 'handle'>): Promise<void> {
  for await (const history of chainOf(client, session)) {
    await Worker.runReplayHistory({ workflowBundle: { codePath: bundlePath() } }, history, session.id);
  }
}
