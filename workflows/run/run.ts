// One run from its opening, or from a handover, through the loop to its terminal reason.
import { patched } from '@temporalio/workflow';
import type { Hash, MessageId } from '../contract/ids.ts';
import {
  addSpend,
  type RemainingBudget,
  type Rules,
  type RunSnapshot,
  type TerminalReason,
  type TransitionReason,
} from '../contract/loop.ts';
import { bringPrompt, withoutReserved } from '../delegated/grant.ts';
import { absorbAgents } from '../machine/absorb.ts';
import { absorbPrepared } from '../machine/compactions.ts';
import type { Move, PerformedMove } from '../machine/events.ts';
import { type LoopEnd, type LoopPort, runLoop } from '../machine/loop.ts';
import type { RunState } from '../machine/state.ts';
import { handOverIfDue, isHandoverDue } from '../session/handover.ts';
import { idsFromPeople, listMessages } from '../session/inbox.ts';
import { withoutUncounted, withSessionBudget } from '../session/budget.ts';
import { notWaiting, type RunCarry, type RunWait } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';
import { describePlace, reportSeen } from '../told/report-seen.ts';
import { RunClock, RunLimits } from '../updates/run-limits.ts';
import { createPerform } from './perform.ts';
import type { RunContext } from './run-context.ts';
import { hasAny, sumBudgets } from '../delegated/shares.ts';
import type { Append, RunEnded } from '../contract/activities.ts';
import type { RunSummary } from '../contract/session.ts';
import { isBadEnd } from '../contract/visibility.ts';
import { contextAfterRun } from '../machine/context.ts';
import { commitEntries } from './commit-entries.ts';
import { present } from '../contract/present.ts';

/** Goes on with the run that `carry` holds, to its end. */
export async function runToEnd(session: Session, carry: RunCarry): Promise<void> {
  session.knowModels(carry.snapshot.models);
  if (carry.parkedUntil === null && !carry.state.isAtBudget) session.enterPhase('running');
  const run = new CurrentRun(session, carry);
  const port: LoopPort = {
    perform: createPerform(run),
    has: patched,
    wentRound: (state, move) => run.goRound(state, move),
  };
  await run.finish(await runLoop(carry.state, () => run.rules, port, moveToResume(carry)));
}

class CurrentRun implements RunContext {
  readonly session: Session;
  readonly clock: RunClock;
  private readonly limits: RunLimits;
  private readonly startedAt: number;
  private messages: readonly MessageId[];
  /** Milliseconds since the epoch: when the iteration under way began. */
  private iterationAt: number;

  constructor(session: Session, carry: RunCarry) {
    const { startedAt, snapshot, messages, state } = carry;
    this.session = session;
    this.startedAt = startedAt;
    this.messages = messages;
    this.clock = new RunClock(deadlineOf(carry), () => session.stop('timeout'), session.pauses.setRunPaused);
    this.limits = new RunLimits(snapshot, this.clock, startedAt);
    session.setLimits(this.limits);
    this.iterationAt = carry.iterationAt ?? (state.iteration > 1 ? Date.now() : startedAt);
  }

  get rules(): Rules {
    const { session } = this;
    const { agents } = session.delegations;
    const rules = withSessionBudget(this.limits.snapshot.rules, session);
    return withoutUncounted(rulesBesideAgents(rules, agents), agents.uncounted);
  }

  get snapshot(): RunSnapshot {
    return { ...this.limits.snapshot, rules: this.rules };
  }

  /**
   * Removes the messages and snips that the transition has used, and hands the session over when
   * that is due.
   */
  goRound(state: RunState, { transition }: Extract<Move, { do: 'go_round' }>): Promise<void> | null {
    const { session } = this;
    session.setState(state);
    session.iterations += 1;
    this.seeIteration(state.iteration - 1, transition.reason);
    if (transition.reason === 'next_turn') {
      const ids = idsFromPeople(transition.messages);
      session.inbox.remove(transition.messages);
      session.facts.dropSnips(transition.snips);
      session.facts.bringOptions(transition.messages);
      this.messages = listMessages([...this.messages, ...ids]);
      if (ids.length > 0) bringPrompt(session, this.limits, state);
    }
    return isHandoverDue(session) ? handOverIfDue(session, () => this.carryRun(state, notWaiting)) : null;
  }

  carryRun(state: RunState, wait: RunWait): RunCarry {
    const { iterationAt, messages, startedAt } = this;
    const { snapshot } = this.limits;
    const { deadline, leftMs } = this.clock;
    return { iterationAt, snapshot, state: this.settle(state), messages, startedAt, deadline, leftMs, ...wait };
  }

  async finish(end: LoopEnd): Promise<void> {
    const { session, clock, messages, startedAt } = this;
    clock.stop();
    this.seeIteration(end.state.iteration, end.terminal.reason);
    const { config, rules } = this.limits.snapshot;
    const { until } = session.input;
    const ms = rules.timeoutMs === null ? 0 : rules.timeoutMs - (clock.leftMs ?? 0);
    await finishRun(session, { ...end, state: this.settle(end.state) }, { messages, startedAt, config, ms });
    const { head, runs } = session.facts.now;
    if (!rules.afterStop || end.state.demand || end.terminal.reason !== 'completed' || head === null) return;
    session.sideWork.runAfterStop({ head, config, run: runs, step: session.facts.nextStep(), ...(until && { until }) });
  }

  /** Gives up the side work that still goes on, and counts what it has taken. */
  private settle(state: RunState): RunState {
    const { sideWork, delegations } = this.session;
    const left = sideWork.endSummaries(this.limits.snapshot.rules.summarySpend);
    const billed = { ...state, spend: addSpend(state.spend, left) };
    return absorbAgents(absorbPrepared(billed, sideWork.endPreparation()), delegations.agents.takeSpent());
  }

  private seeIteration(iteration: number, reason: TransitionReason | TerminalReason): void {
    const from = this.iterationAt;
    const to = Date.now();
    this.iterationAt = to;
    reportSeen({ ...describePlace(this.session, iteration), kind: 'iteration', from, to, reason });
  }
}

function deadlineOf({ deadline, leftMs = null }: RunCarry): number | null {
  return leftMs === null ? deadline : Date.now() + leftMs;
}

/** The thing the run was waiting for when it was handed over. */
function moveToResume({ tools, parkedUntil, state }: RunCarry): PerformedMove | undefined {
  if (state.isAtBudget) return { do: 'wait_at_budget' };
  if (tools) return { do: 'run_tools', calls: tools.calls, cut: tools.cut };
  return parkedUntil === null ? undefined : { do: 'park', waitMs: Math.max(0, parkedUntil - Date.now()) };
}

/**
 * Sessions of earlier releases could spend the grant of a lost foreground agent a second time.
 */
const LOST_GRANTS = 'perdure-lost-grants';

type AgentReserves = { readonly reservedBeside: RemainingBudget; readonly reservedByCalls: RemainingBudget };

/**
 * Keeps the run's own calls from spending what its agents hold of its limits (L69, L71). Lowers the
 * rules by what the run's agents may still take, or may have taken without a report.
 */
function rulesBesideAgents(rules: Rules, { reservedBeside, reservedByCalls }: AgentReserves): Rules {
  const all = hasAny(reservedByCalls) && patched(LOST_GRANTS);
  return withoutReserved(rules, all ? sumBudgets([reservedBeside, reservedByCalls]) : reservedBeside);
}

/**
 * `config`: null where the run could not be opened. `ms`: milliseconds taken of the runtime limit,
 * if the run had one.
 */
type FinishedRun = Pick<RunCarry, 'messages' | 'startedAt'> & { readonly config: Hash | null; readonly ms?: number };

/**
 * Stores the last entries, which no model call will carry, and how the run ended (L39, L47).
 * Nothing cancels this: storing is retried until it succeeds or what is stored is damaged.
 */
export async function finishRun(
  session: Session,
  { state, terminal, append }: LoopEnd,
  { messages, startedAt, config, ms = 0 }: FinishedRun,
): Promise<void> {
  session.finishRun();
  const at = Date.now();
  const { runs } = session.facts.now;
  const summary = { run: runs, terminal, turns: state.turn, iterations: state.iteration, messages };
  const { spend, agents } = state;
  const end: RunEnded = { ...summary, spend, ...(agents && { agents }), durationMs: at - startedAt, at };
  const all: readonly Append[] = [
    ...state.pending,
    ...session.facts.takeNews(),
    ...session.steered.take(),
    ...append,
    { kind: 'run_ended', ended: end },
  ];
  const head = await commitEntries(session, state.head, all);
  const last: RunSummary = { ...summary, head };
  const model = session.run?.models?.[state.modelPosition];
  const total = { turns: state.turn, spend, ms, ...present({ model }) };
  const about = { ...describePlace(session, state.iteration), from: startedAt, to: at, turns: state.turn, spend };
  reportSeen({ ...about, kind: 'run_ended', reason: terminal.reason, bad: isBadEnd(terminal), model: model ?? null });
  session.alerts.alertFailedRun(end, config);
  session.facts.endRun({ head, last, spent: total, context: contextAfterRun(state, patched) });
  session.endRun();
}
