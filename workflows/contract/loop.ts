// The vocabulary of the loop: why it continued, why it ended, what a run may spend.
import type { Hash } from './ids.ts';

/** Why an iteration was followed by another. Exactly one place in the machine produces each. */
export type TransitionReason =
  | 'next_turn'
  | 'collapse_drain_retry'
  | 'reactive_compact_retry'
  | 'max_output_tokens_escalate'
  | 'max_output_tokens_recovery'
  | 'stop_hook_blocking'
  | 'goal_revision'
  | 'token_budget_continuation'
  | 'model_fallback'
  | 'structured_output_retry'
  | 'call_as_text_retry';

/** Why a run ended, with what each reason carries. */
export type Terminal =
  | { readonly reason: 'completed' }
  | { readonly reason: 'max_turns'; readonly limit: number; readonly turnNotTaken: number }
  | { readonly reason: 'aborted_streaming'; readonly by: StopCause }
  | { readonly reason: 'aborted_tools'; readonly by: StopCause }
  | { readonly reason: 'prompt_too_long'; readonly detail: string }
  | { readonly reason: 'image_error'; readonly detail: string }
  | { readonly reason: 'max_output_tokens'; readonly detail: string }
  | { readonly reason: 'model_error'; readonly detail: string; readonly status?: number }
  | { readonly reason: 'blocking_limit'; readonly detail: string }
  | { readonly reason: 'stop_hook_prevented'; readonly detail: string }
  | { readonly reason: 'hook_stopped'; readonly detail: string }
  /** `detail`: what the last grading says is missing (X10). */
  | { readonly reason: 'goal_not_met'; readonly detail: string }
  /**
   * `reserved…`: the part of the limit that is kept for agents without a known end: in the
   * background, lost, or given up (L69, L71).
   */
  | {
      readonly reason: 'budget_exceeded';
      readonly limitUsd: number;
      readonly spentUsd: number;
      readonly reservedUsd?: number;
    }
  | {
      readonly reason: 'budget_exceeded';
      readonly limitTokens: number;
      readonly spentTokens: number;
      readonly reservedTokens?: number;
    }
  | { readonly reason: 'timeout'; readonly limitMs: number }
  | { readonly reason: 'permission_denied'; readonly detail: string }
  | { readonly reason: 'fatal_tool_error'; readonly detail: string }
  | { readonly reason: 'structured_output_failed'; readonly detail: string };

export type TerminalReason = Terminal['reason'];

/** A limit that a run can reach (L45, L51). */
export type RunLimit = 'cost' | 'tokens' | 'time' | 'turns';

/**
 * The stop of a run from outside (L47–L51): by a person, a newer message, the session's
 * cancellation or the runtime limit.
 */
export type StopCause = 'interrupt' | 'message' | 'cancel' | 'timeout';

export const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const;
/** How much a model puts into a reply, from the least on (X2). */
export type Effort = (typeof efforts)[number];

/** Tokens as the API counts them. */
export type Usage = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
};

export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  };
}

/**
 * US dollars per million tokens. `cacheWrite`: kept for five minutes; `cacheWrite1h`: kept for an
 * hour, absent when the price is the same.
 */
type TokenPrices = Usage & { readonly cacheWrite1h?: number };

/**
 * The prices of a model. Everything but the four kinds of tokens is absent in what an earlier
 * release opened.
 */
export type ModelPrice = TokenPrices & {
  /**
   * The prices of every token, the answer's included, of a request whose prompt has more than
   * `tokens`.
   */
  readonly above?: TokenPrices & { readonly tokens: number };
  /** Factors of the prices of a reply's tokens, by what the reply says of itself. */
  readonly factors?: { readonly us?: number; readonly fast?: number; readonly batch?: number };
  /** US dollars for one search of the web by the server. */
  readonly webSearch?: number;
};

/** Returns the cost of one request in US dollars. */
export function costOf(usage: Usage, price: ModelPrice): number {
  const at = pricesFor(usage, price);
  const perMillion =
    usage.input * at.input +
    usage.output * at.output +
    usage.cacheRead * at.cacheRead +
    usage.cacheWrite * at.cacheWrite;
  return perMillion / 1_000_000;
}

/**
 * Chooses the prices by the size of the prompt, which is all that was read, from a cache or not.
 */
export function pricesFor({ input, cacheRead, cacheWrite }: Usage, price: ModelPrice): TokenPrices {
  const { above } = price;
  return above && input + cacheRead + cacheWrite > above.tokens ? above : price;
}

/** Usage and cost. `usd` is null as soon as one call's model has no known price. */
export type Spend = { readonly usage: Usage; readonly usd: number | null };

export const noSpend: Spend = { usage: noUsage, usd: 0 };

/**
 * The spending of all runs of a session, and the model that was asked last. `ms`: the time of runs
 * with a runtime limit.
 */
export type SpentTotals = {
  readonly turns: number;
  readonly spend: Spend;
  readonly model?: string;
  readonly ms?: number;
};

export const nothingSpent: SpentTotals = { turns: 0, spend: noSpend };

export function addSpend(a: Spend, b: Spend): Spend {
  return { usage: addUsage(a.usage, b.usage), usd: a.usd === null || b.usd === null ? null : a.usd + b.usd };
}

/** The rest of each limit of a run (L51): US dollars, and tokens of all kinds. */
export type RemainingBudget = { readonly usd?: number; readonly tokens?: number };

/** Returns the limit that is used up, or null. */
export function spentLimit({ usd, tokens }: RemainingBudget, spend: Spend): 'cost' | 'tokens' | null {
  if (usd !== undefined && (spend.usd ?? 0) >= usd) return 'cost';
  return tokens !== undefined && totalTokens(spend.usage) >= tokens ? 'tokens' : null;
}

/** Counts tokens of all kinds. */
export function totalTokens({ input, output, cacheRead, cacheWrite }: Usage): number {
  return input + output + cacheRead + cacheWrite;
}

/** The limits of one model that the machine needs, in tokens. */
export type ModelLimits = {
  /** The context window. */
  readonly window: number;
  /** max_tokens of a request without an override (L26). */
  readonly outputCap: number;
  /** The most that `outputCap` may be raised to: the model's own maximum (L26). */
  readonly raisedOutputCap: number;
  /**
   * A cap is never above what the window leaves, but at least this. Absent in what an earlier
   * release opened, where the window is not looked at.
   */
  readonly leastOutputCap?: number;
  /** Its API sums up its own conversation while the run goes on (L9). */
  readonly summarizesItself?: true;
  /** The model's prices; null when they are unknown. */
  readonly price: ModelPrice | null;
};

/**
 * The limits `decide` works with, snapshotted when the run starts (L57). Times in milliseconds,
 * sizes in tokens. `rulesVersion` names the rule set a run was started under.
 */
export type Rules = {
  readonly rulesVersion: 1;
  readonly maxTurns: number;
  readonly maxBudgetUsd: number | null;
  /** Tokens of all kinds over all calls of the run (L51). */
  readonly maxTokens: number | null;
  readonly timeoutMs: number | null;
  /**
   * How much lower the limits above are than those that were set, because of agents without a known
   * end (L69, L71).
   */
  readonly reserved?: RemainingBudget;
  /** Before a limit ends the run, one more call sums up; its own calls do not run (L51). */
  readonly wrapUp: boolean;
  /** The primary model, then its fallbacks in order (L19). */
  readonly models: readonly [ModelLimits, ...ModelLimits[]];
  /** The caller chose `outputCap`: it is never raised (L26). */
  readonly outputCapFixed: boolean;
  readonly maxOutputRecoveries: number;
  readonly maxSameFailures: number;
  /**
   * Replies in a row whose calls give only what they gave before; null: no bound. Absent in what an
   * earlier release opened, where nobody is told of them either (L34).
   */
  readonly maxSameResults?: number | null;
  /** An estimate of the system prompt and the tools, which no compaction can remove (L12). */
  readonly fixedTokens: number;
  readonly compaction: CompactionRules;
  /** Output tokens the run is to spend before it may stop by itself (L31). */
  readonly tokenBudget: number | null;
  /** Tokens, told to the API and carried over compactions (L11). */
  readonly taskBudget: number | null;
  /** The final answer must satisfy a JSON schema (L53). */
  readonly structured: boolean;
  readonly maxStructuredRetries: number;
  /** The worker that opened the run has stop hooks (L30). */
  readonly stopHooks: boolean;
  readonly maxStopHookRounds: number;
  /** Each batch of calls is summarised in a line (L42). */
  readonly batchSummaries: boolean;
  /** An estimate of one summary at its largest, counted where its bill stays unknown (L51). */
  readonly summarySpend: Spend;
  /** The worker has handlers for a natural end (L56). */
  readonly afterStop: boolean;
  /** How long an approval may take; then the call is denied (L55). */
  readonly approvalMs: number;
  /** The transcript says which calls wait, and how each wait ended (G37). */
  readonly recordWaits?: true;
  /** It says, too, which agents of its roster have begun (G68). */
  readonly recordThreads?: true;
  /** The session had a budget when the run was opened: no call begins with its reply (G69). */
  readonly waitsAtBudget?: true;
  /**
   * US dollars of the run at which it waits: what earlier runs and agents have left of the
   * session's budget (G69). Absent without one; never part of a snapshot.
   */
  readonly waitAtUsd?: number;
};

/** `warning` and `critical` are shares of the window (L9, L10). */
export type CompactionRules = {
  readonly enabled: boolean;
  readonly collapse: boolean;
  readonly warning: number;
  readonly critical: number;
  /** Failures in a row after which autocompact is off for the run. */
  readonly maxFailures: number;
  /** Compactions within two turns of each other that end the run. */
  readonly maxClose: number;
};

/** The run's snapshot: where its configuration is stored, and the rules the machine needs of it. */
export type RunSnapshot = {
  readonly config: Hash;
  readonly rules: Rules;
  /** The names of `rules.models`. Absent in what an earlier release opened. */
  readonly models?: readonly string[];
  /**
   * The limits that a person's message brings; present while only ends of agents have opened the
   * run (L71).
   */
  readonly whole?: Limits;
  /** Rules that a person gave the run while it was under way. Absent: none. */
  readonly granted?: readonly string[];
};

export type Limits = Pick<Rules, 'maxTurns' | 'maxBudgetUsd' | 'maxTokens' | 'timeoutMs'>;

export const CHARACTERS_PER_TOKEN = 4;

export function estimateTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
