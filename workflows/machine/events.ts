// Events happen to a run; moves are what the machine wants done next. `perform` turns a move into
// the next event.
import type {
  Append,
  BatchSummary,
  Call,
  CollapseResult,
  CompactionResult,
  CompactionTrigger,
  GradeResult,
  ModelResult,
  OutcomeFacts,
  OutcomeItem,
  PreparedCompaction,
  StopHooksRan,
} from '../contract/activities.ts';
import type { AgentSpending } from '../contract/delegation.ts';
import type { Hash } from '../contract/ids.ts';
import type { RunLimit, Spend, StopCause, Terminal } from '../contract/loop.ts';
import type { UserMessage } from '../contract/session.ts';

export type Event =
  /**
   * Time to call the model: the run was opened, went round, or came back from parking or a
   * handover.
   */
  | { readonly kind: 'ready' }
  /**
   * The model call ended. `step` names its live file; `stop` is the stop that cancelled it, if one
   * did.
   */
  | ModelEnded
  | ToolsRan
  | {
      readonly kind: 'compacted';
      readonly result: CompactionResult;
      readonly move: Extract<Move, { do: 'compact' }>;
      readonly stop: StopCause | null;
    }
  | { readonly kind: 'collapsed'; readonly result: CollapseResult; readonly stop: StopCause | null }
  /**
   * `begins`: false where the limits would not pay for the preparation, and for a run that an
   * earlier release began. `keeps`: see `Preparing`.
   */
  | { readonly kind: 'preparing'; readonly begins: boolean; readonly keeps?: Spend }
  /** The preparation that the run waited for has ended. */
  | ({ readonly kind: 'prepared'; readonly because: RoomCause; readonly stop: StopCause | null } & TakenPreparation)
  | { readonly kind: 'hooks_ran'; readonly ran: StopHooksRan; readonly stop: StopCause | null }
  | { readonly kind: 'graded'; readonly result: GradeResult; readonly stop: StopCause | null }
  | { readonly kind: 'stopped'; readonly stop: StopCause }
  /**
   * The wait at the session's budget is over (G69). `head`: with what was pending before it.
   * `append`: what the wait leaves for the next step.
   */
  | {
      readonly kind: 'waited_at_budget';
      readonly head: Hash | null;
      readonly append: readonly Append[];
      readonly stop: StopCause | null;
      readonly agents?: readonly AgentSpending[];
    };

/**
 * The refused request for which room must be made at once; it is shown if nothing helps (L24, L25).
 * Null before a request is made.
 */
export type RoomCause = Extract<Terminal, { reason: 'prompt_too_long' | 'image_error' }> | null;

/** `iteration`: the one that began the preparation. */
export type TakenPreparation = {
  readonly prepared?: { readonly iteration: number; readonly result: PreparedCompaction };
};

/** `summary`: the summary of the batch before, if it was made by the time the call ended (L42). */
export type ModelEnded = {
  readonly kind: 'model';
  readonly result: ModelResult;
  readonly step: number;
  readonly stop: StopCause | null;
  readonly summary?: BatchSummary;
  /** The bill of summaries that the next batch overtook (L51). */
  readonly overtaken?: Spend;
  /** Agents that have ended since (L69). */
  readonly agents?: readonly AgentSpending[];
} & TakenPreparation;

/**
 * Every call of the reply has an outcome. `results` are in the model's order, one for each of
 * `calls`.
 */
export type ToolsRan = {
  readonly kind: 'tools_ran';
  readonly calls: readonly Call[];
  readonly results: readonly CallResult[];
  /** The reply's last tool_use was cut by max_tokens (L15). */
  readonly cut: boolean;
  readonly stop: StopCause | null;
  /** User messages waiting at this moment (L43). */
  readonly queued: readonly UserMessage[];
  /** Entries that a person asked to take out of view (L7). */
  readonly snips: readonly number[];
  /** Steering since the last step: by whom, and how (O12). */
  readonly steered?: readonly Append[];
  /** Milliseconds left of the runtime limit; null without one (L51). */
  readonly leftMs: number | null;
  /** The transcript goes on from here, where waits were stored after the reply (G37). */
  readonly head?: Hash;
  /** The summary of the batch before, if it was made while these calls ran (L42). */
  readonly summary?: BatchSummary;
  readonly overtaken?: Spend;
  readonly agents?: readonly AgentSpending[];
} & TakenPreparation;

/** `item` is null when the outcome was stored with the reply (L37). */
export type CallResult = { readonly item: OutcomeItem | null; readonly facts: OutcomeFacts };

export type Move =
  | { readonly do: 'call_model' }
  | { readonly do: 'run_tools'; readonly calls: readonly Call[]; readonly cut: boolean }
  | {
      readonly do: 'compact';
      readonly trigger: CompactionTrigger;
      readonly because: RoomCause;
      readonly unlessFreed?: number;
    }
  /** Begin a preparation, and do not wait for it (L9). */
  | { readonly do: 'prepare_compaction' }
  | { readonly do: 'await_compaction'; readonly because: RoomCause }
  /** Begin the next request with the prepared boundary; nothing is performed (L9). */
  | { readonly do: 'take_prepared' }
  | { readonly do: 'collapse'; readonly unlessFreed: number }
  /** Show this many staged collapses short from the next request on; nothing is performed (L9). */
  | { readonly do: 'commit_collapses'; readonly count: number }
  /** Ask for no more than the API gives from the next request on; nothing is performed (L26). */
  | { readonly do: 'lower_cap'; readonly maxOutput: number }
  /** Make the next request the last, in which the model sums up; nothing is performed (L51). */
  | { readonly do: 'wrap_up'; readonly limit: RunLimit }
  | { readonly do: 'run_stop_hooks'; readonly active: boolean }
  /** Note that the goal is to be graded; nothing is performed (X10). */
  | { readonly do: 'begin_grading' }
  | { readonly do: 'grade_goal' }
  /** Wait for `waitMs` milliseconds with nothing running (L14). */
  | { readonly do: 'park'; readonly waitMs: number }
  /** Wait until the session's budget is raised or removed, with nothing running (G69). */
  | { readonly do: 'wait_at_budget' }
  | { readonly do: 'go_round'; readonly transition: Transition }
  /** `keep`: a cut reply that the run ends on (L28). */
  | { readonly do: 'end'; readonly terminal: Terminal; readonly append: readonly Append[]; readonly keep?: CutReply };

/** The head with a cut reply and all that was pending, and the API's token count of it. */
export type CutReply = Pick<Extract<ModelResult, { kind: 'cut_off' }>, 'head' | 'contextTokens'>;

/** The moves that `perform` carries out. The loop does the others itself. */
export type PerformedMove = Exclude<
  Move,
  { do: 'go_round' | 'end' | 'commit_collapses' | 'take_prepared' | 'lower_cap' | 'wrap_up' | 'begin_grading' }
>;

export type Transition =
  /**
   * `append`: what the loop says of this turn. `summarize`: the batch is to be summarised while the
   * next call runs (L42).
   */
  | {
      readonly reason: 'next_turn';
      readonly append?: readonly Append[];
      readonly messages: readonly UserMessage[];
      readonly snips: readonly number[];
      readonly summarize: boolean;
    }
  | {
      readonly reason: 'max_output_tokens_escalate';
      readonly cap: number;
      readonly supersedes: number;
      readonly replaces: CutReply;
      readonly append: readonly Append[];
    }
  /** `refused`: the API refused the raised cap, and this is the most that it may be. */
  | {
      readonly reason: 'max_output_tokens_recovery';
      readonly keep: CutReply;
      readonly append: readonly Append[];
      readonly refused?: number;
    }
  | {
      readonly reason:
        | 'collapse_drain_retry'
        | 'reactive_compact_retry'
        | 'stop_hook_blocking'
        | 'goal_revision'
        | 'token_budget_continuation'
        | 'model_fallback'
        | 'structured_output_retry'
        | 'call_as_text_retry';
      readonly append: readonly Append[];
    };
