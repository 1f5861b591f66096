// One call of a reply, bound to its run: its traits for the machine, its run while the reply
// streams or under its claim, and the events that watchers see of it.
import { createHash } from 'node:crypto';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { present } from '../../workflows/contract/present.ts';
import type { RunConfig } from '../../store/configuration.ts';
import { pickObservedRun, type Observe, type ToolCallSeen } from '../../store/live/observe.ts';
import { toolEndEvent } from '../../store/live/retell.ts';
import type { Store } from '../../store/values/store.ts';
import { isDeeperThan, DEEPEST_INPUT } from '../../system/json.ts';
import { createAskPeople, withdrawQuestions } from '../../tools/people/ask-people.ts';
import { hasPlainEnd } from '../../tools/plain-end.ts';
import { createGivenUpError, type Attempt } from '../attempt.ts';
import { attemptSignal } from './attempt-signal.ts';
import type {
  ApprovalNeeded,
  CallEnvironment,
  CallRequest,
  DelegationNeeded,
  EarlyRun,
  SmallModelOfCall,
  VoidAttempt,
} from './call-environment.ts';
import type {
  AskingStep,
  BoundCall,
  CallBlock,
  CallOutcome,
  CallPort,
  CallTraits,
  ClaimedCallOptions,
  EarlyCallOptions,
} from './call-port.ts';
import { executeCall, executeEarly, type CallDone } from './execute.ts';
import { planCall, prepareCall, type PreparedCall } from './prepare.ts';

/** Makes the small model for one call, in the call's own activity. */
export type SmallModelFactory = (
  config: RunConfig,
  attempt: Attempt,
  about: AskingStep & { readonly iteration: number },
) => SmallModelOfCall;

type Worker = {
  readonly observe?: Observe | undefined;
  /** Absent: no tool asks a model. */
  readonly small?: SmallModelFactory | undefined;
};

export class CallInRun implements BoundCall {
  readonly #environment: CallEnvironment;
  readonly #config: RunConfig;
  readonly #block: CallBlock;
  readonly #worker: Worker;
  #prepared: PreparedCall | undefined;

  constructor(environment: CallEnvironment, config: RunConfig, block: CallBlock, worker: Worker) {
    this.#environment = environment;
    this.#config = config;
    this.#block = block;
    this.#worker = worker;
  }

  traits(): CallTraits {
    const { hooks } = this.#environment;
    const { maxBudgetUsd, maxTokens } = this.#config.rules;
    const { name } = this.#block;
    const prepared = this.#prepare();
    const ready = prepared.kind === 'ready';
    // A call whose name or input keeps it from running changes nothing.
    const safe = !ready || prepared.safe;
    const budgeted = maxBudgetUsd !== null || maxTokens !== null;
    const hasPostHook = hooks.has('postTool', name);
    const plan = planCall(prepared, { hasPreHook: hooks.has('preTool', name), hasPostHook, budgeted });
    const plainEnd = ready && hasPlainEnd(prepared.tool) && !hasPostHook;
    return { safe, plan, signature: hashCall(this.#block), plainEnd };
  }

  async runEarly({ id, signal, messages, ...port }: EarlyCallOptions): Promise<CallOutcome | null> {
    const done = await this.#watch(port, { early: true }, (watching) =>
      executeEarly(
        this.#environment,
        this.#request,
        { ...watching, id, signal, ...present({ messages }) },
        this.#prepare(),
      ),
    );
    return done.kind === 'done' ? this.#rememberSeen(done) : null;
  }

  async runClaimed(attempt: Attempt, options: ClaimedCallOptions): ReturnType<BoundCall['runClaimed']> {
    const { key, safe, decision, givenUp, delegated, plain = false, asking, fresh = false, iteration, say } = options;
    const { registry, store } = this.#environment;
    const { name } = this.#block;
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
      executeCall(this.#environment, this.#request, { ...watching, ...run }, this.#prepared),
    );
    if (done.kind === 'ask') return { ask: done.ask };
    if (done.kind === 'delegate') return { delegate: done.delegation };
    if (done.kind === 'done') return this.#rememberSeen(done);
    throw createGivenUpError(attempt, `the attempt of ${name}`);
  }

  get #request(): CallRequest {
    const { index, id, name, input } = this.#block;
    return { index, toolUseId: id, name, input };
  }

  #prepare(): PreparedCall {
    this.#prepared ??= prepareCall(this.#environment.registry, this.#environment, this.#block);
    return this.#prepared;
  }

  #rememberSeen({ outcome, facts }: CallDone): CallOutcome {
    const { session, seenFiles } = this.#environment;
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
    const { index, name } = this.#block;
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
    const { name, id: callId } = this.#block;
    const about = { ...pickObservedRun(this.#config), iteration, ...(attempt && { attempt: attempt.number }) };
    const tool = this.#environment.registry.get(name) ? name : 'unknown';
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
