// The shares that the agents of a run have of its limits (L68, L69): how many agents may work, what
// each is granted, and what the run keeps.
import type { AgentSpent, AgentWork } from '../contract/delegation.ts';
import type { CallKey, Hash } from '../contract/ids.ts';
import { addSpend, noSpend, totalTokens, type Left, type RunSnapshot } from '../contract/loop.ts';
import { leftOf } from '../machine/limits.ts';
import type { RunState } from '../machine/state.ts';

/** The parent keeps a share as large as each of those that it starts together. */
export function shareOf({ usd, tokens }: Left, shares: number): Left {
  return {
    ...(usd === undefined ? {} : { usd: usd / shares }),
    ...(tokens === undefined ? {} : { tokens: Math.floor(tokens / shares) }),
  };
}

export function isNothing({ usd, tokens }: Left): boolean {
  return (usd !== undefined && usd <= 0) || (tokens !== undefined && tokens < 1);
}

export const isSome = ({ usd = 0, tokens = 0 }: Left): boolean => usd > 0 || tokens > 0;

export function sumOf(granted: readonly Left[]): Required<Left> {
  const sum = (key: keyof Left): number => granted.reduce((total, one) => total + (one[key] ?? 0), 0);
  return { usd: sum('usd'), tokens: sum('tokens') };
}

/** The run that starts an agent: of its state and its limits the grant is made. */
export type Granting = {
  readonly state: RunState;
  readonly snapshot: RunSnapshot;
  /** Of the runtime limit; null without one. */
  readonly leftMs: number | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
};

/** An agent that has not reported its end. */
export type Working = Omit<AgentSpent, 'spend'> & {
  readonly key: CallKey;
  /** What it is to do: an identical one is not started beside it (L68). */
  readonly does: string;
  readonly granted: Left;
  /**
   * `lost`: ended from outside; what it took is not known, so that nothing of its grant returns.
   * `past`: of a run before.
   */
  readonly state: 'open' | 'lost' | 'past';
  /** Milliseconds since the epoch: in the background since then (L71). */
  readonly background?: number;
  /** Its end is told by the call that asked for it. */
  readonly quiet?: boolean;
  /**
   * It was begun before the last message of a person: what it has and takes is no part of that
   * prompt's limits.
   */
  readonly earlier?: true;
  /** Of the run that began it; absent where an earlier release did. */
  readonly config?: Hash;
};

/** Agents in the background at a time (L71). */
const MOST_BACKGROUND = 8;

type Counted = {
  readonly working: readonly Working[];
  readonly background: readonly Working[];
  readonly started: number;
};
type Wanted = Pick<AgentWork, 'most'> & { readonly does: string; readonly background: boolean };

/** A sentence that says why another is not started (L68). */
export function countProblem(agents: Counted, { does, most, background }: Wanted): string | null {
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
 * Of a run's limits, without what is reserved for others, and what agents took that the run has not
 * counted.
 */
export function leftFor(
  { state, snapshot: { rules } }: Granting,
  spent: readonly AgentSpent[],
  reserved: Required<Left>,
): Left {
  const { usd, tokens } = leftOf(state, rules) ?? {};
  const taken = spent.reduce((sum, { spend }) => addSpend(sum, spend), noSpend);
  return {
    ...(usd === undefined ? {} : { usd: usd - (taken.usd ?? 0) - reserved.usd }),
    ...(tokens === undefined ? {} : { tokens: tokens - totalTokens(taken.usage) - reserved.tokens }),
  };
}
