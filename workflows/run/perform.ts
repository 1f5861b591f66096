// Turns the machine's moves into activities, and their ends into events. The session's state says
// whether a failure was a stop, not the error: a cancelled activity of a dead worker ends as a
// timeout.
import { ActivityFailure, CancellationScope, isCancellation, condition, patched } from '@temporalio/workflow';
import { activityProblem, type ActivityProblem } from '../activity-problem.ts';
import type {
  Append,
  AppendingStep,
  CallModel,
  ModelCallAnswer,
  CollapseResult,
  GradeResult,
  CompactionResult,
  ModelResult,
  StopHooksRan,
} from '../contract/activities.ts';
import { GOALS_CHANGE } from '../contract/goals.ts';
import { modelResultOf } from '../contract/model-call.ts';
import { noSpend, type Rules, type Spend } from '../contract/loop.ts';
import { collapseInput, compactionInput, modelInput, preparationInput, sideInput } from '../machine/step-inputs.ts';
import type { Event, Move } from '../machine/events.ts';
import { withGranted } from '../machine/absorb.ts';
import { gradingInput } from '../machine/goals.ts';
import { isSpendableUsed, spendableLeft } from '../machine/limits.ts';
import type { LoopPort } from '../machine/loop.ts';
import { isTooClose } from '../machine/prepare.ts';
import type { RunState } from '../machine/state.ts';
import { preparationSpend } from '../machine/wrap-up.ts';
import { runTools } from '../calls/run-tools.ts';
import { notWaiting } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';
import { handOverSession, canHandOver } from '../session/handover.ts';
import { type RunContext, waitAtSessionBudget } from './run-context.ts';
import { reportSeen, describePlace } from '../told/report-seen.ts';

export function createPerform(context: RunContext): LoopPort['perform'] {
  const { session } = context;
  return (move, state) => {
    session.setState(state);
    // An earlier release would end the run ungraded, and is told so: also where a message has brought
    // the goal, or a handover.
    if (state.goal) patched(GOALS_CHANGE);
    if (session.stopCause && move.do !== 'run_tools') {
      return { kind: 'stopped', stop: session.stopCause };
    }
    switch (move.do) {
      case 'call_model':
        return callModel(context, state);
      case 'run_tools':
        return runTools(context, state, move);
      case 'compact':
        return performCompaction(context, state, move);
      case 'prepare_compaction':
        return beginPreparation(context, state);
      case 'await_compaction':
        return awaitPreparation(context, move);
      case 'collapse':
        return performCollapse(context, state, move);
      case 'run_stop_hooks':
        return runStopHooks(context, state, move);
      case 'grade_goal':
        return gradeGoal(context, state);
      case 'park':
        return park(context, state, move);
      case 'wait_at_budget':
        return waitAtSessionBudget(context, state);
    }
  };
}

function callModel(context: RunContext, state: RunState): Promise<Event> {
  const { session, snapshot } = context;
  const rules = withGranted(state.toolContext, snapshot.granted);
  const input = {
    ...makeAppendingStep(context, state),
    ...modelInput(state, snapshot.rules),
    ...(rules && { context: rules }),
  };
  const { pendingSummary } = state;
  if (pendingSummary && canPaySummary(state, snapshot.rules)) {
    const terms = { config: snapshot.config, left: sideInput(state, snapshot.rules) };
    session.sideWork.summarize(pendingSummary, terms, () => session.facts.nextStep());
  }
  let request: CallModel = input;
  const toEvent = (answer: ModelCallAnswer): Event => {
    const { sideWork, delegations } = session;
    session.openModelCall = null;
    const sideResults = { ...sideWork.takeSummary(), ...sideWork.takePreparation(), ...delegations.agents.takeSpent() };
    return {
      kind: 'model',
      result: modelResultOf(answer),
      step: request.step,
      stop: session.stopCause,
      ...sideResults,
    };
  };
  const substitutes: Substitutes<ModelCallAnswer> = {
    stopped: () => findStoredReply(session, request),
    failed: async (problem) => {
      const result = problem.damaged ? missingResult.stopped() : await findStoredReply(session, request);
      return result.kind === 'nothing' ? missingResult.failed(problem) : result;
    },
  };
  const call = (next: CallModel): Promise<ModelCallAnswer> => {
    request = next;
    session.openModelCall = next;
    return session.ports.callModel(next);
  };
  const isHosted = session.hosting.current !== null;
  const schedule = isHosted ? () => callOnHost(session, input, call) : () => call(input);
  return runActivity(session, schedule, substitutes, toEvent);
}

/**
 * Follows the session to another host (T18). A reply that the old one has stored counts: what it
 * began is known. Otherwise the model is told of the new host before it answers.
 */
async function callOnHost(
  session: Session,
  input: CallModel,
  call: (next: CallModel) => Promise<ModelCallAnswer>,
): Promise<ModelCallAnswer> {
  const { hosting, facts } = session;
  await hosting.moveIfRequested();
  let last = input;
  let news: readonly Append[] = [];
  const schedule = ({ step }: { readonly step?: number }): Promise<ModelCallAnswer> => {
    news = facts.now.news ?? [];
    const again = step === undefined ? {} : { step, supersedes: last.step };
    const follows = hosting.follows && ({ follows: true } as const);
    last = { ...input, ...again, ...follows, append: [...input.append, ...news] };
    return call(last);
  };
  const answer = await hosting.onHost(schedule, async () => {
    const found = await findStoredReply(session, last);
    return found.kind === 'nothing' ? null : found;
  });
  if ('head' in answer) facts.dropNews(news);
  return answer;
}

/**
 * If the budget does not cover both, the summary is left out (L51). Sessions of earlier releases
 * did not check.
 */
function canPaySummary(state: RunState, rules: Rules): boolean {
  return !isSpendableUsed(state, rules, rules.summarySpend) || !patched('perdure-summary-budget');
}

function makeAppendingStep(
  { session, snapshot: { config } }: RunContext,
  { head, pending: append, iteration }: RunState,
): AppendingStep {
  return { head, append, config, step: session.facts.nextStep(), iteration };
}

function performCompaction(
  context: RunContext,
  state: RunState,
  move: Extract<Move, { do: 'compact' }>,
): Promise<Event> {
  const { session } = context;
  const input = { ...makeAppendingStep(context, state), ...compactionInput(state, context.snapshot.rules, move) };
  const toEvent = (result: CompactionResult): Event => ({ kind: 'compacted', result, move, stop: session.stopCause });
  return runActivity(session, () => session.ports.compact(input), missingResult, toEvent);
}

/** A run that an earlier release began prepares nothing: its history has no such step. */
function beginPreparation({ session, snapshot: { config, rules } }: RunContext, state: RunState): Event {
  const { head, iteration } = state;
  const terms = preparationTerms(session, state, rules);
  if (head === null || terms === null || !patched('perdure-prepared-compaction'))
    return { kind: 'preparing', begins: false };
  const step = session.facts.nextStep();
  session.sideWork.prepareCompaction({ head, config, step, iteration, ...preparationInput(state, rules) });
  return { kind: 'preparing', begins: true, ...terms };
}

/**
 * Returns null when no preparation may begin now: an earlier one, overtaken by another boundary,
 * may still be running or unbilled.
 */
function preparationTerms({ sideWork }: Session, state: RunState, rules: Rules): { readonly keeps?: Spend } | null {
  if (isTooClose(state, rules) && patched('perdure-close-preparations')) return null;
  const isLimited = spendableLeft(state, rules) !== null;
  if ((!isLimited && !sideWork.isPreparing) || !patched('perdure-preparation-terms')) return {};
  if (sideWork.isPreparing) return null;
  const keeps = preparationSpend(state, rules);
  return keeps && { keeps };
}

/** Waits until the preparation has ended. A stop ends the wait. */
async function awaitPreparation(
  { session }: RunContext,
  { because }: Extract<Move, { do: 'await_compaction' }>,
): Promise<Event> {
  try {
    await session.runScope.run(() => condition(() => session.sideWork.isPrepared));
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  return { kind: 'prepared', because, stop: session.stopCause, ...session.sideWork.takePreparation() };
}

function performCollapse(
  context: RunContext,
  state: RunState,
  move: Extract<Move, { do: 'collapse' }>,
): Promise<Event> {
  const { session } = context;
  const input = { ...makeAppendingStep(context, state), ...collapseInput(state, context.snapshot.rules, move) };
  const toEvent = (result: CollapseResult): Event => ({ kind: 'collapsed', result, stop: session.stopCause });
  return runActivity(session, () => session.ports.collapse(input), missingResult, toEvent);
}

function runStopHooks(
  { session, snapshot: { config } }: RunContext,
  { head, iteration }: RunState,
  { active }: Extract<Move, { do: 'run_stop_hooks' }>,
): Promise<Event> {
  if (head === null) throw new Error('stop hooks without a stored reply');
  const input = { head, config, step: session.facts.nextStep(), iteration, active };
  const passed = { kind: 'passed' } as const;
  const substitutes: Substitutes<StopHooksRan> = {
    stopped: () => ({ verdict: passed, failed: [] }),
    failed: ({ detail }) => ({ verdict: passed, failed: [{ hook: 'stop', detail }] }),
  };
  const toEvent = (ran: StopHooksRan): Event => ({ kind: 'hooks_ran', ran, stop: session.stopCause });
  return runActivity(session, () => session.ports.runStopHooks(input), substitutes, toEvent);
}

function gradeGoal(context: RunContext, state: RunState): Promise<Event> {
  const { session } = context;
  const input = { ...makeAppendingStep(context, state), ...gradingInput(state, context.snapshot.rules) };
  const toEvent = (result: GradeResult): Event => ({ kind: 'graded', result, stop: session.stopCause });
  return runActivity(session, () => session.ports.gradeGoal(input), missingResult, toEvent);
}

type Substitutes<Result> = {
  readonly stopped: () => Result | Promise<Result>;
  readonly failed: (problem: ActivityProblem) => Result | Promise<Result>;
};

/** Stands in for the result of a step that asks a model, when its spending is unknown. */
const missingResult = {
  stopped: () => ({ kind: 'nothing', spend: noSpend }) as const,
  failed: ({ detail }: ActivityProblem) => ({ kind: 'failed', detail, spend: noSpend }) as const,
};

/**
 * Finds the reply of a call whose worker did not report: it may have stored its reply, and begun
 * calls of it.
 */
function findStoredReply(session: Session, call: CallModel): Promise<ModelResult> {
  const findReply = () => session.ports.findReply({ call, step: session.facts.nextStep() });
  return CancellationScope.nonCancellable(findReply).catch(whenFailed(missingResult));
}

/** Runs an activity and makes an event of its end; a stop and a failure become values. */
function runActivity<Result>(
  session: Session,
  schedule: () => Promise<Result>,
  substitutes: Substitutes<Result>,
  toEvent: (result: Result) => Event,
): Promise<Event> {
  const failed = whenFailed(substitutes);
  return session.runScope.run(schedule).then(toEvent, async (error: unknown) => {
    // A cancelled activity may end as a timeout when its worker was gone.
    const mayBeStop = isCancellation(error) || error instanceof ActivityFailure;
    return toEvent(await (session.stopCause && mayBeStop ? substitutes.stopped() : failed(error)));
  });
}

function whenFailed<Result>({
  failed,
}: Pick<Substitutes<Result>, 'failed'>): (error: unknown) => Result | Promise<Result> {
  return (error) => {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return failed(problem);
  };
}

/**
 * Waits for the provider (L14) on a durable timer, occupying no worker. `resume` or a stop ends it
 * early, and the runtime limit stands still meanwhile (L51).
 */
async function park(context: RunContext, state: RunState, { waitMs }: Extract<Move, { do: 'park' }>): Promise<Event> {
  const { session, clock } = context;
  clock.pause();
  const carried = session.run?.parkedUntil ?? null;
  // A `resume` may have arrived during the handover.
  if (carried === null) session.resumed = false;
  const since = Date.now();
  const until = carried ?? since + waitMs;
  session.setParkedUntil(until);
  session.enterPhase('parked');
  try {
    await session.runScope.run(() => waitParked(context, state, until));
  } catch (error) {
    // Anything else that is thrown is the handover itself.
    if (!isCancellation(error)) throw error;
  }
  session.setParkedUntil(null);
  reportSeen({ ...describePlace(session, state.iteration), kind: 'parked', from: since, to: Date.now() });
  clock.resume();
  session.enterPhase('running');
  return session.stopCause ? { kind: 'stopped', stop: session.stopCause } : { kind: 'ready' };
}

/** Waits until the time is over, and hands the session over when that is due (L4). */
async function waitParked(context: RunContext, state: RunState, until: number): Promise<void> {
  const { session } = context;
  const isOver = (): boolean => session.resumed || session.stopCause !== null;
  while (!isOver() && until > Date.now()) {
    await condition(() => isOver() || canHandOver(session), until - Date.now());
    if (!isOver() && canHandOver(session))
      await handOverSession(session, context.carryRun(state, { ...notWaiting, parkedUntil: until }));
  }
}
