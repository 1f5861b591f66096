// Joins the loop's calls to the executor: traits for the machine, early runs beside the stream,
// claimed runs as activities, and what watchers see of each.
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { ToolContextState } from '../../workflows/contract/activities.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { describeGivenUp, type AbortedBy, type Attempt } from '../attempt.ts';
import type { AskingStep, CallPort, CallRunner, CallBlock, EarlyOutcome } from './call-port.ts';
import type { HookRunner } from '../hooks/hooks.ts';
import { thisHost, type Host } from '../../system/process/host.ts';
import { toolEnd } from '../../store/live/retell.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { ToolEnv } from '../../workflows/contract/tool-env.ts';
import { pickObservedRun, type Observe, type ToolCallSeen } from '../../store/live/observe.ts';
import { askPeople, withdrawAsked } from '../../tools/people/ask-people.ts';
import type { Store } from '../../store/values/store.ts';
import type { SeenByTools } from '../../store/view/seen-files.ts';
import { isDeeperThan, DEEPEST_INPUT } from '../../system/json.ts';
import { executeCall, executeEarly, type Done } from './execute.ts';
import { copyForObservers } from '../../tools/observed-input.ts';
import { planCall, prepareCall, type CallSettings } from './prepare.ts';
import { closeTools } from './close-tools.ts';
import { hasPlainEnd } from '../../tools/plain-end.ts';
import type { ToolRegistry } from '../../tools/registry.ts';
import type { Asked, CallRequest, CallsSmallModel, EarlyRun, HandedOver, Void, Workbench } from './workbench.ts';
import type { AbortCause } from '../../tools/tool.ts';

type RunnerOptions = {
  readonly ofHost?: Store;
  readonly host?: Host;
  readonly observe?: Observe;
  /** The worker's own variables for tools: nothing stores them. */
  readonly toolEnv?: ToolEnv;
  /** Runs are traced: tools are told which span they are a part of. */
  readonly traced?: boolean;
  /** Absent: no tool asks a model. */
  readonly small?: AsksSmall;
  readonly seen?: SeenByTools;
};

/** The small model for one call, in its own activity. */
export type AsksSmall = (
  config: RunConfig,
  attempt: Attempt,
  about: AskingStep & { readonly iteration: number },
) => CallsSmallModel;

export function callRunner(
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
  const bench = (config: RunConfig, context: ToolContextState | undefined): Workbench => {
    const { session, queryId, depth, traceparent } = config;
    const env = { ...toolEnv, ...config.toolEnv };
    const run = { session, queryId, depth, traced, ...(traceparent && { traceparent }) };
    return {
      ...settings(config, context),
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
  const remembered = ({ session }: RunConfig, { outcome, facts }: Done): EarlyOutcome => {
    files?.add(session, outcome.seen ?? []);
    return { outcome, facts };
  };
  const seer = (
    config: RunConfig,
    { name, id: callId }: CallBlock,
    { iteration }: CallPort,
    attempt?: Attempt,
  ): Seer => {
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
    closed: (config, run) => closeTools(registry, config, run),
    traits(config, call, context) {
      const prepared = prepareCall(registry, settings(config, context), call);
      const ready = prepared.kind === 'ready';
      // A call that its name or input keeps from running changes nothing.
      const safe = !ready || prepared.safe;
      const { maxBudgetUsd, maxTokens } = config.rules;
      const budgeted = maxBudgetUsd !== null || maxTokens !== null;
      const plan = planCall(prepared, { hooked: hooks.has('preTool', call.name), budgeted });
      const plainEnd = ready && hasPlainEnd(prepared.tool) && !hooks.has('postTool', call.name);
      return { safe, plan, signature: signature(call), plainEnd };
    },
    observable: ({ name, input }) => copyForObservers(registry.get(name), input),
    async early(config, call, id, port, context) {
      const seen = seer(config, call, port);
      const done = await watched(call, { ...port, seen }, true, (watching) =>
        executeEarly(bench(config, context), request(call), {
          ...watching,
          id,
          signal: port.signal,
          toolUseId: call.id,
        }),
      );
      return done.kind === 'done' ? remembered(config, done) : null;
    },
    async claimed(config, call, key, attempt, port, given) {
      const { safe, context, decision, delegated, plain = false, asking, fresh = false } = given;
      const mayHaveBegun = given.mayHaveBegun === true || attempt.number > 1;
      const signal = attemptSignal(attempt);
      await registry.arrive?.(call.name, signal);
      const own = {
        key,
        safe,
        fresh,
        plain,
        toolUseId: call.id,
        fence: attempt.fence,
        mayHaveBegun,
        signal,
        ...(decision && { decision }),
      };
      const seen = seer(config, call, port, attempt);
      const { iteration } = port;
      const { isOver } = attempt;
      const asks = {
        ...(asking && small ? { small: small(config, attempt, { ...asking, iteration }) } : {}),
        ...(asking && registry.get(call.name)?.asksPeople && (await asksPeople(store, config, attempt, key))),
      };
      const done = await watched(call, { ...port, seen }, false, (watching) =>
        executeCall(bench(config, context), request(call), {
          ...watching,
          ...own,
          ...asks,
          ...(isOver && { isOver }),
          ...(delegated && { delegated }),
        }),
      );
      if (done.kind === 'ask') return { ask: done.ask };
      if (done.kind === 'delegate') return { delegate: done.delegation };
      if (done.kind === 'done') return remembered(config, done);
      throw describeGivenUp(attempt, `the attempt of ${call.name}`);
    },
  };
}

function settings(
  { mode, permissions = {}, cwd, folders, tools, toolNames }: RunConfig,
  context: ToolContextState = {},
): CallSettings {
  const { cwd: dir, allowedTools } = context;
  return {
    mode,
    permissions,
    cwd,
    ...(folders && { folders }),
    ...(tools === undefined ? {} : { tools }),
    ...(toolNames && { toolNames }),
    ...(dir === undefined ? {} : { dir }),
    ...(allowedTools === undefined ? {} : { allowedTools }),
  };
}

/**
 * Nobody is asked in mode `dontAsk`. What an attempt before has asked is withdrawn: it would be
 * answered in vain.
 */
async function asksPeople(store: Store, { mode }: RunConfig, { people, number }: Attempt, key: CallKey) {
  if (!people || mode === 'dontAsk') return {};
  if (number > 1) await withdrawAsked(people, key);
  return { askPeople: askPeople(people, store, key) };
}

const request = ({ index, id, name, input }: CallBlock): CallRequest => ({ index, toolUseId: id, name, input });

/** Tells the same call made again (L34). Short: it is part of every call's facts in the history. */
function signature({ name, input }: CallBlock): string {
  // An input too deep for any tool is too deep for JSON.stringify, and one such call is as good as
  // another.
  const told = isDeeperThan(input, DEEPEST_INPUT) ? null : input;
  return createHash('sha256')
    .update(JSON.stringify([name, told]))
    .digest('base64url')
    .slice(0, 12);
}

type Seer = (ended: Pick<ToolCallSeen, 'at' | 'ms' | 'outcome'>) => void;

type Watching = Pick<EarlyRun, 'iteration' | 'begins' | 'progress' | 'say'>;

/** Shows a call to watchers once something of it begins: one that waits for a decision has not. */
async function watched<Ended extends Done | Void | Asked | HandedOver>(
  { index, name }: CallBlock,
  { iteration, say, seen }: CallPort & { readonly seen: Seer },
  early: boolean,
  run: (watching: Watching) => Promise<Ended>,
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
  // One that was found recorded, or refused, began nothing; what ran before a person was asked
  // about it did.
  const { outcome } = done.outcome.log;
  if (begun || outcome === 'not_run') seen({ at: began.at, ms: performance.now() - began.tick, outcome });
  begins();
  say(toolEnd(iteration, done.outcome));
  return done;
}

// The attempt's signal as tools understand it: a deploy must not look like an interrupt to them
// (L50).

const causes: Readonly<Record<AbortedBy, AbortCause>> = { stop: 'interrupt', deploy: 'deploy', lost: 'superseded' };

/** Aborted with an AbortCause when the attempt is. */
export function attemptSignal(attempt: Attempt): AbortSignal {
  const abort = new AbortController();
  // As many calls as a batch has may listen: Node takes more than ten for a leak.
  setMaxListeners(0, attempt.signal);
  const pass = (): void => abort.abort(causes[attempt.abortedBy() ?? 'lost']);
  if (attempt.signal.aborted) pass();
  else attempt.signal.addEventListener('abort', pass, { once: true });
  return abort.signal;
}
