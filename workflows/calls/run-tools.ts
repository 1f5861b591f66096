// Runs the calls of one reply, batch after batch; results are in the model's order (L35, L36, L39,
// L48).
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { Call, RunTool } from '../contract/activities.ts';
import { groupCalls, notRunItem } from '../contract/calls.ts';
import { questionParts } from '../contract/ids.ts';
import { present } from '../contract/present.ts';
import type { StopCause } from '../contract/loop.ts';
import type { PendingApproval } from '../contract/session.ts';
import { stopDelegation } from '../delegated/carry-out.ts';
import type { CallResult, Move, ToolsRan } from '../machine/events.ts';
import type { RunState } from '../machine/state.ts';
import { activityProblem, type ActivityProblem } from '../activity-problem.ts';
import type { RunContext } from '../run/run-context.ts';
import { CallBatch } from './call-batch.ts';
import { ReplyCalls, type SharedInput } from './reply-calls.ts';
import { type CallEnd, RunningCall } from './running-call.ts';
import type { DelegatedEnd } from '../contract/delegation.ts';

const NOT_STARTED = {
  sibling: 'Not run: cancelled before it started, because another call of the same reply failed.',
  stop: 'Not run: interrupted before it started.',
  ended: 'Not run: cancelled before it started, because another call of the same reply ended the run.',
};

const WITHDRAWN_TEXT = 'Not run: cancelled while it waited for approval.';

const NOT_ANSWERED = 'Nobody answered: cancelled while it waited for an answer.';

/** A person was asked whether to run it again: the effect of the first time is unknown (L40). */
const NOT_AGAIN =
  'Outcome unknown: it was started once and may have taken effect. Cancelled while it waited for approval to run again; check before repeating it.';

/**
 * Returns at once when every call already ran while the reply streamed: a promise is costly in a
 * workflow, see `LoopPort`.
 */
export function runTools(
  context: RunContext,
  state: RunState,
  move: Extract<Move, { do: 'run_tools' }>,
): ToolsRan | Promise<ToolsRan> {
  const reply = new ReplyCalls(context, state, move, context.session.takeTools());
  return reply.areSettled ? toolsRan(reply) : runBatches(reply);
}

async function runBatches(reply: ReplyCalls): Promise<ToolsRan> {
  const { session, results } = reply;
  for (const planned of groupCalls(reply.calls)) {
    const calls = planned.filter(({ index }) => !results.has(index));
    const why = reasonNotToBegin(session.stopCause, [...results.values()]);
    if (why) {
      const notBegun = await Promise.all(calls.map((call) => settleNotBegun(reply, call, why)));
      notBegun.forEach((result, at) => results.set(calls[at]!.index, result));
    } else {
      const starting = calls.filter(({ index }) => !reply.delegated.has(index));
      session.delegations.agents.expectCalls(starting.map(({ name }) => name));
      const batch = new CallBatch(reply.context, calls);
      await batch.during(() => runBatch(reply, batch));
    }
  }
  if (session.recordsWaits) await session.waits.close(session.stopCause !== null);
  return toolsRan(reply);
}

function toolsRan({ session, context, calls, cut, results, heads }: ReplyCalls): ToolsRan {
  session.approvals.withdraw();
  session.elicitations.forget();
  return {
    kind: 'tools_ran',
    calls,
    results: calls.map((call) => results.get(call.index) ?? notRun(call, NOT_STARTED.stop)),
    cut,
    stop: session.stopCause,
    queued: session.inbox.next().filter(({ compact }) => compact === undefined),
    snips: session.facts.now.snips,
    steered: session.steered.take(),
    leftMs: context.clock.leftMs,
    ...(heads.reply && { head: heads.head }),
    ...session.sideWork.takeSummary(),
    ...session.sideWork.takePreparation(),
    ...session.delegations.agents.takeSpent(),
  };
}

async function runBatch(reply: ReplyCalls, batch: CallBatch): Promise<void> {
  const { session } = reply;
  const shared = reply.sharedInput(reply.calls.map(({ index }) => reply.results.get(index)));
  let siblingsCancelled = false;
  await session.runScope.run(async () => {
    const siblings = new CancellationScope();
    const besideScope = new CancellationScope();
    const runOne = async (call: Call): Promise<void> => {
      const running = new RunningCall(reply, batch, call, activityOf(reply, shared, call));
      const result = await (call.beside ? besideScope : siblings)
        .run(() => running.awaitEnd())
        .then(
          (end) =>
            'stopped' in end ? settleCall(reply, shared, call, end.stopped) : resultOf(reply, shared, call, end),
          (error: unknown) => {
            const problem = activityProblem(error);
            if (problem?.damaged) return unknownOutcome(call.index, problem);
            const isCancelled = (session.stopCause !== null || siblingsCancelled) && isCancellation(error);
            if (problem || isCancelled) return settleCall(reply, shared, call);
            throw error;
          },
        );
      reply.results.set(call.index, result);
      batch.countSettled();
      if (endsRun(result)) besideScope.cancel();
      if (siblingsCancelled || reasonNotToBegin(null, [result]) === null) return;
      siblingsCancelled = true;
      siblings.cancel();
    };
    await Promise.all(batch.calls.map(runOne));
  });
}

function activityOf(reply: ReplyCalls, shared: SharedInput, { index, safe, mayHaveBegun, givenUp }: Call) {
  const { ports, facts } = reply.session;
  const traits = { ...(safe && { safe: true as const }), ...present({ mayHaveBegun, givenUp }) };
  return (more: Pick<RunTool, 'decision' | 'delegated'>) =>
    ports.runTool({ ...reply.heads, ...shared, step: facts.nextStep(), index, ...traits, ...more });
}

/**
 * Returns the reason why a call that has not begun may not begin: a stop (L48), or the outcome of
 * another call (L34, L36, L41). Returns null when it may.
 */
function reasonNotToBegin(stop: StopCause | null, results: readonly CallResult[]): string | null {
  if (stop) return NOT_STARTED.stop;
  if (results.some(endsRun)) return NOT_STARTED.ended;
  return results.some(({ facts }) => facts.cancelsSiblings) ? NOT_STARTED.sibling : null;
}

const endsRun = ({ facts }: CallResult): boolean => facts.fatal !== undefined || facts.stop !== undefined;

function resultOf(
  reply: ReplyCalls,
  { config }: SharedInput,
  { index }: Call,
  done: Exclude<CallEnd, { readonly stopped: unknown }>,
): CallResult {
  if ('withdrawn' in done) return withdrawnResult(done.withdrawn);
  const item = reply.itemOf(index);
  if (!('end' in done)) return { item, facts: done };
  const { end, note } = done;
  const step = reply.session.facts.nextStep();
  return { item: { ...item, note, ended: { end, config, step } }, facts: {} };
}

function withdrawnResult({ index, inputHash, question }: PendingApproval): CallResult {
  if (question) return notRun({ index }, NOT_ANSWERED);
  if (questionParts(inputHash).start === 1) return notRun({ index }, WITHDRAWN_TEXT);
  return { item: { index, note: NOT_AGAIN, unknown: true }, facts: { error: true } };
}

/** The call will not begin; an attempt that has died since may have begun it. */
async function settleNotBegun(reply: ReplyCalls, call: Call, why: string): Promise<CallResult> {
  const { index, mayHaveBegun } = call;
  const question = reply.asked.get(index);
  if (question) return withdrawnResult(question);
  const open = reply.delegated.get(index);
  if (open) {
    const end = await stopDelegation(reply.session, open);
    return settleCall(reply, reply.sharedInput([]), call, end);
  }
  if (!mayHaveBegun) return notRun(call, why);
  return settleCall(reply, reply.sharedInput([]), call);
}

function notRun(call: Pick<Call, 'index' | 'givenUp'>, why: string): CallResult {
  return { item: notRunItem(call, why), facts: { error: true } };
}

// Settles a call that was stopped, or failed for good, without reporting its outcome: an activity
// finds out what became of it, and begins nothing (L39, L40, L48).
const CHECK = 'It may have taken effect; check before repeating it.';

/** `delegated`: the end of a call that the workflow carried out. Nothing cancels this. */
async function settleCall(
  reply: ReplyCalls,
  shared: SharedInput,
  { index, safe, givenUp }: Call,
  delegated?: DelegatedEnd,
): Promise<CallResult> {
  const { ports, facts } = reply.session;
  const traits = { ...(safe && { safe: true as const }), ...present({ givenUp, delegated }) };
  const item = reply.itemOf(index);
  const findOut = () =>
    ports.runTool({ ...reply.heads, ...shared, ...traits, step: facts.nextStep(), index, stopped: true });
  try {
    const result = await CancellationScope.nonCancellable(findOut);
    if ('ask' in result || 'delegate' in result) throw new Error(`call ${index} was stopped, and wants to begin`);
    return { item, facts: result };
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return unknownOutcome(index, problem);
  }
}

/**
 * Leaves out the call's key: the record of its outcome may be what is damaged, and looking for it
 * again would fail again.
 */
function unknownOutcome(index: number, { damaged, detail }: ActivityProblem): CallResult {
  const why = damaged ? 'what is stored of this call is damaged' : 'the call was given up';
  return {
    item: { index, note: `Outcome unknown: ${why}. ${CHECK} ${detail}`, unknown: true },
    facts: { error: true },
  };
}
