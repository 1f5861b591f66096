// Runs the whole loop in one process without a server (L54, Q6): the machine drives the bodies of
// the activities directly. Its result is what a session on a server must reach, whatever happens to
// that session's workers. This is the only file outside workflows/ that drives the machine.
import type { ApplicationFailure } from '@temporalio/common';
import type { Attempt, ActivityBody } from '../../activities/attempt.ts';
import { callModel } from '../../activities/call-model.ts';
import { gradeGoal } from '../../activities/grade-goal.ts';
import { commit } from '../../activities/commit.ts';
import { collapse } from '../../activities/compaction/collapse.ts';
import { compact } from '../../activities/compaction/compact.ts';
import { prepareCompaction } from '../../activities/compaction/prepare-compaction.ts';
import type { Deps } from '../../activities/deps.ts';
import { openRun } from '../../activities/run/open-run.ts';
import { runStopHooks } from '../../activities/after-stop.ts';
import { runTool } from '../../activities/run-tool.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { Append } from '../../workflows/contract/activities.ts';
import { groupCalls } from '../../workflows/contract/calls.ts';
import { goalOfOptions } from '../../workflows/contract/goals.ts';
import { modelResultOf } from '../../workflows/contract/model-call.ts';
import { MODEL_ATTEMPT_DIED } from '../../workflows/contract/failures.ts';
import { callKey, type Hash, type MessageId, type SessionId } from '../../workflows/contract/ids.ts';
import type { Rules, Terminal } from '../../workflows/contract/loop.ts';
import { present } from '../../workflows/contract/present.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { collapseInput, compactionInput, modelInput, preparationInput } from '../../workflows/machine/step-inputs.ts';
import type { CallResult, Event, Move, PerformedMove, TakenPreparation } from '../../workflows/machine/events.ts';
import { bringGoal, gradingInput } from '../../workflows/machine/goals.ts';
import { runLoop } from '../../workflows/machine/loop.ts';
import { initialState, type RunState } from '../../workflows/machine/state.ts';
import { userAppends } from '../../workflows/machine/transitions.ts';

/**
 * `state` is the machine's state at the run's end. `steps` counts those of the conversation so far.
 */
export type MemoryRun = {
  readonly terminal: Terminal;
  readonly state: RunState;
  readonly entries: readonly Entry[];
  readonly head: Hash | null;
  readonly run: number;
  readonly steps: number;
};

/** One message of a session: its first, or the next one `after` a run. */
export type MemoryMessage = {
  readonly session: SessionId;
  readonly text: string;
  readonly options: RunOptions;
  /** Absent: its number in the session. */
  readonly id?: MessageId | undefined;
  readonly after?: MemoryRun | undefined;
};

/**
 * Runs one message to its end. Throws for options that are refused, and for a call that asks, since
 * no person can decide.
 */
export async function memoryLoop(
  deps: Deps,
  { session, text, options, id: requestedId, after }: MemoryMessage,
): Promise<MemoryRun> {
  const number = (after?.run ?? 0) + 1;
  const id = requestedId ?? ((number === 1 ? 'm' : `m${number}`) as MessageId);
  const chain = `chain-${session}`;
  const steps = new Steps(session, after?.steps ?? 0);
  const opened = await steps.perform(openRun(deps), { chain, run: number, options });
  if (opened.kind === 'refused') throw new Error(opened.detail);
  const { config, rules } = opened;
  const message = { id, body: { kind: 'text', text }, ...present({ goal: goalOfOptions(options) }) } as const;
  const runStarted = { kind: 'run_started', run: number, config, at: 0 } as const;
  const initial = initialState(after?.head ?? null, [runStarted, ...userAppends(message)], after?.state);
  const performer = new MovePerformer({ deps, chain, config, rules, steps });
  const perform = (move: PerformedMove, state: RunState): Promise<Event> => performer.perform(move, state);
  const { state, terminal, append } = await runLoop({ ...initial, ...bringGoal([message]) }, () => rules, {
    perform,
    wentRound: () => null,
  });
  const { turn: turns, iteration: iterations, spend } = state;
  const runEnded = { run: number, terminal, turns, iterations, messages: [id], spend, durationMs: 0, at: 0 };
  const all: Append[] = [...state.pending, ...append, { kind: 'run_ended', ended: runEnded }];
  const { head } = await steps.perform(commit(deps), { head: state.head, append: all });
  const { entries } = await deps.transcripts.view(session, head);
  return { terminal, state, entries, head, run: number, steps: steps.count };
}

type RunInMemory = {
  readonly deps: Deps;
  readonly chain: string;
  readonly config: Hash;
  readonly rules: Rules;
  readonly steps: Steps;
};

/** Performs the moves of the machine with the bodies of the activities, one after the other. */
class MovePerformer {
  readonly #run: RunInMemory;
  /** Always finished when the call that runs in parallel ends. */
  #prepared: TakenPreparation = {};

  constructor(run: RunInMemory) {
    this.#run = run;
  }

  async perform(move: PerformedMove, state: RunState): Promise<Event> {
    const { deps, rules, config, steps } = this.#run;
    const { head, pending: append, iteration } = state;
    const common = { head, append, config, iteration };
    switch (move.do) {
      case 'call_model': {
        const input = { ...common, ...modelInput(state, rules) };
        const result = modelResultOf(await steps.perform(callModel(deps), input));
        return { kind: 'model', result, step: steps.count, stop: null, ...this.#takePrepared() };
      }
      case 'run_tools':
        return this.#runTools(state, move);
      case 'compact': {
        const input = { ...common, ...compactionInput(state, rules, move) };
        return { kind: 'compacted', result: await steps.perform(compact(deps), input), move, stop: null };
      }
      case 'prepare_compaction': {
        if (head === null || deps.autocompact) return { kind: 'preparing', begins: false };
        const input = { head, config, iteration, ...preparationInput(state, rules) };
        this.#prepared = { prepared: { iteration, result: await steps.perform(prepareCompaction(deps), input) } };
        return { kind: 'preparing', begins: true };
      }
      case 'await_compaction':
        return { kind: 'prepared', because: move.because, stop: null, ...this.#takePrepared() };
      case 'collapse': {
        const input = { ...common, ...collapseInput(state, rules, move) };
        return { kind: 'collapsed', result: await steps.perform(collapse(deps), input), stop: null };
      }
      case 'run_stop_hooks': {
        if (head === null) throw new Error('stop hooks without a reply');
        const input = { head, config, iteration, active: move.active };
        return { kind: 'hooks_ran', ran: await steps.perform(runStopHooks(deps), input), stop: null };
      }
      case 'grade_goal': {
        const input = { ...common, ...gradingInput(state, rules) };
        return { kind: 'graded', result: await steps.perform(gradeGoal(deps), input), stop: null };
      }
      case 'park':
        return { kind: 'ready' };
      case 'wait_at_budget':
        throw new Error('the session’s budget is reached: nobody is there to raise it');
    }
  }

  async #runTools({ head, iteration }: RunState, { calls, cut }: Extract<Move, { do: 'run_tools' }>): Promise<Event> {
    const { deps, chain, config, steps } = this.#run;
    if (head === null) throw new Error('a call without a reply');
    const results = new Map<number, CallResult>();
    for (const { index, outcome, ran } of calls) {
      if (outcome) results.set(index, { item: null, facts: outcome });
      else if (ran) results.set(index, { item: { index, key: callKey(chain, head, index) }, facts: ran });
    }
    for (const { index, name } of groupCalls(calls).flat()) {
      const facts = await steps.perform(runTool(deps), { head, config, iteration, index });
      if ('ask' in facts) throw new Error(`${name} asks: nobody is there`);
      if ('delegate' in facts) throw new Error(`${name} is carried out by a workflow: none is there`);
      results.set(index, { item: { index, key: callKey(chain, head, index) }, facts });
    }
    const inOrder = calls.map(({ index }) => results.get(index)!);
    return { kind: 'tools_ran', calls, results: inOrder, cut, stop: null, queued: [], snips: [], leftMs: null };
  }

  #takePrepared(): TakenPreparation {
    const prepared = this.#prepared;
    this.#prepared = {};
    return prepared;
  }
}

/** Plays Temporal's part: numbers the steps of a session, and repeats attempts that died. */
class Steps {
  readonly #session: SessionId;
  #count: number;

  constructor(session: SessionId, count: number) {
    this.#session = session;
    this.#count = count;
  }

  get count(): number {
    return this.#count;
  }

  /** An attempt that died is repeated with the details that it remembered. */
  async perform<Input extends { readonly step: number }, Output>(
    body: ActivityBody<Input, Output>,
    input: Omit<Input, 'step'>,
  ): Promise<Output> {
    this.#count += 1;
    const numbered = { ...input, step: this.#count } as Input;
    let remembered: unknown;
    for (let number = 1; ; number += 1) {
      const attempt: Attempt = {
        session: this.#session,
        number,
        signal: new AbortController().signal,
        abortedBy: () => null,
        run: 'run',
        fence: () => Promise.resolve(true),
        remembered,
        remember: (details) => (remembered = details),
      };
      try {
        return await body(attempt, numbered);
      } catch (error) {
        if ((error as ApplicationFailure).type !== MODEL_ATTEMPT_DIED) throw error;
      }
    }
  }
}
