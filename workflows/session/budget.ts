// The session's budget (G69): what all runs of a session and their agents may cost together. A run
// that reaches it waits until it is raised or removed; a step that has begun is finished first.
import { condition, isCancellation, patched } from '@temporalio/workflow';
import { noSpend, type Rules, type Spend, type SpentTotals } from '../contract/loop.ts';
import type { OptionChanges, RunOptions } from '../contract/session.ts';
import { BUDGET_CHANGE, type BudgetEntry } from '../contract/waits.ts';
import type { RemainingBudget } from '../contract/loop.ts';
import { waitAtBudget } from '../machine/absorb.ts';
import type { Event } from '../machine/events.ts';
import { isAtSessionBudget } from '../machine/limits.ts';
import type { RunState } from '../machine/state.ts';
import type { RunContext } from '../run/run-context.ts';
import { describePlace, reportSeen } from '../told/report-seen.ts';
import { canHandOver, handOverSession } from './handover.ts';
import { notWaiting } from './session-state.ts';

/** A session as far as its budget concerns it. `spent`: what the runs that have ended took. */
export type BudgetedSession = {
  readonly facts: { readonly now: { readonly options: RunOptions; readonly spent?: SpentTotals } };
  readonly delegations: { readonly agents: { readonly reservedBefore: RemainingBudget; readonly uncounted: Spend } };
};

/** Adds what the session's budget leaves for a run, from its beginning on, to the rules of the run. */
export function withSessionBudget(rules: Rules, { facts, delegations }: BudgetedSession): Rules {
  const { options, spent } = facts.now;
  if (options.sessionBudgetUsd === undefined) return rules;
  const taken = (spent?.spend.usd ?? 0) + (delegations.agents.reservedBefore.usd ?? 0);
  return { ...rules, waitAtUsd: Math.max(0, options.sessionBudgetUsd - taken) };
}

/**
 * Returns a sentence that says why the session does not take the budget of these changes, or
 * undefined. `run`: null when nothing runs.
 */
export function sessionBudgetProblem(
  { sessionBudgetUsd: budget }: OptionChanges,
  session: BudgetedSession & { readonly run: { readonly state: Pick<RunState, 'spend'> } | null },
): string | undefined {
  if (typeof budget !== 'number') return undefined;
  const spends = [session.facts.now.spent?.spend, session.run?.state.spend, session.delegations.agents.uncounted];
  const usd = spends.reduce((sum, spend) => sum + (spend?.usd ?? 0), 0);
  if (budget > usd) return undefined;
  return `the session has cost ${usd.toFixed(4)} US dollars already: give a budget above that, or null for none`;
}

/** Waits until the session's budget is raised or removed, or a stop comes. Nothing runs meanwhile. */
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
  const isOver = (): boolean =>
    session.stopCause !== null || !isAtSessionBudget(waiting, context.snapshot.rules);
  while (!isOver()) {
    await condition(() => isOver() || canHandOver(session));
    if (!isOver() && canHandOver(session)) await handOverSession(session, context.carryRun(waiting, notWaiting));
  }
}

/** Lowers the budget by what agents have reported and the run has not counted yet. */
export function withoutUncounted(rules: Rules, { usd }: Spend = noSpend): Rules {
  const { waitAtUsd } = rules;
  return waitAtUsd === undefined || !usd ? rules : { ...rules, waitAtUsd: Math.max(0, waitAtUsd - usd) };
}
