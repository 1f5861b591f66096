// Runs the whole loop in one process without a server (L54, Q6): the machine drives the bodies of
// the activities directly. Its result is what a session on a server must reach, whatever happens to
// that session's workers. This is the only file outside workflows/ that drives the machine.
import type { ApplicationFailure } from '@temporalio/common';
import type { Attempt, ActivityBody } from '../../activities/attempt.ts';
import { callModel } from '../../activities/call-model.ts';
import { commit } from '../../activities/commit.ts';
import { collapse } from '../../activities/compaction/collapse.ts';
import { compact } from '../../activities/compaction/compact.ts';
import { prepareCompaction } from '../../activities/compaction/prepare-compaction.ts';
import type { Deps } from '../../activities/deps.ts';
import { openRun } from '../../activities/run/open-run.ts';
import { runStopHooks } from '../../activities/run-stop-hooks.ts';
import { runTool } from '../../activities/run-tool.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { Append } from '../../workflows/contract/activities.ts';
import { groupCalls } from '../../workflows/contract/calls.ts';
import { modelResultOf } from '../../workflows/contract/model-call.ts';
import { MODEL_ATTEMPT_DIED } from '../../workflows/contract/failures.ts';
import { callKey, type Hash, type MessageId, type SessionId } from '../../workflows/contract/ids.ts';
import type { Terminal } from '../../workflows/contract/loop.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { collapseInput, compactionInput, modelInput, preparationInput } from '../../workflows/machine/step-inputs.ts';
import type { CallResult, Event, Move, PerformedMove, TakenPreparation } from '../../workflows/machine/events.ts';
import { runLoop } from '../../workflows/machine/loop.ts';
import { initialState, type RunState } from '../../workflows/machine/state.ts';
import { userAppend } from '../../workflows/machine/transitions.ts';

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

/**
 * Runs one message to its end: the first of its session, or the next one `after` a run. Throws for
 * options that are refused, and for a call that asks, since no person can decide.
 */
export async function memoryLoop(
  deps: Deps,
  session: SessionId,
  text: string,
  options: RunOptions,
  after?: MemoryRun,
): Promise<MemoryRun> {
  const chain = `chain-${session}`;
  const number = (after?.run ?? 0) + 1;
  const id = (number === 1 ? 'm' : `m${number}`) as MessageId;
  let steps = after?.steps ?? 0;
  const step = (): number => (steps += 1);
  const run = <I, O>(body: (attempt: Attempt, input: I) => Promise<O>, input: I) =>
    attemptUntilAlive(session, body, input);
  const opened = await run(openRun(deps), { chain, run: number, step: step(), options });
  if (opened.kind === 'refused') throw new Error(opened.detail);
  const { config, rules } = opened;
  const prompt = userAppend({ id, body: { kind: 'text', text } });
  const begun = { kind: 'run_started', run: number, config, at: 0 } as const;
  const initial = initialState(after?.head ?? null, [begun, prompt], after?.state);

  const common = ({ head, pending: append, iteration }: RunState) => ({
    head,
    append,
    config,
    iteration,
    step: step(),
  });
  /** Always finished when the call that runs in parallel ends. */
  let prepared: TakenPreparation = {};
  const takePrepared = (): TakenPreparation => {
    const taken = prepared;
    prepared = {};
    return taken;
  };
  const tools = async (state: RunState, move: Extract<Move, { do: 'run_tools' }>): Promise<Event> => {
    const { head, iteration } = state;
    if (head === null) throw new Error('a call without a reply');
    const results = new Map<number, CallResult>();
    for (const { index, outcome, ran } of move.calls) {
      if (outcome) results.set(index, { item: null, facts: outcome });
      else if (ran) results.set(index, { item: { index, key: callKey(chain, head, index) }, facts: ran });
    }
    for (const call of groupCalls(move.calls).flat()) {
      const { index } = call;
      const facts = await run(runTool(deps), { head, config, iteration, index, step: step() });
      if ('ask' in facts) throw new Error(`${call.name} asks: nobody is there`);
      if ('delegate' in facts) throw new Error(`${call.name} is carried out by a workflow: none is there`);
      results.set(index, { item: { index, key: callKey(chain, head, index) }, facts });
    }
    const { calls, cut } = move;
    return {
      kind: 'tools_ran',
      calls,
      results: calls.map(({ index }) => results.get(index)!),
      cut,
      stop: null,
      queued: [],
      snips: [],
      leftMs: null,
    };
  };
  const perform = async (move: PerformedMove, state: RunState): Promise<Event> => {
    switch (move.do) {
      case 'call_model': {
        const input = { ...common(state), ...modelInput(state, rules) };
        const result = modelResultOf(await run(callModel(deps), input));
        return { kind: 'model', result, step: input.step, stop: null, ...takePrepared() };
      }
      case 'run_tools':
        return tools(state, move);
      case 'compact': {
        const input = { ...common(state), ...compactionInput(state, rules, move) };
        return { kind: 'compacted', result: await run(compact(deps), input), move, stop: null };
      }
      case 'prepare_compaction': {
        const { head, iteration } = state;
        if (head === null) return { kind: 'preparing', begins: false };
        const input = { head, config, iteration, step: step(), ...preparationInput(state, rules) };
        prepared = { prepared: { iteration, result: await run(prepareCompaction(deps), input) } };
        return { kind: 'preparing', begins: true };
      }
      case 'await_compaction':
        return { kind: 'prepared', because: move.because, stop: null, ...takePrepared() };
      case 'collapse': {
        const input = { ...common(state), ...collapseInput(state, rules, move) };
        return { kind: 'collapsed', result: await run(collapse(deps), input), stop: null };
      }
      case 'run_stop_hooks': {
        const { head } = state;
        if (head === null) throw new Error('stop hooks without a reply');
        const { iteration } = state;
        const input = { head, config, iteration, step: step(), active: move.active };
        return { kind: 'hooks_ran', ran: await run(runStopHooks(deps), input), stop: null };
      }
      case 'park':
        return { kind: 'ready' };
    }
  };
  const { state, terminal, append } = await runLoop(initial, () => rules, { perform, wentRound: () => null });
  const { turn: turns, iteration: iterations, spend } = state;
  const ended = { run: number, terminal, turns, iterations, messages: [id], spend, durationMs: 0, at: 0 };
  const all: Append[] = [...state.pending, ...append, { kind: 'run_ended', ended }];
  const { head } = await run(commit(deps), { head: state.head, append: all, step: step() });
  const { entries } = await deps.transcripts.view(session, head);
  return { terminal, state, entries, head, run: number, steps };
}

/** Plays Temporal's part: an attempt that died is repeated with the details that it remembered. */
async function attemptUntilAlive<Input, Output>(
  session: SessionId,
  body: ActivityBody<Input, Output>,
  input: Input,
): Promise<Output> {
  let remembered: unknown;
  for (let number = 1; ; number += 1) {
    const attempt: Attempt = {
      session,
      number,
      signal: new AbortController().signal,
      abortedBy: () => null,
      run: 'run',
      fence: () => Promise.resolve(true),
      remembered,
      remember: (details) => (remembered = details),
    };
    try {
      return await body(attempt, input);
    } catch (error) {
      if ((error as ApplicationFailure).type !== MODEL_ATTEMPT_DIED) throw error;
    }
  }
}
