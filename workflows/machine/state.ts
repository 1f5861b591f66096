// The loop's state: one immutable value, replaced whole (L1). It is plain data of bounded size,
// because it travels through continue-as-new (L4).
import type { Append, ToolContextState } from '../contract/activities.ts';
import type { AgentSpending } from '../contract/delegation.ts';
import type { Hash } from '../contract/ids.ts';
import type { CompactionRequest } from '../contract/session.ts';
import type { Goal } from '../contract/goals.ts';
import type { CutReply } from './events.ts';
import { noSpend, type RunLimit, type Spend, type TransitionReason } from '../contract/loop.ts';

/**
 * Changes of rules that sessions of earlier releases do not have. The workflow says which of them a
 * run has.
 */
type RuleChange =
  | 'perdure-answer-recoveries'
  | 'perdure-cut-room'
  | 'perdure-left-out'
  | 'perdure-recount'
  | 'perdure-same-results'
  | 'perdure-text-calls'
  | 'perdure-uncounted-context';

/** Tells whether the run has a change; it may note that in its history. */
export type HasChange = (change: RuleChange) => boolean;

/** How many transitions the workflow keeps; the full list is in the transcript (L3). */
export const KEPT_TRANSITIONS = 32;

export type RunState = {
  /** The transcript's head: everything stored so far. */
  readonly head: Hash | null;
  /** Entries since then, in order: they go with the next call or commit. */
  readonly pending: readonly Append[];
  /** From 1. The prompt opens turn 1, each `next_turn` another. */
  readonly turn: number;
  /** From 1. Every transition opens another. */
  readonly iteration: number;
  /** `max_output_tokens_recovery` since the last reset (L27). */
  readonly recoveries: number;
  /** max_tokens raised by `max_output_tokens_escalate`, else null (L26). */
  readonly capOverride: number | null;
  /** The most tokens that the API lets the current model answer with, once it has said so (L26). */
  readonly maxOutput: number | null;
  /**
   * Tokens that the current model's window holds, once the API has said so (L24). It overrides the
   * window that the run was opened with.
   */
  readonly window?: number | null;
  /**
   * The cut reply that a request with a raised cap is to replace (L26): kept after all when the API
   * refuses that (L27).
   */
  readonly replaced: ReplacedReply | null;
  /** The request tells watchers the previous reply again. */
  readonly retells: boolean;
  /** `collapse_drain_retry` happened since the last reset (L23). */
  readonly drained: boolean;
  /** `reactive_compact_retry` happened since the last reset (L24). */
  readonly compacted: boolean;
  readonly stopHookActive: boolean;
  /** `stop_hook_blocking` in this run; nothing resets it (L30). */
  readonly stopHookRounds: number;
  /** 0 is the primary model, n the nth fallback (L19). */
  readonly modelPosition: number;
  /** The call that failed last and how many times in a row (L34). */
  readonly failing: { readonly signature: string; readonly times: number } | null;
  /** The replies in a row that brought nothing new; absent without any (L34). */
  readonly repeats?: Repeats | null;
  /** `call_as_text_retry` happened since the last `next_turn` (L15). */
  readonly textCallRetried?: boolean;
  /** The step whose deltas the next request replaces (L26). */
  readonly supersedes: number | null;
  /** Failed attempts of the parked call or compaction, for its next attempt (L14). */
  readonly failures: number;
  /** How many of them were overloads (L19). */
  readonly overloads: number;
  /** Tokens in context at the last reply, all kinds; 0 before the first. */
  readonly contextTokens: number;
  /** An estimate of the outcomes since the last reply (L10). */
  readonly newerTokens: number;
  /** The tokens that committing each staged collapse would save, oldest first (L9). */
  readonly staged: readonly number[];
  readonly compaction: CompactionTracking;
  /** Tokens left of the task budget since the first compaction (L11). */
  readonly taskRemaining: number | null;
  readonly tokenBudget: BudgetTracker;
  /** `structured_output_retry` in this run (L53). */
  readonly structuredRetries: number;
  /** The changes that context modifiers left (L38). */
  readonly toolContext: ToolContextState | null;
  /**
   * The batch whose summary is being made while the model is called, and what is needed to make it
   * again (L42).
   */
  readonly pendingSummary: PendingSummary | null;
  /** The compaction that is being prepared while the run goes on (L9); absent without one. */
  readonly preparing?: Preparing | null;
  /**
   * What was true before the prepared boundary among the pending entries was counted as taken: it
   * may be left out (L9). Absent once it is known.
   */
  readonly beforePrepared?: BeforePrepared;
  /** The run sums the conversation up, and does nothing else (L10). */
  readonly demand?: CompactionRequest;
  /** What must be true when the run would end by itself; absent without a goal (X10). */
  readonly goal?: RunGoal;
  /** The spending of the run and of its agents. */
  readonly spend: Spend;
  /** Agents that have ended, oldest first; absent without any (L69). */
  readonly agents?: readonly AgentSpending[];
  /** The run waits at the session's budget, and the transcript says so (G69). */
  readonly isAtBudget?: true;
  /** The limit that ends the run after the call that sums up (L51). */
  readonly wrapUp: RunLimit | null;
  readonly transitions: readonly { readonly iteration: number; readonly reason: TransitionReason }[];
  readonly counts: Readonly<Partial<Record<TransitionReason, number>>>;
};

/**
 * `results`: the newest different calls with their results. `times`: how many replies in a row had
 * only these, the first among them.
 */
export type Repeats = { readonly results: readonly string[]; readonly times: number };

/** The cut reply as it was stored. `pending`: how many pending entries were stored with it. */
type ReplacedReply = CutReply & { readonly pending: number };

export type CompactionTracking = {
  /** Failures in a row (L10). */
  readonly failures: number;
  /** Compactions in a row within two turns of the one before. */
  readonly close: number;
  readonly lastTurn: number | null;
  /** The iteration of the last attempt: one succeeds or fails once before the model is called. */
  readonly triedIn: number | null;
  /**
   * The iteration in which old results were last shrunk, or could not be, before anything else
   * (L8).
   */
  readonly shrunkIn: number | null;
  /**
   * Tokens in context when collapses were last staged, or a preparation was last considered. Staged
   * collapses count as shown, so that committing them does not change it (L9).
   */
  readonly stagedAt: number | null;
};

/** Output tokens (L2, L31). */
type BudgetTracker = {
  readonly continuations: number;
  readonly lastDelta: number;
  readonly lastTotal: number;
};

/**
 * `made`: the boundary that the next request begins with; `saved`: tokens, an estimate. `keeps`:
 * the most that the preparation may be billed, kept back until its bill is known; absent without a
 * limit, and where an earlier release began it.
 */
export type Preparing = {
  readonly iteration: number;
  readonly keeps?: Spend;
  readonly made?: { readonly boundary: Hash; readonly saved: number };
};

type BeforePrepared = Pick<RunState, 'staged' | 'compaction' | 'taskRemaining' | 'contextTokens'>;

export type PendingSummary = { readonly head: Hash; readonly append: readonly Append[]; readonly iteration: number };

/**
 * `graded`: how often it was. `isDue`: it is graded before anything else. `unmet`: why it is not met
 * after the last round.
 */
export type RunGoal = Goal & { readonly graded: number; readonly isDue?: true; readonly unmet?: string };

/** The context that a session knows of when a run begins: the transcript outlives the run. */
export type ContextFacts = Pick<RunState, 'contextTokens' | 'staged'> & Partial<Pick<RunState, 'newerTokens'>>;

export const noContext: ContextFacts = { contextTokens: 0, staged: [] };

const noCompaction: CompactionTracking = {
  failures: 0,
  close: 0,
  lastTurn: null,
  triedIn: null,
  shrunkIn: null,
  stagedAt: null,
};

/** Returns the state of a new prompt: turn 1, and the primary model. */
export function initialState(
  head: Hash | null,
  pending: readonly Append[],
  { contextTokens, staged, newerTokens = 0 }: ContextFacts = noContext,
): RunState {
  return {
    head,
    pending,
    turn: 1,
    iteration: 1,
    recoveries: 0,
    capOverride: null,
    maxOutput: null,
    replaced: null,
    retells: false,
    drained: false,
    compacted: false,
    stopHookActive: false,
    stopHookRounds: 0,
    modelPosition: 0,
    failing: null,
    supersedes: null,
    failures: 0,
    overloads: 0,
    contextTokens,
    newerTokens,
    staged,
    compaction: noCompaction,
    taskRemaining: null,
    tokenBudget: { continuations: 0, lastDelta: 0, lastTotal: 0 },
    structuredRetries: 0,
    toolContext: null,
    pendingSummary: null,
    spend: noSpend,
    wrapUp: null,
    transitions: [],
    counts: {},
  };
}
