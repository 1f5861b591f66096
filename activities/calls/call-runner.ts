// Binds the calls of replies to their runs: what a call needs from its run, the worker and the
// registry of tools. A bound call reports its traits to the machine, runs while the reply streams
// or under its claim, and shows itself to watchers.
import { createHash } from 'node:crypto';
import type { ToolContextState } from '../../workflows/contract/activities.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { present } from '../../workflows/contract/present.ts';
import type { ToolEnv } from '../../workflows/contract/tool-env.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { pickObservedRun, type Observe, type ToolCallSeen } from '../../store/live/observe.ts';
import { toolEndEvent } from '../../store/live/tell.ts';
import type { Store } from '../../store/values/store.ts';
import type { SeenByTools } from '../../store/view/seen-files.ts';
import { isDeeperThan, DEEPEST_INPUT } from '../../system/json.ts';
import { thisHost, type Host } from '../../system/process/kill-tree.ts';
import { copyForObservers } from '../../tools/observed-input.ts';
import { createAskPeople, withdrawQuestions } from '../../tools/people/ask-people.ts';
import { outsideKind } from '../../tools/outside-tools.ts';
import { hasPlainEnd } from '../../tools/plain-end.ts';
import type { RegistryOfRun, ToolRegistry } from '../../tools/registry.ts';
import { createGivenUpError, type Attempt, attemptSignal } from '../attempt.ts';
import type { HookRunner } from '../hooks/hooks.ts';
import {
  type ApprovalNeeded,
  CallContext,
  type DelegationNeeded,
  type EarlyRun,
  type MessageReader,
  type SmallModelOfCall,
  type VoidAttempt,
} from './call-context.ts';
import type {
  AskingStep,
  BoundCall,
  CallBlock,
  CallOutcome,
  CallPort,
  CallRunner,
  CallTraits,
  ClaimedCallOptions,
  EarlyCallOptions,
  CloseFailure,
} from './call-port.ts';
import { executeCall, executeEarly, type CallDone } from './execute.ts';
import { type CallSettings, planCall } from './prepare.ts';
import { runWithin } from '../../system/async.ts';
import { clip, reasonOf } from '../../system/text.ts';
import { isListed } from '../../tools/listed.ts';
import type { ClosedRun } from '../../tools/tool.ts';

type RunnerOptions = {
  readonly ofHost?: Store;
  readonly host?: Host;
  readonly observe?: Observe;
  /** The worker's own variables for tools; they are never stored. */
  readonly toolEnv?: ToolEnv;
  /** Runs are traced: tools are told which span they are a part of. */
  readonly traced?: boolean;
  /** Absent: no tool asks a model. */
  readonly small?: SmallModelFactory;
  readonly seenFiles?: SeenByTools;
  readonly readMessages?: MessageReader;
  /** Absent: all runs have the tools of `registry`. */
  readonly registryOf?: RegistryOfRun;
};

export function createCallRunner(
  store: Store,
  registry: ToolRegistry,
  hooks: HookRunner,
  {
    ofHost = store,
    host = thisHost(),
    observe,
    toolEnv,
    traced = false,
    small,
    seenFiles,
    readMessages,
    registryOf = () => registry,
  }: RunnerOptions = {},
): CallRunner {
  const ofWorker = { hooks, store, ofHost, host, traced, ...present({ seenFiles, readMessages }) };
  return {
    get definitions() {
      return registry.definitions();
    },
    definitionsOf: (run) => registryOf(run).definitions(),
    refresh: async (run) => await registryOf(run).refresh?.(),
    closeRun: (config, run) => closeTools(registryOf(config), config, run),
    bind(config, block, context) {
      const { session, queryId, depth, traceparent } = config;
      const environment = {
        ...pickSettings(config, context),
        ...ofWorker,
        registry: registryOf(config),
        env: { ...toolEnv, ...config.toolEnv },
        session,
        queryId,
        depth,
        ...(traceparent && { traceparent }),
      };
      return new CallInRun(new CallContext(environment, block, null), config, { observe, small });
    },
    copyInput: (run, { name, input }) => copyForObservers(registryOf(run).get(name), input),
  };
}

function pickSettings(
  { mode, permissions = {}, cwd, dir: first, folders, sessionFiles, tools, toolNames }: RunConfig,
  context: ToolContextState = {},
): CallSettings {
  const { cwd: dir = first, allowedTools, granted } = context;
  return {
    mode,
    permissions: granted ? { ...permissions, allow: [...(permissions.allow ?? []), ...granted] } : permissions,
    cwd,
    ...present({ folders, sessionFiles, tools, toolNames, dir, allowedTools }),
  };
}

/** Makes the small model for one call, in the call's own activity. */
export type SmallModelFactory = (
  config: RunConfig,
  attempt: Attempt,
  about: AskingStep & { readonly iteration: number },
) => SmallModelOfCall;

type WorkerMeans = {
  readonly observe?: Observe | undefined;
  /** Absent: no tool asks a model. */
  readonly small?: SmallModelFactory | undefined;
};

class CallInRun implements BoundCall {
  readonly #call: CallContext;
  readonly #config: RunConfig;
  readonly #worker: WorkerMeans;

  constructor(call: CallContext, config: RunConfig, worker: WorkerMeans) {
    this.#call = call;
    this.#config = config;
    this.#worker = worker;
  }

  traits(): CallTraits {
    const { environment, block, name } = this.#call;
    const { hooks } = environment;
    const { maxBudgetUsd, maxTokens, waitsAtBudget } = this.#config.rules;
    const prepared = this.#call.prepareOwn();
    const ready = prepared.kind === 'ready';
    // A call whose name or input keeps it from running changes nothing.
    const safe = !ready || prepared.safe;
    const budgeted = maxBudgetUsd !== null || maxTokens !== null || waitsAtBudget === true;
    const hasPostHook = hooks.has('postTool', name);
    const plan = planCall(prepared, { hasPreHook: hooks.has('preTool', name), hasPostHook, budgeted });
    const plainEnd = ready && hasPlainEnd(prepared.tool) && !hasPostHook;
    const verdict = ready ? prepared.permission.kind : 'deny';
    const outside = ready ? outsideKind(prepared.tool) : undefined;
    return { safe, plan, signature: hashCall(block), plainEnd, judged: verdict, ...present({ outside }) };
  }

  async runEarly(options: EarlyCallOptions): Promise<CallOutcome | null> {
    const call = this.#call;
    call.prepareOwn();
    const done = await this.#watch(options, { early: true }, (watching) =>
      executeEarly(call.begin({ ...options, ...watching })),
    );
    return done.kind === 'done' ? this.#rememberSeen(done) : null;
  }

  async runClaimed(attempt: Attempt, options: ClaimedCallOptions): ReturnType<BoundCall['runClaimed']> {
    const { key, safe, decision, givenUp, delegated, plain = false, asking, fresh = false, iteration, say } = options;
    const call = this.#call;
    const { environment, name } = call;
    const { registry, store } = environment;
    const signal = attemptSignal(attempt);
    await registry.arrive?.(name, signal);
    const asksPeople = asking && registry.get(name)?.asksPeople;
    const { fence, isOver } = attempt;
    const run = {
      key,
      safe,
      fresh,
      plain,
      mayHaveBegun: options.mayHaveBegun === true || attempt.number > 1,
      signal,
      fence,
      ...present({
        decision,
        givenUp,
        delegated,
        isOver,
        small: asking && this.#worker.small?.(this.#config, attempt, { ...asking, iteration }),
        askPeople: asksPeople ? await findPeople(store, this.#config, attempt, key) : undefined,
      }),
    };
    const done = await this.#watch({ iteration, say }, { early: false, attempt }, (watching) =>
      executeCall(call.begin({ ...watching, ...run, id: key })),
    );
    if (done.kind === 'ask') return { ask: done.ask };
    if (done.kind === 'delegate') return { delegate: done.delegation };
    if (done.kind === 'done') return this.#rememberSeen(done);
    throw createGivenUpError(attempt, `the attempt of ${name}`);
  }

  #rememberSeen({ outcome, facts }: CallDone): CallOutcome {
    const { session, seenFiles } = this.#call.environment;
    seenFiles?.add(session, outcome.seen ?? []);
    return { outcome, facts };
  }

  /**
   * Shows the call to watchers once something of it begins; a call that waits for a decision has
   * not begun.
   */
  async #watch<End extends CallDone | VoidAttempt | ApprovalNeeded | DelegationNeeded>(
    { iteration, say }: CallPort,
    { early, attempt }: { readonly early: boolean; readonly attempt?: Attempt },
    run: (watching: WatchedRun) => Promise<End>,
  ): Promise<End> {
    const { index, name } = this.#call.block;
    let hasBegun = false;
    const began = { at: Date.now(), tick: performance.now() };
    const begins = (): void => {
      if (!hasBegun) say({ type: 'tool_start', iteration, index, name, early });
      hasBegun = true;
    };
    const progress = (text: string): void => say({ type: 'tool_progress', iteration, index, text });
    const done = await run({ iteration, begins, progress, say });
    if (done.kind !== 'done') return done;
    // A call that was found recorded, or was refused, began nothing; one that ran before a person
    // was asked about it did.
    const { outcome } = done.outcome.log;
    if (hasBegun || outcome === 'not_run')
      this.#observe({ at: began.at, ms: performance.now() - began.tick, outcome }, iteration, attempt);
    begins();
    say(toolEndEvent(iteration, done.outcome));
    return done;
  }

  #observe(end: Pick<ToolCallSeen, 'at' | 'ms' | 'outcome'>, iteration: number, attempt?: Attempt): void {
    const { environment, block } = this.#call;
    const { name, id: callId } = block;
    const about = { ...pickObservedRun(this.#config), iteration, ...(attempt && { attempt: attempt.number }) };
    const tool = environment.registry.get(name) ? name : 'unknown';
    this.#worker.observe?.({ kind: 'tool_call', about, tool, callId, ...end });
  }
}

type WatchedRun = Pick<EarlyRun, 'iteration' | 'begins' | 'progress' | 'say'>;

/**
 * Lets a call ask people, except in mode `dontAsk`. Questions of an earlier attempt are withdrawn:
 * they would be answered in vain.
 */
async function findPeople(store: Store, { mode }: RunConfig, { people, number }: Attempt, key: CallKey) {
  if (!people || mode === 'dontAsk') return undefined;
  if (number > 1) await withdrawQuestions(people, key);
  return createAskPeople(people, store, key);
}

/**
 * Hashes a call so that the same call made again is recognised (L34). The hash is short because it
 * is part of every call's facts in the history.
 */
function hashCall({ name, input }: CallBlock): string {
  // An input too deep for any tool is too deep for JSON.stringify, and one such call is as good as
  // another.
  const hashed = isDeeperThan(input, DEEPEST_INPUT) ? null : input;
  return createHash('sha256')
    .update(JSON.stringify([name, hashed]))
    .digest('base64url')
    .slice(0, 12);
}

/** Milliseconds. The end of the run waits for the tools this long. */
const CLOSE_MS = 5_000;

/** Closes the tools that the run was offered, all at once. Never throws. */
export async function closeTools(
  registry: ToolRegistry,
  { tools }: Pick<RunConfig, 'tools'>,
  run: ClosedRun,
  ms = CLOSE_MS,
): Promise<readonly CloseFailure[]> {
  const offered = registry.definitions().filter(({ name }) => isListed(tools, name));
  const closing = offered.map(async ({ name }): Promise<readonly CloseFailure[]> => {
    const tool = registry.get(name);
    if (tool?.close === undefined) return [];
    try {
      await runWithin(ms, run.signal, (signal) => tool.close?.({ ...run, signal }));
      return [];
    } catch (error) {
      return [{ tool: name, detail: clip(reasonOf(error)) }];
    }
  });
  return (await Promise.all(closing)).flat();
}
