// A Temporal server, a worker and a scripted model, up in one line and gone in one: an agent tested
// for real.
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
import { workflowTime } from '../../worker/workflow-time.ts';
import type { PerdureClient } from '../perdure-client.ts';
import { openServer } from '../runtime/open-server.ts';
import type { RunOutcome } from '../sessions/outcome.ts';
import type { StartOptions } from '../sessions/start.ts';

export type TestEnvironmentOptions = {
  readonly script: ScriptedModelOptions['script'];
  /** Whose key it is; a newcomer's unless given. */
  readonly account?: ScriptedModelOptions['account'];
  /** Of the worker. */
  readonly config?: PerdureConfig;
};

export type TestEnvironment = {
  readonly sessions: PerdureClient;
  readonly model: ScriptedModel;
  /** The workspace of runs that name none. */
  readonly cwd: string;
  /** Runs the prompt in a new session, to its end, whatever that is. */
  run(prompt: string, options?: StartOptions): Promise<RunOutcome>;
  /** Replays the session's newest history. Throws when what is installed would not do the same. */
  replay(session: string): Promise<void>;
  /** Ends all of it, and removes what it stored. */
  close(): Promise<void>;
};

const { History } = proto.temporal.api.history.v1;

const QUEUE = 'testing';

/**
 * Takes a second or two; the first ever gets the server's binary. Throws ConfigProblem and
 * SetupProblem.
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
    const opened = await openServer({ env, taskQueue: QUEUE });
    closing.push(() => opened.close());
    const worker = await openWorker({ env, taskQueue: QUEUE, log: () => undefined, ...(config && { config }) });
    closing.push(() => worker.stop());
    const { sessions, temporal, target } = opened;
    const run = async (prompt: string, options: StartOptions = {}): Promise<RunOutcome> => {
      const { session, messageId } = await sessions.start(prompt, { cwd, ...options });
      for await (const event of sessions.follow(session, { messageId })) if (event.type === 'result') return event;
      throw new Error(`the events of session ${session} ended without a result`);
    };
    const replayed = async (session: string): Promise<void> => {
      const history = await temporal.client.workflow.getHandle(session).fetchHistory();
      await replayWith(target.keys, history, session);
    };
    return { sessions, model, cwd, run, replay: replayed, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export type ReplayOptions = {
  /** The id of its session: needed where payloads are sealed. */
  readonly session?: string;
  /**
   * The key file (`keys.json` of the data folder, PERDURE_CODEC_KEYS) that its payloads are sealed
   * with. Absent: they are plain.
   */
  readonly keyFile?: string;
};

/**
 * Replays the history of a session with the workflow that is installed. Throws when that would not
 * do the same, and SetupProblem for a key file that cannot be used. `history`: what
 * `handle.fetchHistory()` of a Temporal client gives, also as JSON.
 */
export async function replay(history: unknown, { session, keyFile }: ReplayOptions = {}): Promise<void> {
  const keys = keyFile === undefined ? undefined : openKeyRing(keyFile, `there is no key file ${keyFile}`);
  await replayWith(keys, isJson(history) ? History.fromObject(history) : history, session);
}

/**
 * As `JSON.stringify` writes what was fetched: numbers of 64 bits are texts. Temporal's own tools
 * write times as texts too; the SDK reads those.
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
