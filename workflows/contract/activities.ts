// The activity port: what the workflow asks of the world. activities/ implements it; content never
// crosses, only hashes and facts.
import type { AlertKind, TellAlert } from './told.ts';
import type { RunTool, ToolResult } from './calls.ts';
import type { Append, AppendingStep, CallModel, ModelAnswer, ModelResult } from './model-call.ts';
import type { AgentOrigin, EndWorktree, WorktreeEnd } from './delegation.ts';
import type { Hash } from './ids.ts';
import type { FiringFound, LookAtFiring } from './schedules/firing.ts';
import type { Left, RunSnapshot, Spend } from './loop.ts';
import type { RunOptions, RunReport, RunSummary, SessionHost, UserMessage } from './session.ts';

export type { AgentEnded, Alert, AlertKind, TellAlert, WaitingCall } from './told.ts';
export type * from './calls.ts';
export type * from './model-call.ts';

/** Every activity is safe to attempt twice. */
export type Activities = {
  openRun(input: OpenRun): Promise<RunOpened>;
  callModel(input: CallModel): Promise<ModelAnswer>;
  findReply(input: FindReply): Promise<ModelResult>;
  runTool(input: RunTool): Promise<ToolResult>;
  commit(input: Commit): Promise<Committed>;
  compact(input: Compact): Promise<Compacted>;
  prepareCompaction(input: PrepareCompaction): Promise<PreparedCompaction>;
  collapse(input: Collapse): Promise<Collapsed>;
  runStopHooks(input: RunStopHooks): Promise<StopHooksRan>;
  summarizeBatch(input: SummarizeBatch): Promise<BatchSummary>;
  answerAside(input: AnswerAside): Promise<AsideEnd>;
  afterStop(input: AfterStop): Promise<{ readonly spend: Spend; readonly suggestion?: string } | null>;
  tellAlert(input: TellAlert): Promise<void>;
  readResult(input: ReadResult): Promise<RunResultFacts>;
  endWorktree(input: EndWorktree): Promise<WorktreeEnd | null>;
  storeText(input: StoreText): Promise<StoredText>;
  lookAtFiring(input: LookAtFiring): Promise<FiringFound>;
};

/** Those that a session schedules; the rest are for whoever starts one. */
export type SessionActivities = Omit<Activities, 'storeText'>;

/**
 * Answer a question that a person asks aside, from the conversation up to `head`, or to the reply
 * that `call` has stored, though it is not over yet. `said`: prompts that are stored with the next
 * reply. `config`, `cap`: of the run under way; absent: there is none, and those of the last one
 * count.
 */
export type AnswerAside = Pick<CallModel, 'model' | 'taskRemaining' | 'left' | 'step' | 'iteration'> & {
  readonly head: Hash | null;
  readonly question: string;
  readonly said: readonly Append[];
  readonly call?: CallModel;
  readonly config?: Hash;
  readonly cap?: number;
};

export type AsideEnd =
  | {
      readonly kind: 'answered';
      readonly text: string;
      readonly cut: boolean;
      readonly model: string;
      readonly spend: Spend;
    }
  | { readonly kind: 'failed'; readonly detail: string; readonly spend: Spend };

/**
 * Store a piece of a text that is too long to travel in a message (Q4). `after`: what the pieces
 * before it came to.
 */
export type StoreText = { readonly text: string; readonly after?: Hash };

/** The whole text so far. */
export type StoredText = { readonly hash: Hash; readonly bytes: number };

/**
 * The answer of an activity. Its input and its heartbeats are sealed for the same activity, and do
 * not pass for an answer.
 */
export type Answer<Result> = { readonly done: Result };

/** Their name on the task queue: a worker of the user's own may have a `commit` too. */
export const activityType = <Name extends keyof Activities>(name: Name) => `perdure.${name}` as const;

/** As bodies answer to Temporal, which knows each by its `activityType`. */
export type Scheduled = {
  readonly [Name in keyof Activities]: (
    input: Parameters<Activities[Name]>[0],
  ) => Promise<Answer<Awaited<ReturnType<Activities[Name]>>>>;
};

/** By the names that a worker registers. */
export type Registered = { readonly [Name in keyof Activities as `perdure.${Name}`]: Scheduled[Name] };

/** Read what a run came to, for a session that returns it (Q4). */
export type ReadResult = { readonly head: Hash; readonly run: number; readonly step: number };

export type RunResultFacts = Omit<RunReport, keyof RunSummary | 'session' | 'reason'>;

/**
 * Snapshot models, prices, limits, tools and prompts for a run (L57), and make the live channel
 * ready for it.
 */
export type OpenRun = Pick<UserMessage, 'traceparent' | 'querySource'> & {
  /**
   * Temporal's id of the session's first run: with the head it makes call keys unique for ever
   * (L40).
   */
  readonly chain: string;
  readonly run: number;
  /** The next step of the session: live files of earlier steps are of earlier runs. */
  readonly step: number;
  readonly options: RunOptions;
  /** The hooks of the session's start have not been asked yet. */
  readonly begins?: true;
  /** The workspace of the session's runs so far; absent when a caller has just chosen it. */
  readonly place?: Place;
  /**
   * It is opened on the host that had the workspace: a folder that is not there is gone. Else
   * another worker may have it.
   */
  readonly onHost?: true;
  readonly agent?: AgentOrigin;
};

/**
 * A folder that a session works in, links followed: nothing else may be put in its place from one
 * run to the next. `file`: on which boot, which device and which inode.
 */
export type Place = { readonly path: string; readonly file: string };

/**
 * `refused`: the run cannot start as asked; the sentence says why and what to do. `alerts`: those
 * that the worker has hooks for; absent in what an earlier release opened.
 */
export type RunOpened = { readonly alerts?: readonly AlertKind[] } & (
  | ({ readonly kind: 'opened'; readonly place?: Place; readonly host?: SessionHost } & RunSnapshot)
  | { readonly kind: 'refused'; readonly detail: string }
);

/**
 * Finds the outcome of a `call` that was cancelled when its worker could not tell it (L47). `step`
 * is this look's own.
 */
export type FindReply = { readonly call: CallModel; readonly step: number };

/** Store what no model call will carry: a run's end, a session's end (L39, L47–L49). */
export type Commit = Pick<AppendingStep, 'head' | 'append' | 'step'>;

export type Committed = { readonly head: Hash };

/**
 * Replace what the model sees of older messages by a summary (L10, L24). Stores `append` and a
 * boundary, or nothing.
 */
/**
 * `auto`: the window is nearly full. `reactive`: a request was too large. `manual`: somebody asked
 * for it.
 */
export type CompactionTrigger = 'auto' | 'reactive' | 'manual';

export type Compact = AppendingStep & {
  readonly trigger: CompactionTrigger;
  /** The person who asked for it gave these, and ours come first. */
  readonly instructions?: string;
  /**
   * What the request was refused for that a reactive one answers; absent from workflows of earlier
   * releases.
   */
  readonly because?: 'prompt_too_long' | 'image_error';
  /** Tokens: the most that the server lets the model answer with, where it has said so. */
  readonly maxOutput?: number;
  /** Position of the model whose window must hold the result. */
  readonly model?: number;
  /** Tokens that it holds, where the server has said so. */
  readonly window?: number;
  /** Failed attempts before a parking (L14). */
  readonly failures?: number;
  /** Absent without a limit. The small model is asked no more when it is spent (L51). */
  readonly left?: Left;
} & ShrinkFirst;

/**
 * Old tool results are shrunk first (L8). When that frees more tokens than `unlessFreed` it is all
 * that is done; below 0 nothing else is done in any case. Absent: whatever it frees is not enough.
 */
export type ShrinkFirst = { readonly unlessFreed?: number };

/** `append` and the mark of what was shrunk are stored. */
export type ShrunkResults = { readonly head: Hash; readonly freed: number };

/**
 * Old results were shrunk and nothing else was done. `tokens`: what the whole request comes to
 * then.
 */
export type Shrunk = ShrunkResults & { readonly kind: 'shrunk'; readonly tokens?: number; readonly spend: Spend };

/**
 * Tokens are estimates. `unshrunk`: no old result is left to shrink, and nothing else was wanted.
 * `as_is`: nothing was summarised, for what is shown fits after all, or nothing older than the
 * newest messages is there. `parked`: the small model is to be asked again after `waitMs`.
 * `failed`: no summary could be made. Old results may have been shrunk by `as_is` and `failed`.
 * `nothing`: cancelled, and discarded whole (L47).
 */
export type Compacted =
  | {
      readonly kind: 'compacted';
      readonly head: Hash;
      readonly before: number;
      readonly after: number;
      readonly spend: Spend;
    }
  | Shrunk
  | { readonly kind: 'unshrunk'; readonly tokens: number; readonly spend: Spend }
  | ({ readonly kind: 'as_is'; readonly tokens: number; readonly spend: Spend } & Partial<ShrunkResults>)
  | {
      readonly kind: 'parked';
      readonly waitMs: number;
      readonly failures: number;
      readonly detail: string;
      readonly spend: Spend;
    }
  | ({ readonly kind: 'failed'; readonly detail: string; readonly spend: Spend } & Partial<ShrunkResults>)
  | { readonly kind: 'nothing'; readonly spend: Spend };

/**
 * Have the API sum up what the model sees of older messages while the run goes on (L9). Stores a
 * boundary that nothing names yet.
 */
export type PrepareCompaction = Pick<AppendingStep, 'config' | 'step' | 'iteration'> &
  Pick<Compact, 'model' | 'window' | 'maxOutput' | 'left'> & { readonly head: Hash };

/**
 * `boundary`: where it is stored; tokens are estimates. `failed`: the API made none, and one may be
 * made when there is no room any more. `nothing`: cancelled. `hooks`: those that failed.
 */
export type PreparedCompaction = { readonly spend: Spend; readonly hooks?: readonly FailedHook[] } & (
  | { readonly kind: 'prepared'; readonly boundary: Hash; readonly before: number; readonly after: number }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'nothing' }
);

/**
 * Stage short forms of closed old stretches (L9). Stores `append` and what it staged, or nothing.
 * `model`: as in `Compact`.
 */
export type Collapse = AppendingStep & Pick<Compact, 'model' | 'window' | 'left'> & ShrinkFirst;

/**
 * `savings`: estimated tokens that committing each newly staged stretch would save, oldest first.
 * `freed`: by old results that were shrunk before (L8).
 */
export type Collapsed =
  | {
      readonly kind: 'staged';
      readonly head: Hash;
      readonly savings: readonly number[];
      readonly freed?: number;
      readonly spend: Spend;
    }
  | Shrunk
  | { readonly kind: 'failed'; readonly detail: string; readonly spend: Spend }
  | { readonly kind: 'nothing'; readonly spend: Spend };

/** L30. `active`: a stop hook has blocked in this run before. */
export type RunStopHooks = {
  readonly head: Hash;
  readonly config: Hash;
  readonly step: number;
  readonly iteration: number;
  readonly active: boolean;
};

export type StopHooksRan = {
  readonly verdict:
    | { readonly kind: 'passed' }
    | { readonly kind: 'blocked'; readonly text: string }
    | { readonly kind: 'prevented'; readonly detail: string };
  /** Reported, never a block. */
  readonly failed: readonly FailedHook[];
};

/** It crashed or timed out. */
export type FailedHook = { readonly hook: string; readonly detail: string };

/** L42. `append` holds the batch's outcomes, which are not stored yet. `left`: as in `Compact`. */
export type SummarizeBatch = AppendingStep & { readonly head: Hash; readonly left?: Left };

/** `text` is null when no summary could be made. */
export type BatchSummary = { readonly text: string | null; readonly spend: Spend };

/** L56: after a run's natural end. `until`: the session closes when it is done. */
export type AfterStop = { readonly head: Hash; readonly config: Hash; readonly step: number; readonly run: number } & {
  readonly until?: 'run';
};
