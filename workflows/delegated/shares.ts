// Divides the limits of a run among its agents (L68, L69): how many agents may work, what each is
// granted, and what the run keeps.
// Counts over a session's runs what runs and agents have spent (L69, L71).
import type { AgentSpending, AgentWork } from '../contract/delegation.ts';
import type { CallKey, Hash } from '../contract/ids.ts';
import {
  addSpend,
  noSpend,
  nothingSpent,
  type RemainingBudget,
  type RunSnapshot,
  type Spend,
  type SpentTotals,
  totalTokens,
} from '../contract/loop.ts';
import { spendableLeft } from '../machine/limits.ts';
import type { RunState } from '../machine/state.ts';

/** Divides a budget: the parent keeps a share as large as that of each agent it starts together. */
export function shareOf({ usd, tokens }: RemainingBudget, shares: number): RemainingBudget {
  return {
    ...(usd !== undefined && { usd: usd / shares }),
    ...(tokens !== undefined && { tokens: Math.floor(tokens / shares) }),
  };
}

export function isUsedUp({ usd, tokens }: RemainingBudget): boolean {
  return (usd !== undefined && usd <= 0) || (tokens !== undefined && tokens < 1);
}

export const hasAny = ({ usd = 0, tokens = 0 }: RemainingBudget): boolean => usd > 0 || tokens > 0;

export function sumBudgets(granted: readonly RemainingBudget[]): Required<RemainingBudget> {
  const sum = (key: keyof RemainingBudget): number => granted.reduce((total, one) => total + (one[key] ?? 0), 0);
  return { usd: sum('usd'), tokens: sum('tokens') };
}

/** The run that starts an agent: the grant is made of its state and its limits. */
export type GrantingRun = {
  readonly state: RunState;
  readonly snapshot: RunSnapshot;
  /** Milliseconds left of the runtime limit; null without one. */
  readonly leftMs: number | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
};

/** An agent that has not reported its end. */
export type WorkingAgent = Omit<AgentSpending, 'spend'> & {
  readonly key: CallKey;
  /** The task: an identical one is not started while this agent works (L68). */
  readonly does: string;
  readonly granted: RemainingBudget;
  /**
   * `lost`: ended from outside; what it took is unknown, so nothing of its grant returns. `past`:
   * of an earlier run.
   */
  readonly state: 'open' | 'lost' | 'past';
  /** Milliseconds since the epoch: since then it has been in the background (L71). */
  readonly background?: number;
  /** The call that asked for its end is told it, and the model is not told again. */
  readonly quiet?: boolean;
  /**
   * It was begun before the last message of a person: its grant is not part of that prompt's
   * limits.
   */
  readonly earlier?: true;
  /** The configuration of the run that began it; absent where an earlier release did. */
  readonly config?: Hash;
};

/** Agents in the background at a time (L71). */
const MOST_BACKGROUND = 8;

type AgentCount = {
  readonly working: readonly WorkingAgent[];
  readonly background: readonly WorkingAgent[];
  readonly started: number;
};
type WantedAgent = Pick<AgentWork, 'most'> & { readonly does: string; readonly background: boolean };

/** Returns a sentence that says why another agent may not start, or null (L68). */
export function countProblem(agents: AgentCount, { does, most, background }: WantedAgent): string | null {
  const open = agents.working.filter((each) => each.state === 'open' || each.background !== undefined);
  const same = open.find((each) => each.does === does);
  if (same) return `Not run: an agent with the same prompt and type is at work already (session ${same.session}).`;
  if (open.length >= most.open)
    return `Not run: ${open.length} agents are at work, and no more than ${most.open} may be at a time.`;
  if (background && agents.background.length >= MOST_BACKGROUND)
    return `Not run: ${agents.background.length} agents are at work in the background, and no more than ${MOST_BACKGROUND} may be at a time.`;
  if (agents.started < most.perRun) return null;
  return `Not run: this run has started ${agents.started} agents, and no more than ${most.perRun} are allowed.`;
}

/**
 * Returns what is left of a run's limits for agents: without what is reserved for others, and
 * without the spending that the run has not counted yet.
 */
export function budgetForAgents(
  { state, snapshot: { rules } }: GrantingRun,
  spending: readonly AgentSpending[],
  reserved: Required<RemainingBudget>,
): RemainingBudget {
  const { usd, tokens } = spendableLeft(state, rules) ?? {};
  const used = spending.reduce((sum, { spend }) => addSpend(sum, spend), noSpend);
  return {
    ...(usd !== undefined && { usd: usd - (used.usd ?? 0) - reserved.usd }),
    ...(tokens !== undefined && { tokens: tokens - totalTokens(used.usage) - reserved.tokens }),
  };
}

/** The spending of a run until now. `ms`: of its runtime limit. */
export type RunTaken = { readonly turn: number; readonly spend: Spend; readonly ms: number };

export type SpentSince = { readonly spent?: SpentTotals; readonly since?: SpentTotals };

/** The spending of an agent that no run counts. */
export type LateSpent = AgentSpending & Pick<WorkingAgent, 'earlier'>;

export type LateBill = Pick<LateSpent, 'spend' | 'earlier'>;

/**
 * Adds the spending of late agents to that of the session. An agent of an earlier prompt does not
 * count for the last one.
 */
export function billLate({ spent: totals = nothingSpent, since }: SpentSince, late: readonly LateBill[]): SpentSince {
  const billed = (to: SpentTotals, by: readonly LateBill[]): SpentTotals => ({
    ...to,
    spend: by.reduce((sum, one) => addSpend(sum, one.spend), to.spend),
  });
  const earlier = late.filter((each) => each.earlier);
  return { spent: billed(totals, late), ...(since && earlier.length > 0 && { since: billed(since, earlier) }) };
}
