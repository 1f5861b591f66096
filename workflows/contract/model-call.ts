// One model call as the workflow requests it, and its possible results.
import type { AppendedFacts, AppendingStep } from './append.ts';
import type { Call, ToolContextState } from './calls.ts';
import type { Hash } from './ids.ts';
import type { RemainingBudget, Spend } from './loop.ts';

export type CallModel = AppendingStep & {
  /** max_tokens of this request. */
  readonly cap: number;
  /** The step whose streamed deltas this request replaces (L26): watchers void it. */
  readonly supersedes?: number;
  /**
   * The previous reply was taken back from watchers, and is kept after all: they are told it again
   * (L27).
   */
  readonly retells?: true;
  /** Failed attempts of this call before it was parked (L14). */
  readonly failures?: number;
  /** How many of them were overloads (L19). */
  readonly overloads?: number;
  /** Position of the model, absent for the primary (L19). */
  readonly model?: number;
  /** Changes that tools made for the calls after them (L38). */
  readonly context?: ToolContextState;
  /** Tokens left of the task budget since the first compaction (L11). */
  readonly taskRemaining?: number;
  /** The last call of the run: the model is told to make no calls, and none would run (L51). */
  readonly wrapUp?: true;
  /**
   * The rest of the budget; absent without a limit. No further attempt is made once earlier ones
   * have spent it (L51).
   */
  readonly left?: RemainingBudget;
  /**
   * Agents work, or have worked, in the session's folder: where they have left its host, the step
   * begins nothing there (T18).
   */
  readonly follows?: true;
};

/** A value for everything the loop acts on; errors that Temporal should retry are thrown (L14). */
export type ModelResult =
  /**
   * A whole reply, stored. Without calls the run may stop. `cut`: max_tokens cut the last call
   * after complete ones (L15). `problem`: why the final answer does not satisfy the run's schema
   * (L53). `textCall`: the tool of which its text has a call that was never made.
   */
  | (StoredReplyFacts & {
      readonly kind: 'message';
      readonly calls: readonly Call[];
      readonly cut?: true;
      readonly problem?: string;
      readonly textCall?: string;
    })
  /**
   * Max output tokens cut the reply before a complete call. It is stored under `head`, which the
   * loop takes (L27) or leaves (L26). `output`: how many of the tokens in context are its own; a
   * worker of an earlier release does not say.
   */
  | (StoredReplyFacts & { readonly kind: 'cut_off'; readonly output?: number })
  /** Cancelled while streaming: the complete part is stored (L16, L47). */
  | (StoredReplyFacts & { readonly kind: 'interrupted'; readonly calls: readonly Call[] })
  /** Cancelled before there was anything to store. */
  | { readonly kind: 'nothing'; readonly spend: Spend }
  /** `window`: how many tokens the server says that it holds. */
  | { readonly kind: 'too_long'; readonly detail: string; readonly window?: number; readonly spend: Spend }
  | { readonly kind: 'media_too_large'; readonly detail: string; readonly spend: Spend }
  | { readonly kind: 'refused'; readonly detail: string; readonly spend: Spend }
  /**
   * The model is given up for the next in the list (L19). `calls`: the names of those it had
   * started.
   */
  | {
      readonly kind: 'fallback';
      readonly from: string;
      readonly to: string;
      readonly calls: readonly string[];
      readonly detail: string;
      readonly spend: Spend;
    }
  /** A prompt hook ended the run before the call (L41). */
  | { readonly kind: 'hook_stopped'; readonly detail: string; readonly spend: Spend }
  /**
   * The call must not be retried, or its retries are spent (L20). `maxOutput`: it was refused for
   * its cap, and this is the most, in tokens (L26).
   */
  | {
      readonly kind: 'failed';
      readonly detail: string;
      readonly status?: number;
      readonly maxOutput?: number;
      readonly spend: Spend;
    }
  /**
   * The provider asked for a long wait: park for `waitMs`. It is a duration, because the worker's
   * clock is not the server's. The counts go into the next call.
   */
  | {
      readonly kind: 'parked';
      readonly waitMs: number;
      readonly failures: number;
      readonly overloads?: number;
      readonly detail: string;
      readonly spend: Spend;
    };

/**
 * The answer of `callModel`. A reply with handed-over calls has a kind of its own: a worker of an
 * earlier release would run them once more, so it must not know the kind, and leaves the session to
 * a newer worker.
 */
export type ModelCallAnswer =
  ModelResult | (Omit<Extract<ModelResult, { kind: 'message' }>, 'kind'> & { readonly kind: 'handed_over' });

export function modelResultOf(answer: ModelCallAnswer): ModelResult {
  return answer.kind === 'handed_over' ? { ...answer, kind: 'message' } : answer;
}

type StoredReplyFacts = AppendedFacts & {
  readonly head: Hash;
  /** Tokens in context at this reply, all kinds, output included. */
  readonly contextTokens: number;
  /** All billed attempts of this call. */
  readonly spend: Spend;
};
