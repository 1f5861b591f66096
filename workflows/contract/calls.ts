// The calls of a stored reply: what the loop knows of each, which of them run together, and their
// outcomes.
import type { DelegatedEnd, Delegation } from './delegation.ts';
import type { CallKey, Hash } from './ids.ts';
import type { RemainingBudget, Spend } from './loop.ts';

/** One complete tool_use of a stored reply. */
export type Call = {
  /** Position of the call's block in the reply. */
  readonly index: number;
  readonly name: string;
  /** The call may run together with others, or twice, without changing anything (L35). */
  readonly safe: boolean;
  /** A digest of name and input: it identifies the same call made again (L34). */
  readonly signature: string;
  /** Somebody outside gives its result, whatever else of the reply runs or waits (G53). */
  readonly beside?: true;
  /**
   * Present when the outcome is stored with the reply: the call ran early (L37), or has a duplicate
   * id (L39).
   */
  readonly outcome?: OutcomeFacts;
  /**
   * Present when the call ran after the reply was stored, in the same activity: its outcome is
   * recorded under its key.
   */
  readonly ran?: OutcomeFacts;
  /**
   * Present when the call was handed over in the same activity: the work for the workflow (L62).
   */
  readonly delegate?: Delegation;
  /**
   * With `delegate`, on the last open call of its reply: its outcome is words alone, and no hook is
   * asked about them. The next step that appends records its end, instead of an activity of its
   * own.
   */
  readonly plain?: true;
  /**
   * The call is open, and a later attempt found its reply: the attempt that died may have begun it.
   */
  readonly mayHaveBegun?: true;
  /**
   * The call is open: it began while the reply streamed, and was given up before it ended (L37).
   */
  readonly givenUp?: true;
};

/**
 * A server takes 2,000 activities of a workflow at once and fails the workflow for ever at one
 * more. Workers run far fewer.
 */
export const LARGEST_BATCH = 100;

/**
 * Groups the calls that run together (L35): neighbouring safe calls in one batch, an unsafe call
 * alone, in the model's order. Calls for somebody outside are all in the first.
 */
export function groupCalls(calls: readonly Call[]): readonly (readonly Call[])[] {
  const besideCalls = calls.filter((call) => call.beside && isOpen(call));
  const [first = [], ...later] = groupOwn(calls);
  const opening = [...besideCalls, ...first].toSorted((one, other) => one.index - other.index);
  return opening.length === 0 ? [] : [opening, ...later];
}

const isOpen = ({ outcome, ran }: Call): boolean => !outcome && !ran;

function groupOwn(calls: readonly Call[]): readonly (readonly Call[])[] {
  const planned: Call[][] = [];
  let open: Call[] | null = null;
  for (const call of calls) {
    if (call.beside || !isOpen(call)) continue;
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
  /**
   * The call was stopped before it came to an end by itself: it neither failed nor succeeded (L34).
   */
  readonly cancelled?: true;
  /** A failing shell call cancels its siblings (L36). */
  readonly cancelsSiblings?: true;
  /** The outcome ends the run (L34). */
  readonly fatal?: { readonly reason: 'fatal_tool_error' | 'permission_denied'; readonly detail: string };
  /** A hook or the tool ends the run after this result (L41). */
  readonly stop?: string;
  /** The changes for later calls (L38). */
  readonly modify?: ToolContextState;
  /** The spending of the call on the small model (L86), which counts as the run's own. */
  readonly spend?: Spend;
  /** An estimate of what the outcome adds to the context; absent below 100 (L10). */
  readonly tokens?: number;
  /** A digest of what the model reads: it identifies the same result (L34). */
  readonly result?: string;
};

/**
 * The outcome of the call at block `index` of the last reply: the record under `key`. Without a
 * record, or without a key because the call never ran, it is `note` as an error. `ended`: the step
 * that appends it records that end first; `note` is then for readers before that, and for workers
 * of earlier releases.
 */
export type OutcomeItem = {
  readonly index: number;
  readonly key?: CallKey;
  readonly note?: string;
  readonly ended?: EndedCall;
  /** The note says that the call may have taken effect. */
  readonly unknown?: true;
  /** The note says that the call had begun. */
  readonly begun?: true;
};

/** The outcome of a call that an interrupt of its reply kept from running (L47). */
export const NOT_RUN_INTERRUPTED = 'Not run: the reply was interrupted.';

/** The outcome of a call that the run has no budget for (L51). */
export const NOT_RUN_SPENT = 'Not run: the budget of this run is spent.';

/** The outcome of a call that began early, was given up, and will not begin again (L37, L48). */
export const GIVEN_UP = 'Given up: it was stopped after it had started, and what came of it is not known.';

/** Returns the outcome of a call that will not run; `why` is for one that has not begun. */
export function notRunItem({ index, givenUp }: Pick<Call, 'index' | 'givenUp'>, why: string): OutcomeItem {
  return givenUp ? { index, note: GIVEN_UP, begun: true } : { index, note: why };
}

/**
 * The end of a call that the workflow carried out (L62), in a run of this configuration. `step`:
 * the one under which watchers are told.
 */
type EndedCall = { readonly end: DelegatedEnd; readonly config: Hash; readonly step: number };

/**
 * The changes that context modifiers left (L38). An absent field is as it was when the run began.
 */
export type ToolContextState = {
  /** An absolute path inside the workspace. */
  readonly cwd?: string;
  /** The only tools that may still be called. */
  readonly allowedTools?: readonly string[];
  /** Rules that a person gave the run while it was under way; they allow. */
  readonly granted?: readonly string[];
};

export type RunTool = {
  readonly head: Hash;
  /** The head of the reply that makes the call, where waits were stored after it (G37). */
  readonly reply?: Hash;
  readonly config: Hash;
  readonly step: number;
  readonly iteration: number;
  readonly index: number;
  /** The call's judgement with its reply (L35), which is the only one that counts. */
  readonly safe?: true;
  readonly context?: ToolContextState;
  /** A person was asked, so pre-tool hooks do not run again (L55). */
  readonly decision?: Decision;
  /**
   * The call was stopped and did not report its outcome: the activity finds out, and begins nothing
   * (L48).
   */
  readonly stopped?: true;
  /**
   * An attempt of the model call that died may have begun the call: processes it left behind are
   * ended first.
   */
  readonly mayHaveBegun?: true;
  /** The call had begun early and was given up: one that does not begin again is not "not run". */
  readonly givenUp?: true;
  /** The end of the call, which the workflow has carried out (L62). */
  readonly delegated?: DelegatedEnd;
  /**
   * The rest of the budget; absent without a limit. The call asks no model once it is spent (L51).
   */
  readonly left?: RemainingBudget;
};

/**
 * Either the facts of an outcome, which is recorded under the call's key; or nothing has run, and a
 * person must be asked first, or the workflow is to carry the call out.
 */
export type RunToolResult = OutcomeFacts | { readonly ask: Ask } | { readonly delegate: Delegation };

/**
 * A call that needs a decision (L55). `inputHash`: SHA-256 of the input as JSON; a decision holds
 * for this input alone. A hook's changed input is in the store under this hash. It is a
 * `questionHash` when the question is about another start of the call, because the one before has
 * no known outcome (L40). `reason`: at most 500 characters.
 */
export type Ask = { readonly tool: string; readonly reason: string; readonly inputHash: string };

/**
 * `edited`: the hash of another input to run with, which is validated again. `by`: the name of the
 * person who decided.
 */
export type Decision =
  | { readonly kind: 'allow'; readonly inputHash: string; readonly edited?: Hash; readonly by?: string }
  /** `expired`: the time was over without a decision. */
  | {
      readonly kind: 'deny';
      readonly reason: string;
      readonly interrupt?: true;
      readonly expired?: true;
      readonly by?: string;
    };
