// What goes into a session and what can be seen of it from outside: its input, messages, view, names.
import type { Hash, MessageId, SessionId } from './ids.ts';
import type { Terminal, TerminalReason, TransitionReason } from './loop.ts';

export const WORKFLOW_TYPE = 'agentSession';
export const TASK_QUEUE = 'perdure';
/** Signals: `message` takes a UserMessage, `interrupt` and `resume` (end a parking early) take nothing. */
export const SIGNALS = { message: 'message', interrupt: 'interrupt', resume: 'resume' } as const;
/** Query: returns a SessionView. */
export const QUERIES = { view: 'view' } as const;
/** Keyword search attribute holding the Phase; set only where the server has it registered. */
export const PHASE_ATTRIBUTE = 'PerdurePhase';
/** Memo key holding a SessionMemo: what a client can know of a session from visibility alone, with no worker alive. */
export const MEMO_KEY = 'perdure';

export type PermissionMode = 'default' | 'acceptEdits' | 'plan' | 'dontAsk' | 'bypass';

/** Rules such as `bash(git status:*)`, `write(src/**)`, `mcp__*`: deny > ask > allow > mode (L55). At most 1,000 in all. */
export type PermissionRules = {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly ask?: readonly string[];
};

export type Phase = 'running' | 'parked' | 'idle' | 'closed';

/** What a caller may choose for a run. Anything absent is the worker's default, snapshotted when the run starts (L57). */
export type RunOptions = {
  readonly cwd: string;
  readonly model?: string;
  /** Turns, at least 1 (L45). */
  readonly maxTurns?: number;
  /** US dollars (L51). */
  readonly maxBudgetUsd?: number;
  /** Milliseconds of running time; parking does not count (L51). */
  readonly timeoutMs?: number;
  readonly permissionMode?: PermissionMode;
  /** Beside the worker's own rules, which hold as well (L55). */
  readonly permissions?: PermissionRules;
  readonly systemPrompt?: string;
  /** max_tokens of each request; a caller's own value is never raised (L26). */
  readonly maxOutputTokens?: number;
};

/**
 * A message from a user. Texts over 8 KB are put in the store by the client and travel by hash.
 * `options` change the session's options from the run it opens on; `now` interrupts what runs for it.
 */
export type UserMessage = {
  readonly id: MessageId;
  readonly body: MessageBody;
  readonly now?: true;
  readonly options?: Partial<RunOptions>;
};

export type MessageBody =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'stored'; readonly hash: Hash; readonly bytes: number };

/** The workflow's argument. */
export type SessionInput = {
  readonly options: RunOptions;
  /** First 120 characters of the first prompt, for lists. */
  readonly title: string;
  /** Whether the server has the phase search attribute registered. */
  readonly visibility: boolean;
  readonly handover?: HandoverLimits;
};

/** Our own limits for continuing as new, below Temporal's (L4). `iterations` is for those who want it more often. */
export type HandoverLimits = { readonly events: number; readonly signals: number; readonly iterations?: number };

export const defaultHandover: HandoverLimits = { events: 2_000, signals: 5_000 };

/** What a run came to, kept in the session's memo and in the transcript's `run_ended` entry. */
export type RunSummary = {
  /** 1 for the session's first run. */
  readonly run: number;
  readonly terminal: Terminal;
  readonly turns: number;
  readonly iterations: number;
  /** Null only when not even the first run could be stored. */
  readonly head: Hash | null;
  /** The messages this run answered (L61: `completed`). */
  readonly messages: readonly MessageId[];
};

export type SessionMemo = {
  readonly phase: Phase;
  /** Of the transcript, when the phase last changed. */
  readonly head: Hash | null;
  readonly cwd: string;
  /** First 120 characters of the first prompt. */
  readonly title: string;
  /** Runs opened so far. */
  readonly runs: number;
  readonly last: RunSummary | null;
};

/** Answer of the `view` query: convenience for people; the store and the live channel are the truth. */
export type SessionView = {
  readonly session: SessionId;
  readonly phase: Phase;
  readonly head: Hash | null;
  readonly run: number;
  readonly iteration: number;
  readonly turn: number;
  readonly queued: readonly MessageId[];
  /** The last 32 of the current run, oldest first. */
  readonly transitions: readonly { readonly iteration: number; readonly reason: TransitionReason }[];
  readonly counts: Readonly<Partial<Record<TransitionReason, number>>>;
  /** Milliseconds since the epoch; null when not parked. */
  readonly parkedUntil: number | null;
  readonly last: { readonly run: number; readonly reason: TerminalReason } | null;
};
