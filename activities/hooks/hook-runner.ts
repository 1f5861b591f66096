// The hooks of a worker, run: each kind's hooks together or in order, and what they answer made
// into one verdict. A hook that fails is listed and changes nothing; one that is stopped counts as
// failed, and whoever stopped it knows why (L21, L30, L41).
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StopHooksRan } from '../../workflows/contract/activities.ts';
import { createExitHandlers } from '../../system/process/at-exit.ts';
import { findPlaces } from '../../system/process/places.ts';
import { findPrograms } from '../../system/process/programs.ts';
import { pipePlace, type PipePlace } from '../../system/process/pipes.ts';
import type { Hook, HookConfig, HookPayload, HookContext, HookName, HookRunner } from './hooks.ts';
import {
  collectContexts,
  collectFailures,
  firstStop,
  collectTexts,
  type RunOne,
  askBeforeTool,
  stopVerdict,
} from './verdicts.ts';
import type { Hold } from './run-command.ts';
import { reasonOf } from '../../system/text.ts';
import { hookName, runHook, type HookEnd } from './run-hook.ts';

type HookRunnerOptions = {
  /** The environment, of which commands get an allow-listed part. */
  readonly env: NodeJS.ProcessEnv;
  /** Absent: in the temporary folder, with the programs of the environment. */
  readonly pipes?: PipePlace;
  /** Where files for hooks are written, out of the agent's reach. */
  readonly folder: string;
  /** For commands that are to be held as those of the agent are. */
  readonly hold?: Hold;
};

export function hookRunner(config: HookConfig, options: HookRunnerOptions): HookRunner {
  const one = runOne(options);
  const { folder } = options;
  const observers = unawaited();
  const all = <Name extends HookName>(name: Name, context: HookContext, payload: HookPayload<Name>) =>
    Promise.all(about(config, name, payload).map((hook) => one(name, hook, context, payload)));
  return {
    deciding: [
      ...named('promptSubmitted', config.promptSubmitted),
      ...named('preTool', config.preTool),
      ...named('postTool', config.postTool),
      ...named('stop', config.stop),
      ...named('agentIdle', config.agentIdle),
    ],
    has: (name, tool) => about(config, name, tool === undefined ? {} : { tool }).length > 0,
    async sessionStart(context, started = {}) {
      const ran = await all('sessionStart', context, started);
      return { context: collectContexts(ran), failed: collectFailures(ran) };
    },
    async promptSubmitted(context, prompts) {
      const ran = await all('promptSubmitted', context, { prompts });
      return { context: collectContexts(ran), stop: firstStop(ran), failed: collectFailures(ran) };
    },
    preTool: (context, { name, ...call }) =>
      askBeforeTool(about(config, 'preTool', { tool: name }), one, context, { tool: name, ...call }),
    async postTool(context, { name, ...call }) {
      const ran = await all('postTool', context, { tool: name, ...call });
      return { context: collectContexts(ran), stop: firstStop(ran), failed: collectFailures(ran) };
    },
    async postSampling(context, message) {
      const tell = (signal: AbortSignal) => all('postSampling', { ...context, signal }, { message });
      return { failed: collectFailures(await observers.run(context.signal, tell)) };
    },
    async preCompact(context, compaction) {
      const ran = await all('preCompact', context, compaction);
      return { instructions: collectTexts(ran, ({ instructions }) => instructions), failed: collectFailures(ran) };
    },
    async postCompact(context, compaction) {
      return { failed: collectFailures(await all('postCompact', context, compaction)) };
    },
    stop: (context, reply, transcript = noTranscript) =>
      stopHooks(config.stop ?? [], { one, context, reply, transcript, folder }),
    agentIdle: async (context, idle) => stopVerdict(await all('agentIdle', context, idle)),
    sessionEnd: async (context) => ({ failed: collectFailures(await all('sessionEnd', context, {})) }),
    async alert(name, context, payload, told) {
      const hooks = about(config, name, payload).map((hook, at) => ({ hook, place: `${at} ${hookName(hook)}` }));
      const ran = hooks
        .filter(({ place }) => !told.has(place))
        .map(async ({ hook, place }) => {
          const done = await one(name, hook, context, payload);
          if (done.end.kind !== 'failed') told.add(place);
          return done;
        });
      return { failed: collectFailures(await Promise.all(ran)) };
    },
    close: () => observers.end(),
  };
}

type Stopping = {
  readonly one: RunOne;
  readonly context: HookContext;
  readonly reply: HookPayload<'stop'>;
  readonly transcript: () => Promise<string>;
  readonly folder: string;
};

/** One that cannot be told what it asks for has failed. */
async function stopHooks(hooks: readonly Hook<'stop'>[], stopping: Stopping): Promise<StopHooksRan> {
  const { one, context, reply, transcript, folder } = stopping;
  const run = (path?: string) => (hook: Hook<'stop'>) =>
    one('stop', hook, context, wantsTranscript(hook) && path !== undefined ? { ...reply, transcript: path } : reply);
  if (!hooks.some(wantsTranscript)) return stopVerdict(await Promise.all(hooks.map(run())));
  const text = await transcript();
  try {
    const told = async (path: string) => await Promise.all(hooks.map(run(path)));
    return stopVerdict(await withTranscript(folder, text, told));
  } catch (error) {
    const detail = `its transcript could not be written: ${reasonOf(error)}`;
    const ran = hooks.map(async (hook) =>
      wantsTranscript(hook) ? { hook: hookName(hook), end: { kind: 'failed' as const, detail } } : await run()(hook),
    );
    return stopVerdict(await Promise.all(ran));
  }
}

const noTranscript = (): Promise<never> => Promise.reject(new Error('there is no transcript here'));

const wantsTranscript = (hook: Hook<'stop'>): boolean => typeof hook !== 'function' && hook.transcript === true;

function named<Name extends HookName>(kind: Name, hooks: readonly Hook<Name>[] = []): readonly string[] {
  return hooks.map((hook) => `${kind} ${hookName(hook)}`);
}

/** The hooks of a kind, those that are about another tool left out. */
function about<Name extends HookName>(config: HookConfig, name: Name, payload: unknown): readonly Hook<Name>[] {
  const hooks = config[name] ?? [];
  const tool = (payload as { readonly tool?: string } | undefined)?.tool;
  if (tool === undefined) return hooks;
  return hooks.filter((hook) => typeof hook === 'function' || matchesTool(hook.tools, tool));
}

function runOne({ env, hold, pipes = pipePlace(findPrograms(env), undefined) }: HookRunnerOptions): RunOne {
  const exit = createExitHandlers(process);
  const apart = join(findPlaces(env).named[0], 'hooks');
  return async (name, hook, context, payload) => {
    const { session, queryId, depth, iteration, cwd, folders, querySource, signal, watch } = context;
    const called = hookName(hook);
    watch?.({ type: 'start', hook: called });
    const more = { ...(folders && { folders }), ...(querySource && { querySource }) };
    const input = { hook: name, session, queryId, depth, iteration, cwd, ...more, ...payload };
    const end = await runHook(hook, { input, signal, env, hold, pipes, apart, atExit: exit });
    watch?.({ type: 'end', hook: called, result: inWords(end) });
    return { hook: called, end };
  };
}

function inWords(end: HookEnd<HookName>): string {
  if (end.kind === 'failed') return `failed: ${end.detail}`;
  return end.kind === 'refused' ? 'refused' : Object.keys(end.answer).join(', ') || 'ok';
}

// Hooks that nobody waits for (L21): they may outlive what told them, but not their worker.

type Unawaited = {
  /** `tell` gets a signal that is also aborted by `end`. */
  run<Told>(signal: AbortSignal, tell: (signal: AbortSignal) => Promise<Told>): Promise<Told>;
  /** Resolves when none runs. Those that come later are stopped before they run. */
  end(): Promise<void>;
};

function unawaited(): Unawaited {
  const running = new Map<AbortController, Promise<unknown>>();
  let ended = false;
  return {
    async run(signal, tell) {
      // One for each: what listens to a signal that lives as long as the worker would be kept as
      // long.
      const end = new AbortController();
      if (ended) end.abort();
      const told = tell(AbortSignal.any([signal, end.signal]));
      running.set(end, told);
      try {
        return await told;
      } finally {
        running.delete(end);
      }
    },
    async end() {
      ended = true;
      for (const end of running.keys()) end.abort();
      // How each ended is told to whoever runs it.
      await Promise.allSettled(running.values());
    },
  };
}

// Whether a hook is about a tool: by name, `*` standing for any text.

/** Absent names match every tool. */
function matchesTool(names: readonly string[] | undefined, tool: string): boolean {
  return names === undefined || names.some((name) => pattern(name).test(tool));
}

function pattern(name: string): RegExp {
  const parts = name.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

// The messages of a run as a file that stop hooks read, for those that ask for it. It lies among
// Perdure's data, where no command of the agent reaches it: a guard may judge by it.

/** What a killed worker left, once no hook can still read it. Milliseconds. */
const LEFT_OVER_MS = 2 * 24 * 3_600_000;

/**
 * Gives `work` the path of a file with the text, which is gone when it has ended. Rejects when it
 * cannot be written.
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
