// The activity port: what the workflow asks of the world. activities/ implements it; content never crosses, only hashes and facts.
import type { CallKey, Hash, MessageId } from './ids.ts';
import type { RunSnapshot, Spend, TransitionReason } from './loop.ts';
import type { MessageBody, RunOptions, RunSummary } from './session.ts';

/** Every activity is safe to attempt twice. */
export type Activities = {
  openRun(input: OpenRun): Promise<RunOpened>;
  callModel(input: CallModel): Promise<ModelResult>;
  runTool(input: RunTool): Promise<ToolResult>;
  commit(input: Commit): Promise<Committed>;
  compact(input: Compact): Promise<Compacted>;
  collapse(input: Collapse): Promise<Collapsed>;
  runStopHooks(input: RunStopHooks): Promise<StopHooksRan>;
  summarizeBatch(input: SummarizeBatch): Promise<BatchSummary>;
  afterStop(input: AfterStop): Promise<void>;
};

/** Snapshot models, prices, limits, tools and prompts for a run (L57), and make the live channel ready for it. */
export type OpenRun = {
  /** Temporal's id of the session's first run: with the head it makes call keys unique for ever (L40). */
  readonly chain: string;
  readonly run: number;
  /** The next step of the session: live files of earlier steps are of earlier runs. */
  readonly step: number;
  readonly options: RunOptions;
};

/** `refused`: the run cannot start as asked; the sentence says why and what to do. */
export type RunOpened =
  ({ readonly kind: 'opened' } & RunSnapshot) | { readonly kind: 'refused'; readonly detail: string };

/** Something to append to the transcript before the next thing happens. Built from inputs only, so that a retry hashes the same. */
export type Append =
  | { readonly kind: 'run_started'; readonly run: number; readonly config: Hash; readonly at: number }
  | { readonly kind: 'user'; readonly id: MessageId; readonly body: MessageBody }
  | { readonly kind: 'outcomes'; readonly items: readonly OutcomeItem[] }
  | { readonly kind: 'notice'; readonly notice: Notice }
  /** The oldest `count` staged collapses that are not committed yet are shown short from here on (L9). */
  | { readonly kind: 'collapse_committed'; readonly count: number }
  /** Positions of entries that the model no longer sees (L7). */
  | { readonly kind: 'snip'; readonly entries: readonly number[] }
  | { readonly kind: 'transition'; readonly iteration: number; readonly reason: TransitionReason }
  | { readonly kind: 'run_ended'; readonly ended: RunEnded }
  | { readonly kind: 'session_closed'; readonly notTaken: readonly MessageId[] };

/**
 * The outcome of the call at block `index` of the last reply: what `runTool` recorded under `key`; without a record, or
 * without a key because it never ran, `note` as an error.
 */
export type OutcomeItem = { readonly index: number; readonly key?: CallKey; readonly note?: string };

/** Things said by the loop itself. `toModel` text is sent to the model as user text; the others are for people. */
export type Notice =
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'continue' }
  | { readonly kind: 'call_cut' }
  | { readonly kind: 'max_turns_reached'; readonly limit: number; readonly turnNotTaken: number }
  | { readonly kind: 'error'; readonly text: string }
  /** `calls`: names of the calls that the abandoned attempt had started (L19). Told to the model. */
  | { readonly kind: 'model_switched'; readonly from: string; readonly to: string; readonly calls: readonly string[] }
  /** A stop hook's blocking error, told to the model (L30). */
  | { readonly kind: 'stop_hook'; readonly text: string }
  /** Told to the model: output tokens spent and wanted (L31). */
  | { readonly kind: 'token_budget'; readonly spent: number; readonly budget: number }
  /** Told to the model: why its final answer will not do (L53). */
  | { readonly kind: 'structured_output'; readonly problem: string }
  /** What a hook adds to the conversation. Told to the model. */
  | { readonly kind: 'hook_context'; readonly hook: string; readonly text: string }
  /** Files the agent has read or written that someone else changed since (L43). Told to the model. */
  | { readonly kind: 'files_changed'; readonly paths: readonly string[]; readonly files?: readonly SeenFile[] }
  /** A notification or a memory (L43). Told to the model. */
  | { readonly kind: 'attachment'; readonly source: string; readonly text: string }
  /** What the last batch of calls did, in a line, for people (L42). */
  | { readonly kind: 'batch_summary'; readonly text: string }
  /** For people; `spent`: autocompact is off for the rest of the run (L10). */
  | { readonly kind: 'compaction_failed'; readonly detail: string; readonly spent: boolean }
  /** A hook that crashed or timed out, for people (L30). */
  | { readonly kind: 'hook_failed'; readonly hook: string; readonly detail: string };

/** A file as the agent knows it, by absolute path. Milliseconds since the epoch, bytes; both 0 when it was `gone`. */
export type SeenFile = {
  readonly path: string;
  readonly mtimeMs: number;
  readonly size: number;
  readonly gone?: true;
};

/** `head` is not in it: the entry is part of what the head hashes. */
export type RunEnded = Omit<RunSummary, 'head'> & {
  readonly spend: Spend;
  readonly durationMs: number;
  readonly at: number;
};

export type CallModel = {
  readonly head: Hash | null;
  readonly append: readonly Append[];
  readonly config: Hash;
  /** Counts activities of the session; names the live file. */
  readonly step: number;
  readonly iteration: number;
  /** max_tokens of this request. */
  readonly cap: number;
  /** The step whose streamed deltas this request replaces (L26): watchers void it. */
  readonly supersedes?: number;
  /** Failed attempts of this call before it was parked (L14). */
  readonly failures?: number;
  /** How many of them were overloads (L19). */
  readonly overloads?: number;
  /** Position of the model, absent for the primary (L19). */
  readonly model?: number;
  /** What tools have changed for the calls after them (L38). */
  readonly context?: ToolContextState;
  /** What is left of the task budget since the first compaction, in tokens (L11). */
  readonly taskRemaining?: number;
};

/** What context modifiers left (L38). Absent fields: as the run began. */
export type ToolContextState = {
  /** Absolute, inside the workspace. */
  readonly cwd?: string;
  /** The only tools that may still be called. */
  readonly allowedTools?: readonly string[];
};

/** What the loop acts on is a value; what Temporal should retry is thrown (L14). */
export type ModelResult =
  /** A whole reply, stored. No calls: the run may stop. `cut`: stopped by max_tokens after complete calls, the last one was cut (L15).
   * `problem`: why the final answer does not satisfy the run's schema (L53). */
  | (Stored & {
      readonly kind: 'message';
      readonly calls: readonly Call[];
      readonly cut?: true;
      readonly problem?: string;
    })
  /** Cut by max output tokens without a complete call: stored under `head`, which the loop takes (L27) or leaves (L26). */
  | (Stored & { readonly kind: 'cut_off' })
  /** Cancelled while streaming: what was complete is stored (L16, L47). */
  | (Stored & { readonly kind: 'interrupted'; readonly calls: readonly Call[] })
  /** Cancelled before anything was worth storing. */
  | { readonly kind: 'nothing'; readonly spend: Spend }
  | { readonly kind: 'too_long'; readonly detail: string; readonly spend: Spend }
  | { readonly kind: 'media_too_large'; readonly detail: string; readonly spend: Spend }
  | { readonly kind: 'refused'; readonly detail: string; readonly spend: Spend }
  /** The model is given up for the next in the list (L19); `calls` are the names of those it had started. */
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
  /** Not to be retried, or retries are spent (L20). */
  | { readonly kind: 'failed'; readonly detail: string; readonly status?: number; readonly spend: Spend }
  /** The provider asked for a long wait: park until then (milliseconds since the epoch). The counts go into the next call. */
  | {
      readonly kind: 'parked';
      readonly until: number;
      readonly failures: number;
      readonly overloads?: number;
      readonly detail: string;
      readonly spend: Spend;
    };

type Stored = {
  readonly head: Hash;
  /** Tokens in context at this reply, all kinds, output included. */
  readonly contextTokens: number;
  /** All billed attempts of this call. */
  readonly spend: Spend;
};

/** One complete tool_use of a stored reply. */
export type Call = {
  /** Position of its block in the reply. */
  readonly index: number;
  readonly name: string;
  /** Running it beside others, or twice, changes nothing (L35). */
  readonly safe: boolean;
  /** Of name and input: tells the same call made again (L34). */
  readonly signature: string;
  /** Present when the outcome is stored with the reply already: it ran early (L37), or is a duplicate id (L39). */
  readonly outcome?: OutcomeFacts;
};

/** What the loop needs to know of an outcome. Absent fields are false. */
export type OutcomeFacts = {
  readonly error?: true;
  /** A failing shell call: siblings are cancelled (L36). */
  readonly cancelsSiblings?: true;
  /** Ends the run (L34). */
  readonly fatal?: { readonly reason: 'fatal_tool_error' | 'permission_denied'; readonly detail: string };
  /** A hook or the tool ends the run after this result (L41). */
  readonly stop?: string;
  /** L38. */
  readonly modify?: ToolContextState;
  /** Estimate of what it adds to the context; absent below 100 (L10). */
  readonly tokens?: number;
};

export type RunTool = {
  readonly head: Hash;
  readonly config: Hash;
  readonly step: number;
  readonly iteration: number;
  readonly index: number;
  readonly context?: ToolContextState;
  /** Someone was asked: pre-tool hooks do not run again (L55). */
  readonly decision?: Decision;
};

/** The outcome is recorded under the call's key and these are its facts; or nothing has run, and someone must be asked first. */
export type ToolResult = OutcomeFacts | { readonly ask: Ask };

/**
 * What needs a decision (L55). `inputHash`: SHA-256 of the input as JSON; a decision is for this input alone. When a hook changed the
 * input, the changed one is in the store under this hash. `<hash>.2` asks about running the call a second time, because
 * the first has no known outcome (L40). `reason`: at most 500 characters.
 */
export type Ask = { readonly tool: string; readonly reason: string; readonly inputHash: string };

/** `edited`: an input to run with instead, stored; it is validated again. */
export type Decision =
  | { readonly kind: 'allow'; readonly inputHash: string; readonly edited?: Hash }
  | { readonly kind: 'deny'; readonly reason: string; readonly interrupt?: true };

/** Store what no model call will carry: a run's end, a session's end (L39, L47–L49). */
export type Commit = {
  readonly head: Hash | null;
  readonly append: readonly Append[];
  readonly step: number;
};

export type Committed = { readonly head: Hash };

/** Replace what the model sees of older messages by a summary (L10, L24). Stores `append` and a boundary, or nothing. */
export type Compact = {
  readonly head: Hash | null;
  readonly append: readonly Append[];
  readonly config: Hash;
  readonly step: number;
  readonly iteration: number;
  readonly trigger: 'auto' | 'reactive';
  /** Position of the model whose window must hold the result. */
  readonly model?: number;
  readonly context?: ToolContextState;
};

/** Tokens are estimates. `nothing`: cancelled, and discarded whole (L47). */
export type Compacted =
  | {
      readonly kind: 'compacted';
      readonly head: Hash;
      readonly before: number;
      readonly after: number;
      readonly spend: Spend;
    }
  | { readonly kind: 'failed'; readonly detail: string; readonly spend: Spend }
  | { readonly kind: 'nothing'; readonly spend: Spend };

/** Stage short forms of closed old stretches (L9). Stores `append` and what it staged, or nothing. */
export type Collapse = {
  readonly head: Hash | null;
  readonly append: readonly Append[];
  readonly config: Hash;
  readonly step: number;
  readonly iteration: number;
};

/** `savings`: estimated tokens that committing each newly staged stretch would save, oldest first. */
export type Collapsed =
  | { readonly kind: 'staged'; readonly head: Hash; readonly savings: readonly number[]; readonly spend: Spend }
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
  /** Hooks that crashed or timed out: reported, never a block. */
  readonly failed: readonly { readonly hook: string; readonly detail: string }[];
};

/** L42. `append` holds the batch's outcomes, which are not stored yet. */
export type SummarizeBatch = {
  readonly head: Hash;
  readonly append: readonly Append[];
  readonly config: Hash;
  readonly step: number;
  readonly iteration: number;
};

/** `text` is null when no summary could be made. */
export type BatchSummary = { readonly text: string | null; readonly spend: Spend };

/** L56: after a run's natural end. */
export type AfterStop = { readonly head: Hash; readonly config: Hash; readonly step: number; readonly run: number };
