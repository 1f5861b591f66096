// The calls of a stored reply: what the loop knows of each, which of them run together, and what
// one has come to.
import type { DelegatedEnd, Delegation } from './delegation.ts';
import type { CallKey, Hash } from './ids.ts';
import type { Left, Spend } from './loop.ts';

/** One complete tool_use of a stored reply. */
export type Call = {
  /** Position of its block in the reply. */
  readonly index: number;
  readonly name: string;
  /** Running it beside others, or twice, changes nothing (L35). */
  readonly safe: boolean;
  /** A digest of name and input: tells the same call made again (L34). */
  readonly signature: string;
  /**
   * Present when the outcome is stored with the reply already: it ran early (L37), or is a
   * duplicate id (L39).
   */
  readonly outcome?: OutcomeFacts;
  /**
   * Present when it ran after the reply was stored, in the same activity: its outcome is recorded
   * under its key.
   */
  readonly ran?: OutcomeFacts;
  /** Present when it was handed over in the same activity: what the workflow is to do (L62). */
  readonly delegate?: Delegation;
  /**
   * With `delegate`, of the last open call of its reply: its outcome is words alone, and no hook is
   * asked about them. Its end is recorded by the next step that appends, instead of an activity of
   * its own.
   */
  readonly plain?: true;
  /** Open, and its reply was found by a later attempt: the one that died may have begun it. */
  readonly mayHaveBegun?: true;
};

/**
 * A server takes 2,000 activities of a workflow at once and fails it for ever at one more; no
 * worker runs that many anyway.
 */
export const LARGEST_BATCH = 100;

/**
 * Which of them run together (L35): neighbouring safe calls in one batch, an unsafe call alone, in
 * the model's order.
 */
export function groupCalls(calls: readonly Call[]): readonly (readonly Call[])[] {
  const planned: Call[][] = [];
  let open: Call[] | null = null;
  for (const call of calls) {
    if (call.outcome || call.ran) continue;
    if (call.safe && open && open.length < LARGEST_BATCH) open.push(call);
    else {
      planned.push([call]);
      open = call.safe ? planned[planned.length - 1]! : null;
    }
  }
  return planned;
}

/** The facts of an outcome that the loop needs. Absent fields are false. */
export type OutcomeFacts = {
  readonly error?: true;
  /** Stopped before it came to an end by itself: it neither failed nor succeeded (L34). */
  readonly cancelled?: true;
  /** A failing shell call: siblings are cancelled (L36). */
  readonly cancelsSiblings?: true;
  /** Ends the run (L34). */
  readonly fatal?: { readonly reason: 'fatal_tool_error' | 'permission_denied'; readonly detail: string };
  /** A hook or the tool ends the run after this result (L41). */
  readonly stop?: string;
  /** L38. */
  readonly modify?: ToolContextState;
  /** What it asked of the small model (L86): it counts as the run's own. */
  readonly spend?: Spend;
  /** Estimate of what it adds to the context; absent below 100 (L10). */
  readonly tokens?: number;
};

/**
 * The outcome of the call at block `index` of the last reply: what is recorded under `key`; without
 * a record, or without a key because it never ran, `note` as an error. `ended`: whoever appends it
 * records that first; then `note` is for who reads it before, and for workers of earlier releases.
 */
export type OutcomeItem = {
  readonly index: number;
  readonly key?: CallKey;
  readonly note?: string;
  readonly ended?: EndedCall;
  /** The note says that it may have taken effect. */
  readonly unknown?: true;
};

/**
 * The end of a call that the workflow carried out (L62), in a run of this configuration. `step`:
 * under which watchers are told.
 */
export type EndedCall = { readonly end: DelegatedEnd; readonly config: Hash; readonly step: number };

/** The changes that context modifiers left (L38). An absent field is as the run began. */
export type ToolContextState = {
  /** Absolute, inside the workspace. */
  readonly cwd?: string;
  /** The only tools that may still be called. */
  readonly allowedTools?: readonly string[];
};

export type RunTool = {
  readonly head: Hash;
  readonly config: Hash;
  readonly step: number;
  readonly iteration: number;
  readonly index: number;
  /** As the call was judged with its reply (L35): the one judgement that counts. */
  readonly safe?: true;
  readonly context?: ToolContextState;
  /** Someone was asked: pre-tool hooks do not run again (L55). */
  readonly decision?: Decision;
  /**
   * The call was stopped and did not say what had become of it: that is found out, and nothing
   * begins any more (L48).
   */
  readonly stopped?: true;
  /**
   * An attempt of the model call that died may have begun it: what it left running is ended first.
   */
  readonly mayHaveBegun?: true;
  /** The workflow has carried the call out, and this came of it (L62). */
  readonly delegated?: DelegatedEnd;
  /** Absent without a limit. The call asks no model when it is spent (L51). */
  readonly left?: Left;
};

/**
 * The outcome is recorded under the call's key and these are its facts; or nothing has run, and
 * someone must be asked first, or the workflow is to carry it out.
 */
export type ToolResult = OutcomeFacts | { readonly ask: Ask } | { readonly delegate: Delegation };

/**
 * A call that needs a decision (L55). `inputHash`: SHA-256 of the input as JSON; a decision is for
 * this input alone. When a hook changed the input, the changed one is in the store under this hash.
 * A question about another start of the call, because the one before has no known outcome, is a
 * `questionHash` (L40). `reason`: at most 500 characters.
 */
export type Ask = { readonly tool: string; readonly reason: string; readonly inputHash: string };

/**
 * `edited`: an input to run with instead, stored; it is validated again. `by`: whoever decided, by
 * name.
 */
export type Decision =
  | { readonly kind: 'allow'; readonly inputHash: string; readonly edited?: Hash; readonly by?: string }
  /** `expired`: nobody decided in time. */
  | {
      readonly kind: 'deny';
      readonly reason: string;
      readonly interrupt?: true;
      readonly expired?: true;
      readonly by?: string;
    };
