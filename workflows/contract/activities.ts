// The activity port: everything that the workflow requests from the outside world, implemented by
// activities/. Content never crosses it, only hashes and facts.
import type { AlertKind, TellAlert } from './told.ts';
import type { RunTool, RunToolResult } from './calls.ts';
import type { Append, AppendedFacts, AppendingStep } from './append.ts';
import type { CheckOutFiles, FilesCheckedOut } from './fork.ts';
import type { FilesPreview, FilesRewound, RewindFiles } from './rewind.ts';
import type { CallModel, ModelCallAnswer, ModelResult } from './model-call.ts';
import type { AgentOrigin, EndWorktree, WorktreeEnd } from './delegation.ts';
import type { HostLeft, LeaveHost, TakenOver, TakeOver, WorkspacePlace } from './hosts.ts';
import type { Goal, Grade } from './goals.ts';
import type { Hash } from './ids.ts';
import type { LeaseInput } from './lease.ts';
import type { FiringFound, LookAtFiring } from './schedules/firing.ts';
import type { RemainingBudget, RunSnapshot, Spend } from './loop.ts';
import type { RunOptions, RunReport, RunSummary, SessionHost, UserMessage } from './session.ts';
import type { SendWebhook, TellWebhooks, WebhookType } from './webhooks.ts';

export type { AgentEnded, Alert, AlertKind, TellAlert, WaitingCall } from './told.ts';
export type * from './calls.ts';
export type * from './append.ts';
export type * from './model-call.ts';
export type * from './rewind.ts';
export type { WorkspacePlace };

/** Every activity is safe to attempt twice. */
export type Activities = {
  openRun(input: OpenRun): Promise<RunOpened>;
  callModel(input: CallModel): Promise<ModelCallAnswer>;
  findReply(input: FindReply): Promise<ModelResult>;
  runTool(input: RunTool): Promise<RunToolResult>;
  commit(input: Commit): Promise<CommitResult>;
  compact(input: Compact): Promise<CompactionResult>;
  prepareCompaction(input: PrepareCompaction): Promise<PreparedCompaction>;
  collapse(input: Collapse): Promise<CollapseResult>;
  runStopHooks(input: RunStopHooks): Promise<StopHooksRan>;
  gradeGoal(input: GradeGoal): Promise<GradeResult>;
  summarizeBatch(input: SummarizeBatch): Promise<BatchSummary>;
  answerAside(input: AnswerAside): Promise<AsideEnd>;
  afterStop(input: AfterStop): Promise<{ readonly spend: Spend; readonly suggestion?: string } | null>;
  tellAlert(input: TellAlert): Promise<void>;
  tellWebhooks(input: TellWebhooks): Promise<void>;
  sendWebhook(input: SendWebhook): Promise<void>;
  readResult(input: ReadResult): Promise<RunResultFacts>;
  endWorktree(input: EndWorktree): Promise<WorktreeEnd | null>;
  storeText(input: StoreText): Promise<StoredText>;
  lookAtFiring(input: LookAtFiring): Promise<FiringFound>;
  rewindFiles(input: RewindFiles): Promise<FilesRewound>;
  previewRewind(input: RewindFiles): Promise<FilesPreview>;
  checkOutFiles(input: CheckOutFiles): Promise<FilesCheckedOut>;
  leaveHost(input: LeaveHost): Promise<HostLeft>;
  takeOver(input: TakeOver): Promise<TakenOver>;
  holdLease(input: LeaseInput): Promise<void>;
  lapseLease(input: LeaseInput): Promise<void>;
  concludeLease(input: LeaseInput): Promise<void>;
};

/** The activities that a session schedules. The others serve callers, leases and senders. */
export type SessionActivities = Omit<
  Activities,
  'storeText' | 'sendWebhook' | 'holdLease' | 'lapseLease' | 'concludeLease'
>;

/**
 * Answers a question that a person asks aside, from the conversation up to `head`, or up to the
 * reply that `call` has stored although the call is not over yet. `said`: prompts that are stored
 * only with the next reply. `config`, `cap`: those of the run under way; absent without one, and
 * then the last run's count.
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
 * Stores a piece of a text that is too long to travel in a message (Q4). `after`: the result of the
 * pieces before it.
 */
export type StoreText = { readonly text: string; readonly after?: Hash };

/** The whole text so far. */
export type StoredText = { readonly hash: Hash; readonly bytes: number };

/**
 * The answer of an activity. Inputs and heartbeats are sealed for the same activity, and this shape
 * keeps them from passing for an answer.
 */
export type ActivityAnswer<Result> = { readonly done: Result };

/**
 * The activity's name on the task queue. The prefix matters: a worker of the user's own may have a
 * `commit` too.
 */
export const activityType = <Name extends keyof Activities>(name: Name) => `perdure.${name}` as const;

/** The activities as Temporal calls them: each answer is wrapped. */
export type ActivityBodies = {
  readonly [Name in keyof Activities]: (
    input: Parameters<Activities[Name]>[0],
  ) => Promise<ActivityAnswer<Awaited<ReturnType<Activities[Name]>>>>;
};

/** The activities under the names that a worker registers. */
export type RegisteredActivities = { readonly [Name in keyof Activities as `perdure.${Name}`]: ActivityBodies[Name] };

/** Reads the result of a run, for a session that returns it (Q4). */
export type ReadResult = { readonly head: Hash; readonly run: number; readonly step: number };

export type RunResultFacts = Omit<RunReport, keyof RunSummary | 'session' | 'reason'>;

/**
 * Snapshots models, prices, limits, tools and prompts for a run (L57), and makes the live channel
 * ready for it.
 */
export type OpenRun = Pick<UserMessage, 'traceparent' | 'querySource'> & {
  /**
   * Temporal's id of the session's first run. With the head it makes call keys unique for ever
   * (L40).
   */
  readonly chain: string;
  readonly run: number;
  /** The next step of the session: live files of earlier steps belong to earlier runs. */
  readonly step: number;
  readonly options: RunOptions;
  /** The hooks of the session's start have not been asked yet. */
  readonly begins?: true;
  /** The workspace of the session's earlier runs; absent when a caller has just chosen one. */
  readonly place?: WorkspacePlace;
  /**
   * The run is opened on the host that had the workspace, so a missing folder is gone. Otherwise
   * another worker may have it.
   */
  readonly onHost?: true;
  readonly agent?: AgentOrigin;
};

/**
 * `refused`: the run cannot start as asked; the sentence says why and what to do. `alerts`: the
 * alerts that the worker has hooks for; absent in what an earlier release opened.
 */
export type RunOpened = { readonly alerts?: readonly AlertKind[]; readonly webhooks?: readonly WebhookType[] } & (
  | ({ readonly kind: 'opened'; readonly place?: WorkspacePlace; readonly host?: SessionHost } & RunSnapshot)
  | { readonly kind: 'refused'; readonly detail: string }
);

/**
 * Finds the outcome of a `call` that was cancelled when its worker could not report it (L47).
 * `step` is that of this activity.
 */
export type FindReply = { readonly call: CallModel; readonly step: number };

/**
 * Stores entries that no model call will carry: the end of a run or a session (L39, L47–L49).
 * `host`: the id of the host that has the session's folder.
 */
export type Commit = Pick<AppendingStep, 'head' | 'append' | 'step'> & { readonly host?: string };

export type CommitResult = { readonly head: Hash };

/**
 * Replaces what the model sees of older messages by a summary (L10, L24). Stores `append` and a
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
   * Why the request was refused that a reactive compaction answers; absent from workflows of
   * earlier releases.
   */
  readonly because?: 'prompt_too_long' | 'image_error';
  /** The most tokens that the server lets the model answer with, where it has said so. */
  readonly maxOutput?: number;
  /** Position of the model whose window must hold the result. */
  readonly model?: number;
  /** Tokens that the window holds, where the server has said so. */
  readonly window?: number;
  /** Attempts that failed before a parking (L14). */
  readonly failures?: number;
  /**
   * The rest of the budget; absent without a limit. The small model is not asked once it is spent
   * (L51).
   */
  readonly left?: RemainingBudget;
} & ShrinkFirst;

/**
 * Old tool results are shrunk first (L8). Nothing else is done when that frees more tokens than
 * `unlessFreed`, which is always so below 0. Absent: whatever it frees is too little.
 */
export type ShrinkFirst = { readonly unlessFreed?: number };

/** The result of shrinking: `append` and a mark are stored. */
export type ShrunkResults = { readonly head: Hash; readonly freed: number };

/**
 * Old results were shrunk, and nothing else was done. `tokens`: the size of the whole request then.
 */
type Shrunk = ShrunkResults & { readonly kind: 'shrunk'; readonly tokens?: number; readonly spend: Spend };

/**
 * Tokens are estimates. `unshrunk`: there was no old result to shrink, and nothing else was wanted.
 * `as_is`: nothing was summarised, because what is shown fits after all, or nothing is older than
 * the newest messages. `parked`: the small model is to be asked again after `waitMs`. `failed`: no
 * summary could be made. With `as_is` and `failed`, old results may have been shrunk. `nothing`:
 * cancelled, and discarded whole (L47).
 */
export type CompactionResult = AppendedFacts & CompactionEnd;

type CompactionEnd =
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
 * Has the API sum up what the model sees of older messages while the run goes on (L9). Stores a
 * boundary that nothing refers to yet.
 */
export type PrepareCompaction = Pick<AppendingStep, 'config' | 'step' | 'iteration'> &
  Pick<Compact, 'model' | 'window' | 'maxOutput' | 'left'> & { readonly head: Hash };

/**
 * `boundary`: its hash; tokens are estimates. `failed`: the API made none; one may be made once the
 * window is full. `nothing`: cancelled. `hooks`: those that failed.
 */
export type PreparedCompaction = { readonly spend: Spend; readonly hooks?: readonly FailedHook[] } & (
  | { readonly kind: 'prepared'; readonly boundary: Hash; readonly before: number; readonly after: number }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'nothing' }
);

/**
 * Stages short forms of closed old stretches (L9). Stores `append` and what it staged, or nothing.
 * `model`: as in `Compact`.
 */
export type Collapse = AppendingStep & Pick<Compact, 'model' | 'window' | 'left'> & ShrinkFirst;

/**
 * `savings`: estimated tokens that committing each newly staged stretch would save, oldest first.
 * `freed`: tokens freed before by shrinking old results (L8).
 */
export type CollapseResult = AppendedFacts & CollapseEnd;

type CollapseEnd =
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

/** Runs the stop hooks (L30). `active`: one of them has blocked in this run before. */
export type RunStopHooks = {
  readonly head: Hash;
  readonly config: Hash;
  readonly step: number;
  readonly iteration: number;
  readonly active: boolean;
};

/**
 * Grades the goal of the run. Stores `append` and a GradedNotice, or nothing. `failures`: attempts
 * that failed before a parking. `left`: the rest of the budget; absent without a limit.
 */
export type GradeGoal = AppendingStep & {
  readonly goal: Goal;
  readonly round: number;
  readonly failures?: number;
  readonly left?: RemainingBudget;
};

/** `parked`: the grader is to be asked again after `waitMs`. `nothing`: cancelled (L47). */
export type GradeResult =
  | {
      readonly kind: 'graded';
      readonly head: Hash;
      readonly grade: Grade;
      readonly text: string;
      readonly spend: Spend;
    }
  | {
      readonly kind: 'parked';
      readonly waitMs: number;
      readonly failures: number;
      readonly detail: string;
      readonly spend: Spend;
    }
  | { readonly kind: 'failed'; readonly detail: string; readonly status?: number; readonly spend: Spend }
  | { readonly kind: 'nothing'; readonly spend: Spend };

export type StopHooksRan = {
  readonly verdict:
    | { readonly kind: 'passed' }
    | { readonly kind: 'blocked'; readonly text: string }
    | { readonly kind: 'prevented'; readonly detail: string };
  /** Failed hooks are reported, and never block. */
  readonly failed: readonly FailedHook[];
};

/** A hook that crashed or timed out. */
export type FailedHook = { readonly hook: string; readonly detail: string };

/**
 * Summarises a batch (L42). `append` holds its outcomes, which are not stored yet. `left`: as in
 * `Compact`.
 */
export type SummarizeBatch = AppendingStep & { readonly head: Hash; readonly left?: RemainingBudget };

/** `text` is null when no summary could be made. */
export type BatchSummary = { readonly text: string | null; readonly spend: Spend };

/**
 * Runs the handlers after a run's natural end (L56). `until`: the session closes once they are
 * done.
 */
export type AfterStop = { readonly head: Hash; readonly config: Hash; readonly step: number; readonly run: number } & {
  readonly until?: 'run';
};
