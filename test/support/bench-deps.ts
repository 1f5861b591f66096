// Activities without a server: the real bodies on a memory store, a recorded live channel, and the
// scripted model over HTTP.
import { formatLog } from '../../system/log.ts';
import Anthropic from '@anthropic-ai/sdk';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { AbortedBy, Attempt } from '../../activities/attempt.ts';
import { callModel } from '../../activities/call-model.ts';
import { commit } from '../../activities/commit.ts';
import type { Deps, RunDefaults } from '../../activities/deps.ts';
import type { HookConfig } from '../../activities/hooks/hook-config.ts';
import { createHookRunner } from '../../activities/hooks/hook-runner.ts';
import type { LiveChannel, LiveEvent, LiveFate } from '../../store/live/events.ts';
import { anthropicModel } from '../../activities/model/stream/stream.ts';
import { openRun } from '../../activities/run/open-run.ts';
import { createConfigReader } from '../../store/configuration.ts';
import { runTool } from '../../activities/run-tool.ts';
import { readOutcome } from '../../activities/calls/journal.ts';
import { createRegistry } from '../../tools/registry.ts';
import { createCallRunner } from '../../activities/calls/call-runner.ts';
import { defineTool, type Tool } from '../../tools/tool.ts';
import { memoryStore } from './memory-store.ts';
import { WorkQueues } from '../../store/sandbox/queue.ts';
import { createTranscripts } from '../../store/transcript/transcripts.ts';
import type { Store } from '../../store/values/store.ts';
import { createModels } from '../../models/models.ts';
import { runDefaults } from '../../worker/config/defaults.ts';
import { startScriptedModel, type ScriptedModelOptions } from '../../scripted-model/index.ts';
import type { Append, CallModel } from '../../workflows/contract/activities.ts';
import { modelResultOf } from '../../workflows/contract/model-call.ts';
import type { Hash, MessageId, SessionId } from '../../workflows/contract/ids.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { tempDir } from './temp-dir.ts';

export const SESSION = 's-test' as SessionId;

const anything = z.record(z.string(), z.unknown());

/** Reads nothing, changes nothing. */
export const look = defineTool({
  name: 'look',
  description: 'Look.',
  inputSchema: anything,
  risk: 'read',
  recovery: 'rerun',
  call: () => Promise.resolve({ content: 'seen' }),
});

/** Counts its effects. */
export function touching(): { readonly tool: Tool; readonly effects: unknown[] } {
  const effects: unknown[] = [];
  const tool = defineTool({
    name: 'touch',
    description: 'Touch.',
    inputSchema: anything,
    risk: 'write',
    recovery: 'report',
    call: (input) => {
      effects.push(input);
      return Promise.resolve({ content: 'touched' });
    },
  });
  return { tool, effects };
}

export type LiveLines = (LiveEvent | LiveFate)[];

function recordedLive(): { readonly live: LiveChannel; readonly lines: LiveLines } {
  const lines: LiveLines = [];
  const live: LiveChannel = {
    open: () => {
      let ended = false;
      return {
        write: (event) => void lines.push(event),
        end(fate) {
          if (!ended) lines.push(fate);
          ended = true;
          return Promise.resolve();
        },
      };
    },
    forgetBefore: () => Promise.resolve(),
  };
  return { live, lines };
}

export type FakeAttempt = Attempt & { abort(by: AbortedBy): void };

/** `remembered` is what the attempt before it left. */
export function fakeAttempt(number = 1, remembered?: unknown): FakeAttempt & { left: unknown } {
  const controller = new AbortController();
  let by: AbortedBy | null = null;
  return {
    session: SESSION,
    number,
    signal: controller.signal,
    abortedBy: () => by,
    run: 'run',
    fence: () => Promise.resolve(true),
    remembered,
    left: remembered,
    remember(details) {
      this.left = details;
    },
    abort(why) {
      by = why;
      controller.abort();
    },
  };
}

export type BenchOptions = {
  readonly script: ScriptedModelOptions['script'];
  readonly keep?: ScriptedModelOptions['keep'];
  readonly tools?: readonly Tool[];
  readonly defaults?: Partial<RunDefaults>;
  readonly run?: Partial<RunOptions>;
  readonly store?: Store;
  readonly hooks?: HookConfig;
  readonly scripted?: boolean;
};

export async function benchDeps({
  script,
  keep,
  tools = [look],
  defaults,
  run,
  hooks = {},
  scripted = false,
  store = memoryStore(),
}: BenchOptions) {
  const model = await startScriptedModel({ script, ...(keep && { keep }) });
  onTestFinished(() => model.close());
  const { live, lines } = recordedLive();
  const warnings: string[] = [];
  const read: Parameters<typeof createTranscripts>[1] = async (session, key) =>
    (await readOutcome(store, { session, key }))?.outcome ?? null;
  const chosen: RunDefaults = {
    ...runDefaults,
    permissionMode: 'bypass',
    backoff: { maxRetries: 10, firstMs: 100, maxMs: 800, parkOverMs: 60_000 },
    ...defaults,
  };
  const deps: Deps = {
    store,
    live,
    transcripts: createTranscripts(store, read),
    config: createConfigReader(store),
    model: anthropicModel(new Anthropic({ apiKey: 'test', authToken: null, baseURL: model.url, logLevel: 'off' })),
    scripted,
    tools: createCallRunner(store, createRegistry(tools), createHookRunner(hooks, { env: {}, folder: '/nowhere' })),
    models: createModels({ model: chosen.model, configured: chosen.models, scripted }),
    defaults: chosen,
    work: new WorkQueues({ store, now: Date.now }),
    now: Date.now,
    random: () => 0,
    hooks: createHookRunner(hooks, { env: {}, folder: '/nowhere' }),
    attachments: { prefetch: () => undefined, collect: () => Promise.resolve([]) },
    afterStop: [],
    observe: () => {},
    log: (_, message, fields) => void warnings.push(formatLog(message, fields)),
    redact: (text) => text,
  };
  const cwd = tempDir();
  const opened = await openRun(deps)(fakeAttempt(), { chain: 'chain', run: 1, step: 1, options: { cwd, ...run } });
  if (opened.kind === 'refused') throw new Error(opened.detail);
  const input = (more: Partial<CallModel> = {}): CallModel => ({
    head: null,
    append: [prompt('Do it.')],
    config: opened.config,
    step: 2,
    iteration: 1,
    cap: opened.rules.models[more.model ?? 0]?.outputCap ?? 0,
    ...more,
  });
  return {
    deps,
    model,
    cwd,
    lines,
    warnings,
    opened,
    input,
    /** Calls of one worker, which remembers what it has found out. */
    caller: () => {
      const body = callModel(deps);
      return async (attempt: Attempt, more: Partial<CallModel>) => modelResultOf(await body(attempt, input(more)));
    },
    /** As the loop takes its answer. */
    call: async (attempt: Attempt = fakeAttempt(), more: Partial<CallModel> = {}) =>
      modelResultOf(await callModel(deps)(attempt, input(more))),
    tool: (attempt: Attempt, head: Hash, index: number) =>
      runTool(deps)(attempt, { head, config: opened.config, step: 3, iteration: 1, index }),
    commit: (head: Hash | null, append: readonly Append[]) => commit(deps)(fakeAttempt(), { head, append, step: 4 }),
    bodies: () => model.requests.map((request) => request.body),
    entries: async (head: Hash) => (await deps.transcripts.view(SESSION, head)).entries,
  };
}

export function prompt(text: string): Append {
  return { kind: 'user', id: `m-${text}` as MessageId, body: { kind: 'text', text } };
}
