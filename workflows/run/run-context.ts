// The context that a run performs its moves in.
// The wait of a run that has reached its session's budget (G69): a step that has begun was finished
// first, nothing runs meanwhile, and a handover carries the wait.
import { condition, isCancellation, patched } from '@temporalio/workflow';
import type { RunSnapshot } from '../contract/loop.ts';
import { BUDGET_CHANGE, type BudgetEntry } from '../contract/waits.ts';
import { waitAtBudget } from '../machine/absorb.ts';
import type { Event } from '../machine/events.ts';
import { isAtSessionBudget } from '../machine/limits.ts';
import type { RunState } from '../machine/state.ts';
import { canHandOver, handOverSession } from '../session/handover.ts';
import { notWaiting, type RunCarry, type RunWait } from '../session/session-state.ts';
import type { Session } from '../session/session.ts';
import { describePlace, reportSeen } from '../told/report-seen.ts';
import type { RunClock } from '../updates/run-limits.ts';

/** The model call, the tools and the approvals of one run share it. */
export type RunContext = {
  readonly session: Session;
  /** The snapshot as it is now: a person may have raised its limits since the run was opened. */
  readonly snapshot: RunSnapshot;
  readonly clock: RunClock;
  /** Returns the run as a handover carries it. */
  carryRun(state: RunState, wait: RunWait): RunCarry;
};

/** Waits until the session's budget is raised or removed, or a stop comes. Nothing runs then. */
export async function waitAtSessionBudget(context: RunContext, state: RunState): Promise<Event> {
  const { session, clock } = context;
  clock.pause();
  const since = Date.now();
  const waiting = state.isAtBudget ? state : await storeWait(context, state);
  session.setState(waiting);
  session.enterPhase('parked');
  try {
    await session.runScope.run(() => awaitRaise(context, waiting));
  } catch (error) {
    // Anything else that is thrown is the handover itself.
    if (!isCancellation(error)) throw error;
  }
  const { isAtBudget: _, ...left } = waiting;
  session.setState(left);
  reportSeen({ ...describePlace(session, state.iteration), kind: 'parked', from: since, to: Date.now() });
  clock.resume();
  session.enterPhase('running');
  const stop = session.stopCause;
  const append = stop ? [] : [...session.steered.take(), entryOf(context, waiting, 'left')];
  return {
    kind: 'waited_at_budget',
    head: waiting.head,
    append,
    stop,
    ...session.delegations.agents.takeSpent(),
  };
}

/** What is pending comes before the wait in the transcript. */
async function storeWait(context: RunContext, state: RunState): Promise<RunState> {
  const { session } = context;
  // An earlier release cannot replay what follows, and is told so.
  patched(BUDGET_CHANGE);
  const entries = [...state.pending, ...session.steered.take(), entryOf(context, state, 'reached')];
  return waitAtBudget(state, await session.commit(state.head, entries));
}

const entryOf = ({ session }: RunContext, { spend }: RunState, state: BudgetEntry['state']): BudgetEntry => ({
  kind: 'budget',
  state,
  limitUsd: session.facts.now.options.sessionBudgetUsd ?? null,
  spend,
  at: Date.now(),
});

/** Agents that end give back what they left of their shares, which may end the wait, too (L69). */
async function awaitRaise(context: RunContext, waiting: RunState): Promise<void> {
  const { session } = context;
  const isOver = (): boolean => session.stopCause !== null || !isAtSessionBudget(waiting, context.snapshot.rules);
  while (!isOver()) {
    await condition(() => isOver() || canHandOver(session));
    if (!isOver() && canHandOver(session)) await handOverSession(session, context.carryRun(waiting, notWaiting));
  }
}
