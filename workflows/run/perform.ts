// Turns the machine's moves into activities and their ends into events. Whether a failure was a
// stop is judged by the session's state, not by the error: a cancelled activity of a dead worker
// ends as a timeout.
import { ActivityFailure, CancellationScope, isCancellation, condition, patched } from '@temporalio/workflow';
import { activityProblem, type ActivityProblem } from '../ports.ts';
import type {
  AppendingStep,
  CallModel,
  ModelAnswer,
  Collapsed,
  Compacted,
  ModelResult,
  StopHooksRan,
} from '../contract/activities.ts';
import { resultOf } from '../contract/model-call.ts';
import { noSpend, type Rules, type Spend } from '../contract/loop.ts';
import { collapseInput, compactInput, leftWith, modelInput, preparationInput } from '../machine/context.ts';
import type { Event, Move } from '../machine/events.ts';
import { budgetReached, leftOf } from '../machine/limits.ts';
import type { LoopPort } from '../machine/loop.ts';
import { isTooClose } from '../machine/prepare.ts';
import type { RunState } from '../machine/state.ts';
import { preparationSpend } from '../machine/wrap-up.ts';
import { runTools } from '../calls/run-tools.ts';
import { heldByNothing } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';
import { handOver, handoverReady } from '../session/handover.ts';
import type { RunContext } from './run-context.ts';
import { see, seenIn } from '../told/see.ts';

export function createPerform(context: RunContext): LoopPort['perform'] {
  const { session } = context;
  return (move, state) => {
    session.reach(state);
    if (session.stopCause && move.do !== 'run_tools') {
      return { kind: 'stopped', stop: session.stopCause };
    }
    switch (move.do) {
      case 'call_model':
        return modelCall(context, state);
      case 'run_tools':
        return runTools(context, state, move);
      case 'compact':
        return compaction(context, state, move);
      case 'prepare_compaction':
        return preparation(context, state);
      case 'await_compaction':
        return prepared(context, move);
      case 'collapse':
        return collapses(context, state, move);
      case 'run_stop_hooks':
        return stopHooks(context, state, move);
      case 'park':
        return park(context, state, move);
    }
  };
}

function modelCall(context: RunContext, state: RunState): Promise<Event> {
  const { session, snapshot } = context;
  const input = { ...appending(context, state), ...modelInput(state, snapshot.rules) };
  const { pendingSummary } = state;
  if (pendingSummary && paysSummary(state, snapshot.rules)) {
    const terms = { config: snapshot.config, left: leftWith(state, snapshot.rules) };
    session.beside.summarize(pendingSummary, terms, () => session.facts.nextStep());
  }
  const ended = (answer: ModelAnswer): Event => {
    const { beside, delegations } = session;
    session.calling = null;
    const taken = { ...beside.take(), ...beside.takePrepared(), ...delegations.agents.take() };
    return { kind: 'model', result: resultOf(answer), step: input.step, stop: session.stopCause, ...taken };
  };
  const instead: Instead<ModelAnswer> = {
    stopped: () => found(session, input),
    failed: async (problem) => {
      const result = problem.damaged ? noResult.stopped() : await found(session, input);
      return result.kind === 'nothing' ? noResult.failed(problem) : result;
    },
  };
  session.calling = input;
  return outcome(session, () => session.ports.callModel(input), instead, ended);
}

/**
 * What is left is for the model call where it would not pay for both (L51). Sessions of earlier
 * releases did not look.
 */
function paysSummary(state: RunState, rules: Rules): boolean {
  return budgetReached(state, rules, rules.summarySpend) === null || !patched('perdure-summary-budget');
}

function appending(
  { session, snapshot: { config } }: RunContext,
  { head, pending: append, iteration }: RunState,
): AppendingStep {
  return { head, append, config, step: session.facts.nextStep(), iteration };
}

function compaction(context: RunContext, state: RunState, move: Extract<Move, { do: 'compact' }>): Promise<Event> {
  const { session } = context;
  const input = { ...appending(context, state), ...compactInput(state, context.snapshot.rules, move) };
  const ended = (result: Compacted): Event => ({ kind: 'compacted', result, move, stop: session.stopCause });
  return outcome(session, () => session.ports.compact(input), noResult, ended);
}

/** Not in a run that an earlier release began: its history has none. */
function preparation({ session, snapshot: { config, rules } }: RunContext, state: RunState): Event {
  const { head, iteration } = state;
  const terms = preparationTerms(session, state, rules);
  if (head === null || terms === null || !patched('perdure-prepared-compaction'))
    return { kind: 'preparing', begins: false };
  const step = session.facts.nextStep();
  session.beside.prepareCompaction({ head, config, step, iteration, ...preparationInput(state, rules) });
  return { kind: 'preparing', begins: true, ...terms };
}

/**
 * Null: not now. One that another boundary has overtaken may be under way, or not be paid for yet.
 */
function preparationTerms({ beside }: Session, state: RunState, rules: Rules): { readonly keeps?: Spend } | null {
  if (isTooClose(state, rules) && patched('perdure-close-preparations')) return null;
  const isLimited = leftOf(state, rules) !== null;
  if ((!isLimited && !beside.isPreparing) || !patched('perdure-preparation-terms')) return {};
  if (beside.isPreparing) return null;
  const keeps = preparationSpend(state, rules);
  return keeps && { keeps };
}

/** A stop ends the wait. */
async function prepared(
  { session }: RunContext,
  { because }: Extract<Move, { do: 'await_compaction' }>,
): Promise<Event> {
  try {
    await session.runScope.run(() => condition(() => session.beside.isPrepared));
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  return { kind: 'prepared', because, stop: session.stopCause, ...session.beside.takePrepared() };
}

function collapses(context: RunContext, state: RunState, move: Extract<Move, { do: 'collapse' }>): Promise<Event> {
  const { session } = context;
  const input = { ...appending(context, state), ...collapseInput(state, context.snapshot.rules, move) };
  const ended = (result: Collapsed): Event => ({ kind: 'collapsed', result, stop: session.stopCause });
  return outcome(session, () => session.ports.collapse(input), noResult, ended);
}

function stopHooks(
  { session, snapshot: { config } }: RunContext,
  { head, iteration }: RunState,
  { active }: Extract<Move, { do: 'run_stop_hooks' }>,
): Promise<Event> {
  if (head === null) throw new Error('stop hooks without a stored reply');
  const input = { head, config, step: session.facts.nextStep(), iteration, active };
  const passed = { kind: 'passed' } as const;
  const instead: Instead<StopHooksRan> = {
    stopped: () => ({ verdict: passed, failed: [] }),
    failed: ({ detail }) => ({ verdict: passed, failed: [{ hook: 'stop', detail }] }),
  };
  const ended = (ran: StopHooksRan): Event => ({ kind: 'hooks_ran', ran, stop: session.stopCause });
  return outcome(session, () => session.ports.runStopHooks(input), instead, ended);
}

type Instead<Result> = {
  readonly stopped: () => Result | Promise<Result>;
  readonly failed: (problem: ActivityProblem) => Result | Promise<Result>;
};

/** The result of a step that asks a model, when no spending of it is known. */
const noResult = {
  stopped: () => ({ kind: 'nothing', spend: noSpend }) as const,
  failed: ({ detail }: ActivityProblem) => ({ kind: 'failed', detail, spend: noSpend }) as const,
};

/**
 * It ended, and its worker did not say what it had come to: it may have stored its reply, and begun
 * calls of it.
 */
function found(session: Session, call: CallModel): Promise<ModelResult> {
  const look = () => session.ports.findReply({ call, step: session.facts.nextStep() });
  return CancellationScope.nonCancellable(look).catch(whenFailed(noResult));
}

/** The event that an activity of the run ends in; a stop and a failure are values. */
function outcome<Result>(
  session: Session,
  run: () => Promise<Result>,
  instead: Instead<Result>,
  ended: (result: Result) => Event,
): Promise<Event> {
  const failed = whenFailed(instead);
  return session.runScope.run(run).then(ended, async (error: unknown) => {
    // Cancelled while its worker was gone, it may end as a timeout.
    const stopped = isCancellation(error) || error instanceof ActivityFailure;
    return ended(await (session.stopCause && stopped ? instead.stopped() : failed(error)));
  });
}

function whenFailed<Result>({ failed }: Pick<Instead<Result>, 'failed'>): (error: unknown) => Result | Promise<Result> {
  return (error) => {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return failed(problem);
  };
}

// A run that waits for its provider (L14): a durable timer, no slot held. It ends early by `resume`
// or a stop.

/** The runtime limit stands still meanwhile (L51). */
async function park(context: RunContext, state: RunState, { waitMs }: Extract<Move, { do: 'park' }>): Promise<Event> {
  const { session, clock } = context;
  clock.pause();
  const carried = session.run?.parkedUntil ?? null;
  // During a handover a `resume` may have arrived.
  if (carried === null) session.resumed = false;
  const since = Date.now();
  const until = carried ?? since + waitMs;
  session.park(until);
  session.enter('parked');
  try {
    await session.runScope.run(() => parkedUntil(context, state, until));
  } catch (error) {
    // Anything else that is thrown is the handover itself.
    if (!isCancellation(error)) throw error;
  }
  session.park(null);
  see({ ...seenIn(session, state.iteration), kind: 'parked', from: since, to: Date.now() });
  clock.resume();
  session.enter('running');
  return session.stopCause ? { kind: 'stopped', stop: session.stopCause } : { kind: 'ready' };
}

/** Handed over when it is time (L4). */
async function parkedUntil({ session, carryRun }: RunContext, state: RunState, until: number): Promise<void> {
  const over = (): boolean => session.resumed || session.stopCause !== null;
  while (!over() && until > Date.now()) {
    await condition(() => over() || handoverReady(session), until - Date.now());
    if (!over() && handoverReady(session))
      await handOver(session, carryRun(state, { ...heldByNothing, parkedUntil: until }));
  }
}
