// Runs the calls of one reply: batch after batch, results in the model's order (L35, L36, L39,
// L48).
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { activityProblem, type ActivityProblem } from '../ports.ts';
import { awaitDecision, type Approved } from './approve-call.ts';
import type { Call, OutcomeItem, RunTool } from '../contract/activities.ts';
import { callKey, questionParts } from '../contract/ids.ts';
import type { DelegatedEnd } from '../contract/delegation.ts';
import type { StopCause } from '../contract/loop.ts';
import { stopDelegation } from '../delegated/delegations.ts';
import type { PendingApproval } from '../contract/session.ts';
import { groupCalls } from '../contract/calls.ts';
import { contextAfter, withCallsSpend } from '../machine/calls.ts';
import type { CallResult, Move, ToolsRan } from '../machine/events.ts';
import { leftOf } from '../machine/limits.ts';
import type { RunState } from '../machine/state.ts';
import { type Batch, countSettled, inBatch, type RunBench } from '../run/run-bench.ts';
import type { ToolsCarry } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';

const NOT_STARTED = {
  sibling: 'Not run: cancelled before it started, because another call of the same reply failed.',
  stop: 'Not run: interrupted before it started.',
  ended: 'Not run: cancelled before it started, because another call of the same reply ended the run.',
};

const WITHDRAWN = 'Not run: cancelled while it waited for approval.';

const NOT_ANSWERED = 'Nobody answered: cancelled while it waited for an answer.';

/**
 * Someone was asked whether to run it once more, because nobody knows what the first time did
 * (L40).
 */
const NOT_AGAIN =
  'Outcome unknown: it was started once and may have taken effect. Cancelled while it waited for approval to run again; check before repeating it.';

type RunTools = Extract<Move, { do: 'run_tools' }>;

/**
 * Returns at once when every call ran with its reply: a promise is dear in a workflow, see
 * `LoopPort`.
 */
export function runTools(bench: RunBench, state: RunState, move: RunTools): ToolsRan | Promise<ToolsRan> {
  const { session } = bench;
  const resumed = session.takeTools();
  const results = new Map<number, CallResult>(resumed?.results);
  for (const call of move.calls) {
    const known = knownResult(session, state, call);
    if (known) results.set(call.index, known);
  }
  if (move.calls.every(({ index }) => results.has(index))) return toolsRan(bench, move, results);
  return runBatches(bench, state, move, results, resumed);
}

async function runBatches(
  bench: RunBench,
  state: RunState,
  move: RunTools,
  results: Map<number, CallResult>,
  resumed: ToolsCarry | null,
): Promise<ToolsRan> {
  const { session } = bench;
  const { calls, cut } = move;
  const asked = new Map(resumed?.approvals.map((approval) => [approval.index, approval]));
  const delegated = new Map(resumed?.delegated?.map((open) => [open.index, open]));
  for (const planned of groupCalls(calls)) {
    const batch = planned.filter(({ index }) => !results.has(index));
    const why = whyNot(session.stopCause, [...results.values()]);
    if (why) {
      const left = await Promise.all(batch.map((call) => leftOver(bench, state, call, { asked, delegated }, why)));
      left.forEach((result, at) => results.set(batch[at]!.index, result));
    } else {
      session.delegations.agents.expect(batch.filter(({ index }) => !delegated.has(index)).map(({ name }) => name));
      await inBatch(bench, { calls, cut, batch, results, asked, delegated }, (own) => runBatch(bench, state, own));
    }
  }
  return toolsRan(bench, move, results);
}

function toolsRan(
  { session, clock }: RunBench,
  { calls, cut }: RunTools,
  results: ReadonlyMap<number, CallResult>,
): ToolsRan {
  session.approvals.withdraw();
  session.elicitations.forget();
  return {
    kind: 'tools_ran',
    calls,
    results: calls.map(({ index }) => results.get(index) ?? notRun(index, NOT_STARTED.stop)),
    cut,
    stop: session.stopCause,
    queued: session.inbox.next().filter(({ compact }) => compact === undefined),
    snips: session.facts.now.snips,
    steered: session.steered.take(),
    leftMs: clock.leftMs,
    ...session.beside.take(),
    ...session.beside.takePrepared(),
    ...session.delegations.agents.take(),
  };
}

/** With its key: whatever was recorded of it counts. */
function itemOf({ facts }: Session, { head }: RunState, index: number): OutcomeItem {
  if (head === null) throw new Error('a call without a stored reply');
  return { index, key: callKey(facts.now.chain, head, index) };
}

/** It ran with the reply, or right after it in the same activity. */
function knownResult(session: Session, state: RunState, { index, outcome, ran }: Call): CallResult | null {
  if (outcome) return { item: null, facts: outcome };
  return ran ? { item: itemOf(session, state, index), facts: ran } : null;
}

function callsOf(
  { snapshot: { config, rules } }: RunBench,
  state: RunState,
  results: readonly (CallResult | undefined)[],
): CallsOf {
  const { head, iteration, toolContext } = state;
  if (head === null) throw new Error('a call without a stored reply');
  const context = contextAfter(toolContext, results);
  const left = leftOf({ spend: withCallsSpend(state.spend, results) }, rules);
  return { head, config, iteration, ...(context === null ? {} : { context }), ...(left === null ? {} : { left }) };
}

async function runBatch(bench: RunBench, state: RunState, batch: Batch): Promise<void> {
  const { session } = bench;
  const common = callsOf(
    bench,
    state,
    batch.calls.map(({ index }) => batch.results.get(index)),
  );
  let failed = false;
  await session.runScope.run(async () => {
    const siblings = new CancellationScope();
    const one = async (call: Call): Promise<void> => {
      const { index, mayHaveBegun } = call;
      const judged = { ...(call.safe ? { safe: true as const } : {}), ...(mayHaveBegun ? { mayHaveBegun } : {}) };
      const item = itemOf(session, state, index);
      const run = (more: Pick<RunTool, 'decision' | 'delegated'>) =>
        session.ports.runTool({ ...common, step: session.facts.nextStep(), index, ...judged, ...more });
      const result = await siblings
        .run(() => awaitDecision(bench, state, batch, call, run))
        .then(
          (done) =>
            'stopped' in done
              ? settleCall(session, common, item, call, done.stopped)
              : resultOf(session, item, common, done),
          (error: unknown) => {
            const problem = activityProblem(error);
            if (problem?.damaged) return unknownCall(index, problem);
            const cancelled = (session.stopCause !== null || failed) && isCancellation(error);
            if (problem || cancelled) return settleCall(session, common, item, call);
            throw error;
          },
        );
      batch.results.set(index, result);
      countSettled(bench, batch);
      if (failed || whyNot(null, [result]) === null) return;
      failed = true;
      siblings.cancel();
    };
    await Promise.all(batch.batch.map(one));
  });
}

/**
 * The reason why a call that has not begun may not begin: a stop (L48), or the outcome of another
 * call (L34, L36, L41).
 */
function whyNot(stop: StopCause | null, results: readonly CallResult[]): string | null {
  if (stop) return NOT_STARTED.stop;
  if (results.some(({ facts }) => facts.fatal !== undefined || facts.stop !== undefined)) return NOT_STARTED.ended;
  return results.some(({ facts }) => facts.cancelsSiblings) ? NOT_STARTED.sibling : null;
}

function resultOf(
  { facts }: Session,
  item: OutcomeItem,
  { config }: CallsOf,
  done: Exclude<Approved, { readonly stopped: unknown }>,
): CallResult {
  if ('withdrawn' in done) return withdrawn(done.withdrawn);
  if (!('end' in done)) return { item, facts: done };
  const { end, note } = done;
  return { item: { ...item, note, ended: { end, config, step: facts.nextStep() } }, facts: {} };
}

function withdrawn({ index, inputHash, question }: PendingApproval): CallResult {
  if (question) return notRun(index, NOT_ANSWERED);
  if (questionParts(inputHash).start === 1) return notRun(index, WITHDRAWN);
  return { item: { index, note: NOT_AGAIN, unknown: true }, facts: { error: true } };
}

/** A call that will not begin any more; a dead attempt may have begun it. */
async function leftOver(
  bench: RunBench,
  state: RunState,
  call: Call,
  held: Pick<Batch, 'asked' | 'delegated'>,
  why: string,
): Promise<CallResult> {
  const { index, mayHaveBegun } = call;
  const asked = held.asked.get(index);
  const open = held.delegated.get(index);
  if (asked) return withdrawn(asked);
  if (open) {
    const end = await stopDelegation(bench.session, open);
    return settleCall(bench.session, callsOf(bench, state, []), itemOf(bench.session, state, index), call, end);
  }
  if (!mayHaveBegun) return notRun(index, why);
  return settleCall(bench.session, callsOf(bench, state, []), itemOf(bench.session, state, index), call);
}

function notRun(index: number, note: string): CallResult {
  return { item: { index, note }, facts: { error: true } };
}

// A call that was stopped, or failed for good, and did not say what had become of it: whoever takes
// its activity finds out, and nothing begins any more (L39, L40, L48).

const CHECK = 'It may have taken effect; check before repeating it.';

/** The facts that all calls of a reply share. */
type CallsOf = Pick<RunTool, 'head' | 'config' | 'iteration' | 'context' | 'left'>;

/** Not cancelled by anything. */
async function settleCall(
  session: Session,
  calls: CallsOf,
  item: OutcomeItem,
  { safe }: Pick<Call, 'safe'>,
  delegated?: DelegatedEnd,
): Promise<CallResult> {
  const { index } = item;
  const judged = { ...(safe ? { safe: true as const } : {}), ...(delegated ? { delegated } : {}) };
  const look = () =>
    session.ports.runTool({ ...calls, ...judged, step: session.facts.nextStep(), index, stopped: true });
  try {
    const done = await CancellationScope.nonCancellable(look);
    if ('ask' in done || 'delegate' in done) throw new Error(`call ${index} was stopped, and wants to begin`);
    return { item, facts: done };
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return unknownCall(index, problem);
  }
}

/**
 * Without its key: the record of its outcome may be what is damaged, and nobody shall look for it
 * again.
 */
function unknownCall(index: number, { damaged, detail }: ActivityProblem): CallResult {
  const why = damaged ? 'what is stored of this call is damaged' : 'the call was given up';
  return {
    item: { index, note: `Outcome unknown: ${why}. ${CHECK} ${detail}`, unknown: true },
    facts: { error: true },
  };
}
