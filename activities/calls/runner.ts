// Joins the loop's calls to the executor: traits for the machine, early runs while a reply streams,
// claimed runs as activities, and the events that watchers see of each.
import { createHash } from 'node:crypto';
import type { ToolContextState } from '../../workflows/contract/activities.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { describeGivenUp, type Attempt } from '../attempt.ts';
import type { AskingStep, CallPort, CallRunner, CallBlock, CallOutcome } from './call-port.ts';
import type { HookRunner } from '../hooks/hooks.ts';
import { thisHost, type Host } from '../../system/process/host.ts';
import { toolEnd } from '../../store/live/retell.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { ToolEnv } from '../../workflows/contract/tool-env.ts';
import { pickObservedRun, type Observe, type ToolCallSeen } from '../../store/live/observe.ts';
import { createAskPeople, withdrawQuestions } from '../../tools/people/ask-people.ts';
import type { Store } from '../../store/values/store.ts';
import type { SeenByTools } from '../../store/view/seen-files.ts';
import { isDeeperThan, DEEPEST_INPUT } from '../../system/json.ts';
import { present } from '../../workflows/contract/present.ts';
import { executeCall, executeEarly, type CallDone } from './execute.ts';
import { copyForObservers } from '../../tools/observed-input.ts';
import { planCall, prepareCall, type CallSettings } from './prepare.ts';
import { closeTools } from './close-tools.ts';
import { hasPlainEnd } from '../../tools/plain-end.ts';
import type { ToolRegistry } from '../../tools/registry.ts';
import type {
  ApprovalNeeded,
  CallRequest,
  SmallModelOfCall,
  EarlyRun,
  DelegationNeeded,
  VoidAttempt,
  CallEnvironment,
} from './call-environment.ts';
import { attemptSignal } from './attempt-signal.ts';

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
  readonly seen?: SeenByTools;
};

/** Makes the small model for one call, in the call's own activity. */
export type SmallModelFactory = (
  config: RunConfig,
  attempt: Attempt,
  about: AskingStep & { readonly iteration: number },
) => SmallModelOfCall;

export function createCallRunner(
  store: Store,
  registry: ToolRegistry,
  hooks: HookRunner,
  {
    ofHost = store,
    host = thisHost(),
    observe = () => {},
    toolEnv = {},
    traced = false,
    small,
    seen: files,
  }: RunnerOptions = {},
): CallRunner {
  const environmentOf = (config: RunConfig, context: ToolContextState | undefined): CallEnvironment => {
    const { session, queryId, depth, traceparent } = config;
    const env = { ...toolEnv, ...config.toolEnv };
    const run = { session, queryId, depth, traced, ...(traceparent && { traceparent }) };
    return {
      ...pickSettings(config, context),
      registry,
      hooks,
      store,
      ofHost,
      host,
      env,
      ...(files && { seen: files }),
      ...run,
    };
  };
  const rememberSeen = ({ session }: RunConfig, { outcome, facts }: CallDone): CallOutcome => {
    files?.add(session, outcome.seen ?? []);
    return { outcome, facts };
  };
  const observerOf = (
    config: RunConfig,
    { name, id: callId }: CallBlock,
    { iteration }: CallPort,
    attempt?: Attempt,
  ): CallObserver => {
    const number = attempt ? { attempt: attempt.number } : {};
    const about = { ...pickObservedRun(config), iteration, ...number };
    const tool = registry.get(name) ? name : 'unknown';
    return (ended) => observe({ kind: 'tool_call', about, tool, callId, ...ended });
  };
  return {
    get definitions() {
      return registry.definitions();
    },
    refresh: async () => await registry.refresh?.(),
    closeRun: (config, run) => closeTools(registry, config, run),
    traits(config, call, context) {
      const prepared = prepareCall(registry, pickSettings(config, context), call);
      const ready = prepared.kind === 'ready';
      // A call whose name or input keeps it from running changes nothing.
      const safe = !ready || prepared.safe;
      const { maxBudgetUsd, maxTokens } = config.rules;
      const budgeted = maxBudgetUsd !== null || maxTokens !== null;
      const plan = planCall(prepared, { hooked: hooks.has('preTool', call.name), budgeted });
      const plainEnd = ready && hasPlainEnd(prepared.tool) && !hooks.has('postTool', call.name);
      return { safe, plan, signature: hashCall(call), plainEnd };
    },
    copyInput: ({ name, input }) => copyForObservers(registry.get(name), input),
    async runEarly(config, call, id, port, context) {
      const seen = observerOf(config, call, port);
      const done = await watchCall(call, { ...port, seen }, true, (watching) =>
        executeEarly(environmentOf(config, context), toRequest(call), { ...watching, id, signal: port.signal }),
      );
      return done.kind === 'done' ? rememberSeen(config, done) : null;
    },
    async runClaimed(config, call, key, attempt, port, given) {
      const { safe, context, decision, delegated, plain = false, asking, fresh = false } = given;
      const mayHaveBegun = given.mayHaveBegun === true || attempt.number > 1;
      const signal = attemptSignal(attempt);
      await registry.arrive?.(call.name, signal);
      const asksPeople = asking && registry.get(call.name)?.asksPeople;
      const { fence, isOver } = attempt;
      const run = {
        key,
        safe,
        fresh,
        plain,
        mayHaveBegun,
        signal,
        fence,
        ...present({
          decision,
          delegated,
          isOver,
          small: asking && small?.(config, attempt, { ...asking, iteration: port.iteration }),
          askPeople: asksPeople ? await findPeople(store, config, attempt, key) : undefined,
        }),
      };
      const seen = observerOf(config, call, port, attempt);
      const done = await watchCall(call, { ...port, seen }, false, (watching) =>
        executeCall(environmentOf(config, context), toRequest(call), { ...watching, ...run }),
      );
      if (done.kind === 'ask') return { ask: done.ask };
      if (done.kind === 'delegate') return { delegate: done.delegation };
      if (done.kind === 'done') return rememberSeen(config, done);
      throw describeGivenUp(attempt, `the attempt of ${call.name}`);
    },
  };
}

function pickSettings(
  { mode, permissions = {}, cwd, folders, tools, toolNames }: RunConfig,
  context: ToolContextState = {},
): CallSettings {
  const { cwd: dir, allowedTools, granted } = context;
  return {
    mode,
    permissions: granted ? { ...permissions, allow: [...(permissions.allow ?? []), ...granted] } : permissions,
    cwd,
    ...(folders && { folders }),
    ...present({ tools, toolNames, dir, allowedTools }),
  };
}

/**
 * Lets a call ask people, except in mode `dontAsk`. Questions of an earlier attempt are withdrawn:
 * they would be answered in vain.
 */
async function findPeople(store: Store, { mode }: RunConfig, { people, number }: Attempt, key: CallKey) {
  if (!people || mode === 'dontAsk') return undefined;
  if (number > 1) await withdrawQuestions(people, key);
  return createAskPeople(people, store, key);
}

const toRequest = ({ index, id, name, input }: CallBlock): CallRequest => ({ index, toolUseId: id, name, input });

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

type CallObserver = (ended: Pick<ToolCallSeen, 'at' | 'ms' | 'outcome'>) => void;

type WatchedRun = Pick<EarlyRun, 'iteration' | 'begins' | 'progress' | 'say'>;

/**
 * Shows a call to watchers once something of it begins; a call that waits for a decision has not
 * begun.
 */
async function watchCall<Ended extends CallDone | VoidAttempt | ApprovalNeeded | DelegationNeeded>(
  { index, name }: CallBlock,
  { iteration, say, seen }: CallPort & { readonly seen: CallObserver },
  early: boolean,
  run: (watching: WatchedRun) => Promise<Ended>,
): Promise<Ended> {
  let begun = false;
  const began = { at: Date.now(), tick: performance.now() };
  const begins = (): void => {
    if (!begun) say({ type: 'tool_start', iteration, index, name, early });
    begun = true;
  };
  const progress = (text: string): void => say({ type: 'tool_progress', iteration, index, text });
  const done = await run({ iteration, begins, progress, say });
  if (done.kind !== 'done') return done;
  // A call that was found recorded, or was refused, began nothing; one that ran before a person was
  // asked about it did.
  const { outcome } = done.outcome.log;
  if (begun || outcome === 'not_run') seen({ at: began.at, ms: performance.now() - began.tick, outcome });
  begins();
  say(toolEnd(iteration, done.outcome));
  return done;
}
