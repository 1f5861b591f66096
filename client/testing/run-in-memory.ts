// Runs an agent once without a server or a worker, with the product's own loop, tools, rules and
// requests, and a scripted model.
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Deps, Summarizer } from '../../activities/deps.ts';
import type { Entry } from '../../store/log/entries.ts';
import { entriesOf } from '../../store/transcript/transcripts.ts';
import { defaultsOfConfig } from '../../worker/config/config-defaults.ts';
import { checkConfig, type PerdureConfig } from '../../worker/config/config.ts';
import { createDeps } from '../../worker/create-deps.ts';
import { openModelAccess } from '../../worker/model-access.ts';
import { startScriptedModel, type RecordedRequest, type ScriptedModelOptions } from '../../scripted-model/index.ts';
import { finalText } from '../../store/view/result.ts';
import type { MessageId, SessionId } from '../../workflows/contract/ids.ts';
import { present } from '../../workflows/contract/present.ts';
import type { TerminalReason } from '../../workflows/contract/loop.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { memoryLoop } from './memory-loop.ts';

export type InMemory = {
  readonly prompt: string;
  /** The model's replies, in order. */
  readonly script: ScriptedModelOptions['script'];
  /** Owner of the key; a newcomer unless given. */
  readonly account?: ScriptedModelOptions['account'];
  /** Configuration as in a file: tools, hooks, permissions, models. */
  readonly config?: PerdureConfig;
  /** Options of the run. Absent: mode `bypass`, in an empty folder that is removed afterwards. */
  readonly options?: Partial<RunOptions>;
  /** Parts of the loop that are put in the place of the product's own (L54). */
  readonly deps?: InMemoryDeps;
};

export type InMemoryDeps = {
  /** Makes the ids of the session and of its message. */
  readonly uuid?: () => string;
  /** Returns milliseconds since the epoch. */
  readonly now?: () => number;
  /**
   * Decides before each request which old results are shown as a marker from then on; null: no
   * more than already are (L8).
   */
  readonly microcompact?: (entries: readonly Entry[], now: number) => Extract<Entry, { kind: 'microcompact' }> | null;
  /** Makes the summary of a compaction; null: it fails (L10). */
  readonly autocompact?: Summarizer;
};

export type RanInMemory = {
  readonly reason: TerminalReason;
  /** Text of the final reply. */
  readonly text: string;
  readonly turns: number;
  /** The transcript. */
  readonly entries: readonly Entry[];
  /** Requests that the model received. */
  readonly requests: readonly RecordedRequest[];
};

/**
 * Runs the prompt to its end. Throws ConfigProblem, an Error for options that a run cannot open
 * with, and an Error for a call that asks for a decision, since no person can decide.
 */
export async function runInMemory(setup: InMemory): Promise<RanInMemory> {
  const { prompt, script, account, config = {}, options, deps: parts = {} } = setup;
  const { uuid = randomUUID } = parts;
  const checked = checkConfig(config, 'the configuration');
  const root = mkdtempSync(join(tmpdir(), 'perdure-testing-'));
  const cwd = join(root, 'workspace');
  mkdirSync(cwd);
  const model = await startScriptedModel({ script, ...(account && { account }) });
  const env = { PATH: process.env['PATH'], ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url };
  const access = await openModelAccess(env);
  const places = { storePlace: join(root, 'store'), liveDir: join(root, 'live'), dataDir: join(root, 'data') };
  const defaults = defaultsOfConfig(checked);
  const deps = await createDeps({
    snapshots: false,
    ...checked,
    ...places,
    env,
    access,
    defaults,
    log: () => undefined,
  });
  try {
    const run = await memoryLoop(withParts(deps, parts), {
      session: `t-${uuid()}` as SessionId,
      id: uuid() as MessageId,
      text: prompt,
      options: { cwd, permissionMode: 'bypass', ...options },
    });
    const { terminal, entries, state } = run;
    return { reason: terminal.reason, text: finalText(entries), turns: state.turn, entries, requests: model.requests };
  } finally {
    await deps.hooks.close();
    await deps.servers?.close();
    await deps.runServers?.close();
    await deps.background?.close();
    await access.close();
    await model.close();
    rmSync(root, { recursive: true, force: true });
  }
}

function withParts(deps: Deps, { now, microcompact, autocompact }: InMemoryDeps): Deps {
  const shrinkResults: Deps['transcripts']['shrinkResults'] = (extended, at) => {
    const shrunk = microcompact?.(entriesOf(extended), at);
    return shrunk ? { ...extended, added: [...extended.added, shrunk] } : extended;
  };
  const transcripts = microcompact ? { ...deps.transcripts, shrinkResults } : deps.transcripts;
  return { ...deps, transcripts, ...present({ now, autocompact }) };
}
