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
  | { readonly kind: 'error'; readonly text: string };

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
};

/** What the loop acts on is a value; what Temporal should retry is thrown (L14). */
export type ModelResult =
  /** A whole reply, stored. No calls: the run may stop. `cut`: stopped by max_tokens after complete calls, the last one was cut (L15). */
  | (Stored & { readonly kind: 'message'; readonly calls: readonly Call[]; readonly cut?: true })
  /** Cut by max output tokens without a complete call: stored under `head`, which the loop takes (L27) or leaves (L26). */
  | (Stored & { readonly kind: 'cut_off' })
  /** Cancelled while streaming: what was complete is stored (L16, L47). */
  | (Stored & { readonly kind: 'interrupted'; readonly calls: readonly Call[] })
  /** Cancelled before anything was worth storing. */
  | { readonly kind: 'nothing'; readonly spend: Spend }
  | { readonly kind: 'too_long'; readonly detail: string; readonly spend: Spend }
  | { readonly kind: 'media_too_large'; readonly detail: string; readonly spend: Spend }
  | { readonly kind: 'refused'; readonly detail: string; readonly spend: Spend }
  /** Not to be retried, or retries are spent (L20). */
  | { readonly kind: 'failed'; readonly detail: string; readonly status?: number; readonly spend: Spend }
  /** The provider asked for a long wait: park until then (milliseconds since the epoch). `failures` go into the next call. */
  | {
      readonly kind: 'parked';
      readonly until: number;
      readonly failures: number;
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
};

export type RunTool = {
  readonly head: Hash;
  readonly config: Hash;
  readonly step: number;
  readonly iteration: number;
  readonly index: number;
};

/** The outcome is recorded under the call's key; these are its facts. */
export type ToolResult = OutcomeFacts;

/** Store what no model call will carry: a run's end, a session's end (L39, L47–L49). */
export type Commit = {
  readonly head: Hash | null;
  readonly append: readonly Append[];
  readonly step: number;
};

export type Committed = { readonly head: Hash };
