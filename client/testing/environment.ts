// Starts a Temporal server, a worker and a scripted model in one line and removes them in another,
// to test an agent for real.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import proto from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { bundlePath } from '../../worker/bundle.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { openWorker } from '../../worker/open-worker.ts';
import { createWorkerConverter } from '../../connection/payloads/data-converter.ts';
import { openKeyRing, type KeyRing } from '../../connection/payloads/key-ring.ts';
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from '../../scripted-model/index.ts';
import { workflowTime } from '../../worker/workflow-tasks.ts';
import type { PerdureClient } from '../perdure-client.ts';
import { openWholeServer } from '../runtime/open-server.ts';
import type { RunOutcome } from '../sessions/outcome.ts';
import type { StartOptions } from '../sessions/start.ts';

export type TestEnvironmentOptions = {
  readonly script: ScriptedModelOptions['script'];
  /** Owner of the key; a newcomer unless given. */
  readonly account?: ScriptedModelOptions['account'];
  /** Configuration of the worker. */
  readonly config?: PerdureConfig;
};

export type TestEnvironment = {
  readonly sessions: PerdureClient;
  readonly model: ScriptedModel;
  /** Default workspace of runs. */
  readonly cwd: string;
  /** Runs the prompt in a new session and resolves at its end, however the run ends. */
  run(prompt: string, options?: StartOptions): Promise<RunOutcome>;
  /**
   * Replays the session's newest history. Throws when the installed workflow would act differently.
   */
  replay(session: string): Promise<void>;
  /** Ends everything and removes what it stored. */
  close(): Promise<void>;
};

const { History } = proto.temporal.api.history.v1;

const QUEUE = 'testing';

/**
 * Starts a test environment in a second or two; the first ever downloads the server's binary.
 * Throws ConfigProblem and SetupProblem.
 */
export async function testEnvironment({ script, account, config }: TestEnvironmentOptions): Promise<TestEnvironment> {
  const root = mkdtempSync(join(tmpdir(), 'perdure-testing-'));
  const cwd = join(root, 'workspace');
  mkdirSync(cwd);
  const closing: (() => Promise<void>)[] = [async () => rmSync(root, { recursive: true, force: true, maxRetries: 3 })];
  const close = async (): Promise<void> => {
    for (let next = closing.pop(); next; next = closing.pop()) await next();
  };
  try {
    const model = await startScriptedModel({ script, ...(account && { account }) });
    closing.push(() => model.close());
    const { PATH, HOME, XDG_CACHE_HOME } = process.env;
    const own = { PERDURE_DATA: join(root, 'data'), ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url };
    const env = { PATH, HOME, XDG_CACHE_HOME, ...own };
    const opened = await openWholeServer({ env, taskQueue: QUEUE });
    closing.push(() => opened.close());
    const worker = await openWorker({ env, taskQueue: QUEUE, log: () => undefined, ...(config && { config }) });
    closing.push(() => worker.stop());
    const { sessions, temporal, target } = opened;
    const run = async (prompt: string, options: StartOptions = {}): Promise<RunOutcome> => {
      const { session, messageId } = await sessions.start(prompt, { cwd, ...options });
      for await (const event of sessions.follow(session, { messageId })) if (event.type === 'result') return event;
      throw new Error(`the events of session ${session} ended without a result`);
    };
    const replaySession = async (session: string): Promise<void> => {
      const history = await temporal.client.workflow.getHandle(session).fetchHistory();
      await replayWith(target.keys, history, session);
    };
    return { sessions, model, cwd, run, replay: replaySession, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export type ReplayOptions = {
  /** Id of the session, needed when payloads are sealed. */
  readonly session?: string;
  /**
   * Key file for sealed payloads (`keys.json` of the data folder, PERDURE_CODEC_KEYS). Absent:
   * payloads are plain.
   */
  readonly keyFile?: string;
};

/**
 * Replays a session's history with the installed workflow. `history` is the result of
 * `handle.fetchHistory()` of a Temporal client, also as JSON. Throws when the workflow would act
 * differently, and SetupProblem for an unusable key file.
 */
export async function replay(history: unknown, { session, keyFile }: ReplayOptions = {}): Promise<void> {
  const keys = keyFile === undefined ? undefined : openKeyRing(keyFile, `there is no key file ${keyFile}`);
  await replayWith(keys, isJson(history) ? History.fromObject(history) : history, session);
}

/**
 * Recognizes JSON that `JSON.stringify` wrote, where numbers of 64 bits are texts. Temporal's own
 * tools write times as texts too; the SDK reads those.
 */
function isJson(history: unknown): history is object {
  const { events } = (history ?? {}) as { readonly events?: readonly Partial<Record<string, unknown>>[] };
  const [first] = events ?? [];
  return typeof first?.['eventId'] === 'string' && typeof first['eventTime'] !== 'string';
}

async function replayWith(keys: KeyRing | undefined, history: unknown, session: string | undefined): Promise<void> {
  const dataConverter = createWorkerConverter(keys, () => undefined);
  const bundle = { workflowBundle: { codePath: bundlePath() }, dataConverter };
  await Worker.runReplayHistory({ ...workflowTime, ...bundle }, history, session);
}
