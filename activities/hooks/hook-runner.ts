// Runs the hooks of a worker: those of a kind together or in order, and combines their answers into
// one verdict. A hook that fails is listed and changes nothing; one that is stopped counts as
// failed, and whatever stopped it knows why (L21, L30, L41).
import { join } from 'node:path';
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { AlertKind, StopHooksRan } from '../../workflows/contract/activities.ts';
import { createExitHandlers } from '../../system/process/kill-tree.ts';
import { findPlaces } from '../../system/process/places.ts';
import { findPrograms } from '../../system/process/programs.ts';
import { pipePlace, type PipePlace } from '../../system/process/pipes.ts';
import type {
  FailedHooks,
  HookContext,
  HookRunner,
  PostToolVerdict,
  PreToolVerdict,
  PromptVerdict,
  NotifiedHooks,
} from './hooks.ts';
import type { HookName, HookPayload } from './payloads.ts';
import type { Hook, HookConfig } from './hook-config.ts';
import {
  askBeforeTool,
  collectContexts,
  collectFailures,
  collectTexts,
  findStop,
  judgeStop,
  type RunOne,
} from './verdicts.ts';
import type { CommandHold } from './run-command.ts';
import { reasonOf } from '../../system/text.ts';
import { type HookEnd, nameHook, runHook } from './run-hook.ts';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';

type HookRunnerOptions = {
  /** The environment, of which commands get an allow-listed part. */
  readonly env: NodeJS.ProcessEnv;
  /** Absent: pipes lie in the temporary folder, and programs are those of the environment. */
  readonly pipes?: PipePlace;
  /** The folder of files for hooks, out of the agent's reach. */
  readonly folder: string;
  /** Holds commands that are to be held as the agent's are. */
  readonly hold?: CommandHold;
};

export function createHookRunner(config: HookConfig, options: HookRunnerOptions): HookRunner {
  return new ConfiguredHooks(config, options);
}

class ConfiguredHooks implements HookRunner {
  readonly deciding: readonly string[];
  readonly #config: HookConfig;
  readonly #folder: string;
  readonly #runOne: RunOne;
  readonly #unawaited = createUnawaitedHooks();

  constructor(config: HookConfig, options: HookRunnerOptions) {
    this.#config = config;
    this.#folder = options.folder;
    this.#runOne = createRunOne(options);
    this.deciding = [
      ...nameHooks('promptSubmitted', config.promptSubmitted),
      ...nameHooks('preTool', config.preTool),
      ...nameHooks('postTool', config.postTool),
      ...nameHooks('stop', config.stop),
      ...nameHooks('agentIdle', config.agentIdle),
    ];
  }

  has(name: HookName, tool?: string): boolean {
    return this.#find(name, tool === undefined ? {} : { tool }).length > 0;
  }

  async sessionStart(
    context: HookContext,
    started: HookPayload<'sessionStart'> = {},
  ): ReturnType<HookRunner['sessionStart']> {
    const results = await this.#runAll('sessionStart', context, started);
    return { context: collectContexts(results), failed: collectFailures(results) };
  }

  async promptSubmitted(context: HookContext, prompts: readonly string[]): Promise<PromptVerdict> {
    const results = await this.#runAll('promptSubmitted', context, { prompts });
    return { context: collectContexts(results), stop: findStop(results), failed: collectFailures(results) };
  }

  preTool(context: HookContext, { name, ...call }: Parameters<HookRunner['preTool']>[1]): Promise<PreToolVerdict> {
    return askBeforeTool(this.#find('preTool', { tool: name }), this.#runOne, context, { tool: name, ...call });
  }

  async postTool(
    context: HookContext,
    { name, ...call }: Parameters<HookRunner['postTool']>[1],
  ): Promise<PostToolVerdict> {
    const results = await this.#runAll('postTool', context, { tool: name, ...call });
    return { context: collectContexts(results), stop: findStop(results), failed: collectFailures(results) };
  }

  async postSampling(context: HookContext, message: Message): Promise<FailedHooks> {
    const tell = (signal: AbortSignal) => this.#runAll('postSampling', { ...context, signal }, { message });
    return { failed: collectFailures(await this.#unawaited.run(context.signal, tell)) };
  }

  async preCompact(context: HookContext, compaction: HookPayload<'preCompact'>): ReturnType<HookRunner['preCompact']> {
    const results = await this.#runAll('preCompact', context, compaction);
    return {
      instructions: collectTexts(results, ({ instructions }) => instructions),
      failed: collectFailures(results),
    };
  }

  async postCompact(context: HookContext, compaction: HookPayload<'postCompact'>): Promise<FailedHooks> {
    return { failed: collectFailures(await this.#runAll('postCompact', context, compaction)) };
  }

  stop(context: HookContext, reply: HookPayload<'stop'>, transcript = rejectTranscript): Promise<StopHooksRan> {
    const question = { one: this.#runOne, context, reply, transcript, folder: this.#folder };
    return askStopHooks(this.#config.stop ?? [], question);
  }

  async agentIdle(context: HookContext, idle: HookPayload<'agentIdle'>): Promise<StopHooksRan> {
    return judgeStop(await this.#runAll('agentIdle', context, idle));
  }

  async sessionEnd(context: HookContext): Promise<FailedHooks> {
    return { failed: collectFailures(await this.#runAll('sessionEnd', context, {})) };
  }

  async alert<Name extends AlertKind | 'silent'>(
    name: Name,
    context: HookContext,
    payload: HookPayload<Name>,
    notified: NotifiedHooks,
  ): Promise<FailedHooks> {
    const hooks = this.#find(name, payload).map((hook, at) => ({ hook, place: `${at} ${nameHook(hook)}` }));
    const results = hooks
      .filter(({ place }) => !notified.has(place))
      .map(async ({ hook, place }) => {
        const done = await this.#runOne(name, hook, context, payload);
        if (done.end.kind !== 'failed') notified.add(place);
        return done;
      });
    return { failed: collectFailures(await Promise.all(results)) };
  }

  close(): Promise<void> {
    return this.#unawaited.end();
  }

  /** Returns the hooks of a kind, without those that are about another tool. */
  #find<Name extends HookName>(name: Name, payload: unknown): readonly Hook<Name>[] {
    const hooks = this.#config[name] ?? [];
    const tool = (payload as { readonly tool?: string } | undefined)?.tool;
    if (tool === undefined) return hooks;
    return hooks.filter((hook) => typeof hook === 'function' || isAboutTool(hook.tools, tool));
  }

  #runAll<Name extends HookName>(name: Name, context: HookContext, payload: HookPayload<Name>) {
    return Promise.all(this.#find(name, payload).map((hook) => this.#runOne(name, hook, context, payload)));
  }
}

type StopQuestion = {
  readonly one: RunOne;
  readonly context: HookContext;
  readonly reply: HookPayload<'stop'>;
  readonly transcript: () => Promise<string>;
  readonly folder: string;
};

/** Runs the stop hooks. A hook whose transcript cannot be written has failed. */
async function askStopHooks(hooks: readonly Hook<'stop'>[], stopping: StopQuestion): Promise<StopHooksRan> {
  const { one, context, reply, transcript, folder } = stopping;
  const run = (path?: string) => (hook: Hook<'stop'>) =>
    one('stop', hook, context, wantsTranscript(hook) && path !== undefined ? { ...reply, transcript: path } : reply);
  if (!hooks.some(wantsTranscript)) return judgeStop(await Promise.all(hooks.map(run())));
  const text = await transcript();
  try {
    const askAll = async (path: string) => await Promise.all(hooks.map(run(path)));
    return judgeStop(await withTranscript(folder, text, askAll));
  } catch (error) {
    const detail = `its transcript could not be written: ${reasonOf(error)}`;
    const results = hooks.map(async (hook) =>
      wantsTranscript(hook) ? { hook: nameHook(hook), end: { kind: 'failed' as const, detail } } : await run()(hook),
    );
    return judgeStop(await Promise.all(results));
  }
}

const rejectTranscript = (): Promise<never> => Promise.reject(new Error('there is no transcript here'));

const wantsTranscript = (hook: Hook<'stop'>): boolean => typeof hook !== 'function' && hook.transcript === true;

function nameHooks<Name extends HookName>(kind: Name, hooks: readonly Hook<Name>[] = []): readonly string[] {
  return hooks.map((hook) => `${kind} ${nameHook(hook)}`);
}

function createRunOne({ env, hold, pipes = pipePlace(findPrograms(env), undefined) }: HookRunnerOptions): RunOne {
  const exit = createExitHandlers(process);
  const apart = join(findPlaces(env).named[0], 'hooks');
  return async (name, hook, context, payload) => {
    const { session, queryId, depth, iteration, cwd, folders, querySource, signal, watch } = context;
    const called = nameHook(hook);
    watch?.({ type: 'start', hook: called });
    const more = { ...(folders && { folders }), ...(querySource && { querySource }) };
    const input = { hook: name, session, queryId, depth, iteration, cwd, ...more, ...payload };
    const end = await runHook(hook, { input, signal, env, hold, pipes, apart, atExit: exit });
    watch?.({ type: 'end', hook: called, result: describeHookEnd(end) });
    return { hook: called, end };
  };
}

function describeHookEnd(end: HookEnd<HookName>): string {
  if (end.kind === 'failed') return `failed: ${end.detail}`;
  return end.kind === 'refused' ? 'refused' : Object.keys(end.answer).join(', ') || 'ok';
}

/**
 * Tells whether a hook is about a tool, by name, `*` standing for any text. Absent names match
 * every tool.
 */
function isAboutTool(names: readonly string[] | undefined, tool: string): boolean {
  return names === undefined || names.some((name) => toPattern(name).test(tool));
}

function toPattern(name: string): RegExp {
  const parts = name.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

/** Milliseconds. Files that a killed worker left are removed once no hook can still read them. */
const LEFT_OVER_MS = 2 * 24 * 3_600_000;

/**
 * Writes the messages of a run as a file for the stop hooks that ask for it. It lies among
 * Perdure's data, where no command of the agent reaches it: a guard may judge by it. Gives `work`
 * the path of a file with the text, which is removed when `work` has ended. Rejects when it cannot
 * be written.
 */
async function withTranscript<Value>(
  folder: string,
  text: string,
  work: (path: string) => Promise<Value>,
): Promise<Value> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeLeftOver(folder, Date.now() - LEFT_OVER_MS);
  const path = join(folder, `${randomUUID()}.txt`);
  try {
    await writeFile(path, text, { mode: 0o600, flag: 'wx' });
    return await work(path);
  } finally {
    await rm(path, { force: true });
  }
}

async function removeLeftOver(folder: string, before: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    // Another worker may have removed it meanwhile.
    const found = await stat(path).catch(() => null);
    if (found !== null && found.mtimeMs < before) await rm(path, { force: true });
  }
}

// Runs hooks that no caller waits for (L21): they may outlive the step that told them, but not
// their worker.
type UnawaitedHooks = {
  /** Runs `tell` with a signal that is also aborted by `end`. */
  run<Told>(signal: AbortSignal, tell: (signal: AbortSignal) => Promise<Told>): Promise<Told>;
  /** Resolves when none runs. Hooks that come later are stopped before they run. */
  end(): Promise<void>;
};

function createUnawaitedHooks(): UnawaitedHooks {
  const running = new Map<AbortController, Promise<unknown>>();
  let hasEnded = false;
  return {
    async run(signal, tell) {
      // Each has a controller of its own: a listener on a signal that lives as long as the worker
      // would be kept as long.
      const end = new AbortController();
      if (hasEnded) end.abort();
      const pending = tell(AbortSignal.any([signal, end.signal]));
      running.set(end, pending);
      try {
        return await pending;
      } finally {
        running.delete(end);
      }
    },
    async end() {
      hasEnded = true;
      for (const end of running.keys()) end.abort();
      // The end of each is told to the caller of `run`.
      await Promise.allSettled(running.values());
    },
  };
}
