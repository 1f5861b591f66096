// One run: opened by messages or taken up after a handover, through the loop, to its terminal
// reason and its commit.
import { ActivityFailure, CancellationScope, isCancellation, patched, sleep } from '@temporalio/workflow';
import { activityProblem } from '../ports.ts';
import type { Append, OpenRun, Place, RunEnded, RunOpened } from '../contract/activities.ts';
import type { MessageId, Hash } from '../contract/ids.ts';
import { addSpend, type Rules, type StopCause, type TerminalReason, type TransitionReason } from '../contract/loop.ts';
import { sizeProblem } from '../contract/options-problem.ts';
import type { RunSummary } from '../contract/session.ts';
import { bringPrompt, limitsOf, restOfGrant, withinGrant, withinPrompt } from '../delegated/grant.ts';
import { rulesBeside } from '../delegated/reserved.ts';
import { handoverDue, handoverIfDue } from '../session/handover.ts';
import { absorbAgents } from '../machine/absorb.ts';
import { absorbPrepared } from '../machine/compactions.ts';
import { contextAfterRun } from '../machine/context.ts';
import type { Performed } from '../machine/events.ts';
import { runLoop, type LoopEnd, type LoopPort } from '../machine/loop.ts';
import { showError, stopNotice } from '../machine/ends.ts';
import { limitEnd } from '../machine/limits.ts';
import { initialState, type RunState } from '../machine/state.ts';
import { snipAppend, userAppend } from '../machine/transitions.ts';
import { createPerform } from './perform.ts';
import type { RunContext } from './run-context.ts';
import { RunClock, RunLimits } from '../updates/run-limits.ts';
import { budgetSpent } from '../told/budget-spent.ts';
import { see, seenIn } from '../told/see.ts';
import { isBadEnd } from '../contract/visibility.ts';
import { idsOf, listed, placeAfter } from '../session/inbox.ts';
import { heldByNothing, type Held, type RunCarry } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';

/** A new run for the messages that wait. */
export async function openAndRun(session: Session): Promise<void> {
  const { messages, interrupted } = session.takeMessages();
  const { facts } = session;
  const before = facts.now.options;
  facts.beginRun(messages);
  const { head, runs, context } = facts.now;
  const startedAt = Date.now();
  session.beginRun({ state: initialState(head, []), ...heldByNothing });
  const isOfNews = messages.every(({ ended }) => ended);
  session.delegations.agents.beginRun(!isOfNews);
  if (interrupted) session.stop('interrupt');
  session.enter('running');
  const opened = await open(session, placeAfter(facts.now.place, messages));
  session.refusedOptions = opened.kind === 'refused' ? opened.detail : null;
  const ids = listed(idsOf(messages));
  if ('alerts' in opened) facts.knowAlerts(opened.alerts);
  const { snips } = facts.now;
  facts.dropSnips(snips);
  const loss = [...facts.takeLoss(), ...budgetSpent(facts.now.last)];
  const users = [...session.steered.take(), ...snipAppend(snips), ...messages.map(userAppend)];
  if (opened.kind !== 'opened') {
    facts.failToOpen(opened.kind === 'refused' ? 'refused' : 'failed', before);
    const end = endUnopened(opened);
    const state = initialState(head, [...loss, ...users], context);
    await finish(session, { ...end, state }, { messages: ids, startedAt, config: null });
    return;
  }
  facts.openRun(opened.place ?? null, opened.host ?? null);
  if (opened.host) session.told.change();
  const { config, models } = opened;
  const ofPrompt = isOfNews ? withinPrompt(opened.rules, session) : opened.rules;
  const rules = withinGrant(ofPrompt, restOfGrant(session));
  const begun = { kind: 'run_started', run: runs, config, at: startedAt } as const;
  const state = initialState(head, [...loss, begun, ...users], context);
  const deadline = rules.timeoutMs === null ? null : startedAt + rules.timeoutMs;
  const spentTurns = rules.maxTurns < 1 && limitEnd({ ...state, turn: opened.rules.maxTurns }, opened.rules, 'turns');
  if (spentTurns) return await finish(session, { ...spentTurns, state }, { messages: ids, startedAt, config });
  const whole = isOfNews ? { whole: limitsOf(opened.rules) } : {};
  const snapshot = { config, rules, ...(models === undefined ? {} : { models }), ...whole };
  await run(session, { snapshot, state, messages: ids, startedAt, deadline, ...heldByNothing });
}

/**
 * `failed`: the opening itself, not what it was asked for. `stopped`: while its host was waited
 * for.
 */
type Unopened =
  { readonly kind: 'failed'; readonly detail: string } | { readonly kind: 'stopped'; readonly by: StopCause };

function endUnopened(opened: Exclude<RunOpened | Unopened, { kind: 'opened' }>): Pick<LoopEnd, 'terminal' | 'append'> {
  if (opened.kind !== 'stopped') return showError({ reason: 'model_error', detail: opened.detail });
  return { terminal: { reason: 'aborted_streaming', by: opened.by }, append: stopNotice(opened.by) };
}

/**
 * A stop ends the hooks of the session's start (L47), which the next run asks again, never the
 * opening: the transcript says what each run was opened with.
 */
async function open(session: Session, place: Place | null): Promise<RunOpened | Unopened> {
  const { chain, runs, options, begun, refused, traceparent, querySource, host = null } = session.facts.now;
  const detail = refused ?? sizeProblem(options);
  if (detail !== undefined) return { kind: 'refused', detail };
  const onHost = place !== null && host !== null;
  const known = {
    ...(place && { place, ...(onHost && { onHost: true as const }) }),
    ...(session.input.agent && { agent: session.input.agent }),
    ...(traceparent && { traceparent }),
    ...(querySource && { querySource }),
  };
  const input = (): OpenRun => ({ chain, run: runs, step: session.facts.nextStep(), options, ...known });
  try {
    const opened =
      begun && !onHost
        ? null
        : await openStoppable(session, { ...input(), ...(begun ? {} : { begins: true as const }) });
    // A host that is away would be waited for in vain.
    if (opened === null && onHost && session.stopCause) return { kind: 'stopped', by: session.stopCause };
    return opened ?? (await CancellationScope.nonCancellable(() => session.ports.openRun(input())));
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return { kind: 'failed', detail: problem.detail };
  }
}

/** Null: it was stopped. */
async function openStoppable(session: Session, input: OpenRun): Promise<RunOpened | null> {
  try {
    const opened = await session.runScope.run(() => session.ports.openRun(input));
    if (opened.kind === 'opened') session.facts.askedHooks();
    return opened;
  } catch (error) {
    if (session.stopCause && (isCancellation(error) || error instanceof ActivityFailure)) return null;
    throw error;
  }
}

function deadlineOf({ deadline, leftMs = null }: RunCarry): number | null {
  return leftMs === null ? deadline : Date.now() + leftMs;
}

/** From `carry` on, to the end of the run. */
export async function run(session: Session, carry: RunCarry): Promise<void> {
  const { startedAt } = carry;
  session.knowModels(carry.snapshot.models);
  if (carry.parkedUntil === null) session.enter('running');
  let messages: readonly MessageId[] = carry.messages;
  const clock = new RunClock(deadlineOf(carry), () => session.stop('timeout'), session.pauses.ofRun);
  const limits = new RunLimits(carry.snapshot, clock);
  session.limitBy(limits);
  const rulesNow = (): Rules => rulesBeside(limits.snapshot.rules, session.delegations.agents);
  const settled = (state: RunState): RunState => {
    const left = session.beside.endSummaries(limits.snapshot.rules.summarySpend);
    const billed = { ...state, spend: addSpend(state.spend, left) };
    return absorbAgents(absorbPrepared(billed, session.beside.endPreparation()), session.delegations.agents.take());
  };
  let iterationAt = carry.iterationAt ?? (carry.state.iteration > 1 ? Date.now() : startedAt);
  const seeIteration = (iteration: number, reason: TransitionReason | TerminalReason): void => {
    const [from, to] = [iterationAt, Date.now()];
    iterationAt = to;
    see({ ...seenIn(session, iteration), kind: 'iteration', from, to, reason });
  };
  const carryRun = (state: RunState, held: Held): RunCarry => {
    const { snapshot } = limits;
    const { deadline, leftMs } = clock;
    return { iterationAt, snapshot, state: settled(state), messages, startedAt, deadline, leftMs, ...held };
  };
  const context: RunContext = {
    session,
    clock,
    carryRun,
    get snapshot() {
      return { ...limits.snapshot, rules: rulesNow() };
    },
  };
  const port: LoopPort = {
    perform: createPerform(context),
    has: patched,
    wentRound: (state, { transition }) => {
      session.reach(state);
      session.iterations += 1;
      seeIteration(state.iteration - 1, transition.reason);
      if (transition.reason === 'next_turn') {
        session.inbox.remove(transition.messages);
        session.facts.dropSnips(transition.snips);
        session.facts.bringOptions(transition.messages);
        messages = listed([...messages, ...idsOf(transition.messages)]);
        if (idsOf(transition.messages).length > 0) bringPrompt(session, limits, state);
      }
      return handoverDue(session) ? handoverIfDue(session, () => carryRun(state, heldByNothing)) : null;
    },
  };
  const end = await runLoop(carry.state, rulesNow, port, heldBack(carry));
  clock.stop();
  seeIteration(end.state.iteration, end.terminal.reason);
  const { config, rules } = limits.snapshot;
  const { until } = session.input;
  const ms = rules.timeoutMs === null ? 0 : rules.timeoutMs - (clock.leftMs ?? 0);
  await finish(session, { ...end, state: settled(end.state) }, { messages, startedAt, config, ms });
  const { head, runs } = session.facts.now;
  if (!rules.afterStop || end.terminal.reason !== 'completed' || head === null) return;
  session.beside.afterStop({ head, config, run: runs, step: session.facts.nextStep(), ...(until && { until }) });
}

/** The thing the run was waiting for when it was handed over. */
function heldBack({ tools, parkedUntil }: Held): Performed | undefined {
  if (tools) return { do: 'run_tools', calls: tools.calls, cut: tools.cut };
  return parkedUntil === null ? undefined : { do: 'park', waitMs: Math.max(0, parkedUntil - Date.now()) };
}

/** `config`: null where it could not be opened. `ms`: of its runtime limit, if it had one. */
type Finished = Pick<RunCarry, 'messages' | 'startedAt'> & { readonly config: Hash | null; readonly ms?: number };

/** Store what no model call will carry, and say how it ended (L39, L47). Nothing cancels this. */
async function finish(
  session: Session,
  { state, terminal, append }: LoopEnd,
  { messages, startedAt, config, ms = 0 }: Finished,
): Promise<void> {
  session.finishRun();
  const at = Date.now();
  const { runs } = session.facts.now;
  const summary = { run: runs, terminal, turns: state.turn, iterations: state.iteration, messages };
  const { spend, agents } = state;
  const ended: RunEnded = { ...summary, spend, ...(agents && { agents }), durationMs: at - startedAt, at };
  const all: readonly Append[] = [...state.pending, ...session.steered.take(), ...append, { kind: 'run_ended', ended }];
  const head = await commitEntries(session, state.head, all);
  const last: RunSummary = { ...summary, head };
  const model = session.run?.models?.[state.modelPosition];
  const spent = { turns: state.turn, spend, ms, ...(model === undefined ? {} : { model }) };
  const about = { ...seenIn(session, state.iteration), from: startedAt, to: at, turns: state.turn, spend };
  see({ ...about, kind: 'run_ended', reason: terminal.reason, bad: isBadEnd(terminal), model: model ?? null });
  session.alerts.ended(ended, config);
  session.facts.endRun({ head, last, spent, context: contextAfterRun(state, patched) });
  session.endRun();
}

// Stores what no model call will carry, whatever is cancelled meanwhile (L39, L47, L49).

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * The new head; `head` when what is stored is damaged: what cannot be read cannot be continued, and
 * the memo says the rest. After any other failure it is tried again, for what is to be stored is
 * nowhere else.
 */
export async function commitEntries(
  session: Session,
  head: Hash | null,
  append: readonly Append[],
): Promise<Hash | null> {
  return CancellationScope.nonCancellable(async () => {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return (await session.ports.commit({ head, append, step: session.facts.nextStep() })).head;
      } catch (error) {
        const problem = activityProblem(error);
        if (problem === null) throw error;
        if (problem.damaged) return head;
      }
      await sleep(pause);
    }
  });
}
