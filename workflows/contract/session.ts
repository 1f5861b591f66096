// The public face of a session: its input, its messages, its view from outside, and its names.
import type { QuerySource, SessionFacts } from './facts.ts';
import type { NewLimits, RunOptions } from './run-options.ts';
import type { Goal } from './goals.ts';
import type { SessionHost } from './hosts.ts';
import type { Profile } from './profiles.ts';
import type { Hash, MessageId, SessionId } from './ids.ts';
import type { AgentNews } from './delegation.ts';
import type { WaitingCall } from './waits.ts';
import type { MessageBody, AnswerRecord, PassedOver, PendingApproval, SystemMessage } from './people.ts';
import type { Terminal, TerminalReason, TransitionReason, Usage } from './loop.ts';
import type { PermissionMode, PermissionRules } from './permission-rules.ts';

export type * from './people.ts';
export type { SessionHost };
export type { NewLimits, PermissionMode, PermissionRules, RunOptions };

/** The name under which workflows/index.ts exports the workflow. */
export const WORKFLOW_TYPE = 'perdure.agentSession';
export const TASK_QUEUE = 'perdure';
/**
 * The queue of activities that end or record: they have slots of their own. The worker of a task
 * queue polls both.
 */
export const recordsQueue = (taskQueue: string): string => `${taskQueue}-records`;
/**
 * The queue of activities that need the session's folder: the host that has it polls it, where
 * hosts share a store.
 */
export const hostQueue = (taskQueue: string, { id }: SessionHost): string => `${taskQueue}.${id}.host`;
/**
 * Signals: `message` takes a UserMessage, `snip` positions of entries (L7), `interrupt` and
 * `resume` (end a parking early) a SignalOnce, `cancel` one that says who is about to cancel,
 * `relabel` the labels that have changed (G27). A workflow that the session has started sends
 * DELEGATED_SIGNAL. Any other signal is ignored, and the view says so.
 */
export const SIGNALS = {
  message: 'message',
  interrupt: 'interrupt',
  resume: 'resume',
  snip: 'snip',
  cancel: 'cancel',
  relabel: 'relabel',
} as const;
/**
 * Updates: `approve` takes an Approval, `deny` a Denial (L55), `answer` an Answer (L81),
 * `giveResult` a GivenResult (G53), `reportWorkers` a SilentWorkers (G78), `repair` a Repair,
 * `rewind` a RewindRequest (T6), `previewRewind` one that is only looked at, `setOptions`
 * OptionChanges for the next run, `topUp` a TopUp and `changeRules` RuleChanges for the one under
 * way, `move` a MoveRequest (T20). Each is refused with a sentence. Those that change something,
 * from `rewind` on, also take a Signed. At most a few are in flight.
 */
export const UPDATES = {
  approve: 'approve',
  deny: 'deny',
  answer: 'answer',
  repair: 'repair',
  rewind: 'rewind',
  previewRewind: 'previewRewind',
  setOptions: 'setOptions',
  topUp: 'topUp',
  changeRules: 'changeRules',
  aside: 'aside',
  move: 'move',
  giveResult: 'giveResult',
  reportWorkers: 'reportWorkers',
} as const;
/** Queries: `view` returns a SessionView, `elicited` an ElicitationEnd. */
export const QUERIES = { view: 'view', elicited: 'elicited' } as const;
/**
 * Memo key of a Configuration, set at the start. Absent where any staying worker may work on the
 * session.
 */
export const CONFIGURATION_KEY = 'perdureConfiguration';
/**
 * The configuration a session was begun with, as people know it. Without name and file it is that
 * of a program. The task queue says which workers have it.
 */
export type Configuration = { readonly name?: string; readonly file?: string };
/**
 * Memo key of a SessionMemo: what a client knows of a session from visibility alone, with no worker
 * alive.
 */
export const MEMO_KEY = 'perdure';

export type Phase = 'running' | 'waiting_approval' | 'parked' | 'idle' | 'closed';

/**
 * Changes of a session's options: a given one is replaced, and null takes one back to the worker's
 * default.
 */
export type OptionChanges = Partial<Pick<RunOptions, 'cwd'>> & {
  readonly [Key in Exclude<keyof RunOptions, 'cwd'>]?: RunOptions[Key] | null;
};

/**
 * Goes on from `to` instead of `from`, the head of a damaged transcript. `lost`: a sentence for the
 * transcript.
 */
export type Repair = { readonly from: Hash; readonly to: Hash; readonly lost: string };

/** Characters of a repair's `lost`. */
export const LONGEST_LOSS = 4_000;

/**
 * New limits of the run under way, each above the present one. With `exact` a limit may also be
 * lowered, or set where the run has none; a limit that the run has passed already ends it.
 */
export type TopUp = NewLimits & { readonly exact?: true };

/**
 * Rules that allow calls of the run under way from now on, and those to take back. Only rules that
 * were given like this are taken back. `lasts: 'session'`: later runs of the session have them too.
 */
export type RuleChanges = {
  readonly allow?: readonly string[];
  readonly drop?: readonly string[];
  readonly lasts?: 'session';
};

/** Rules that a run may be given while it is under way. */
export const MOST_GRANTED = 100;

/**
 * A message from a user. The client puts texts over 1 KB into the store, and sends them by hash.
 * `options` change the session's options from the run that it opens; `now` interrupts what runs.
 */
export type UserMessage = {
  readonly id: MessageId;
  readonly body: MessageBody;
  readonly now?: true;
  readonly options?: OptionChanges;
  /** The name of the sender, for the transcript (O12); the model is never told it. */
  readonly by?: string;
  /**
   * The W3C trace context of the span that sent it: the run that it opens is part of that trace
   * (O15).
   */
  readonly traceparent?: string;
  /** The way it came; absent when its sender did not say. */
  readonly querySource?: QuerySource;
  /** What must be true at the natural end of the run that takes the message (X10). */
  readonly goal?: Goal;
  /** No prompt: the conversation is to be summed up, in a run of its own (L10). */
  readonly compact?: CompactionRequest;
  /**
   * Present when the session itself made the message, because an agent in the background ended
   * (L71).
   */
  readonly ended?: AgentNews;
  readonly system?: SystemMessage;
};

/** `instructions` are for the model that sums up, after ours. */
export type CompactionRequest = { readonly instructions?: string };

/** Characters of these instructions. */
export const LONGEST_INSTRUCTIONS = 4_000;

/** The workflow's argument. */
export type SessionInput = {
  readonly options: RunOptions;
  /** First 120 characters of the first prompt, for lists. */
  readonly title: string;
  /**
   * Whether the server has registered the phase search attribute, and with `attributes` all others
   * too.
   */
  readonly visibility: boolean;
  readonly attributes?: true;
  readonly handover?: HandoverLimits;
  /** Absent for `machine`. */
  readonly profile?: Profile;
  /** Payloads are sealed: a signal without a sealed one was sent by someone without the key. */
  readonly sealed?: true;
  /**
   * Taken as if it were sent right after the start: a workflow that starts a session as its child
   * cannot send a signal with the start.
   */
  readonly first?: UserMessage;
  /**
   * `run`: the session closes when a run has ended and no message waits, and returns a RunReport of
   * that run.
   */
  readonly until?: 'run';
};

/**
 * Our own limits for continuing as new, far below Temporal's (L4). `betweenRuns`: the limit of
 * events once a run has ended, when least has to be carried; absent: `events`. `iterations`: hands
 * over after that many.
 */
export type HandoverLimits = {
  readonly events: number;
  readonly signals: number;
  readonly betweenRuns?: number;
  readonly iterations?: number;
};

/**
 * These limits bound the history that a worker replays when it takes over: after a kill it does so
 * for all its sessions at once.
 */
export const defaultHandover: HandoverLimits = { events: 400, betweenRuns: 300, signals: 5_000 };

/**
 * A run's summary and its handover name at most this many of its messages, so that payloads stay
 * small.
 */
export const LISTED_MESSAGES = 200;

/** The memo lists at most this many of the calls that wait for a decision, the oldest. */
export const LISTED_APPROVALS = 20;
/** Characters of a message's id. */
export const LONGEST_ID = 200;
/** Characters of a person's reason for a denial. */
export const LONGEST_REASON = 2_000;
/** Entries that can wait to be snipped, and the most in one request. */
export const MOST_SNIPS = 1_000;

/** The end of a run, kept in the session's memo and in the transcript's `run_ended` entry. */
export type RunSummary = {
  /** 1 for the session's first run. */
  readonly run: number;
  readonly terminal: Terminal;
  readonly turns: number;
  readonly iterations: number;
  /** The head after the run; null only when not even the first run could be stored. */
  readonly head: Hash | null;
  /**
   * The messages this run answered (L61: `completed`), the first 200 of them; the transcript has
   * all.
   */
  readonly messages: readonly MessageId[];
};

/** The result of a session that was opened for one run (`until: 'run'`), as plain JSON (Q4). */
export type RunReport = RunSummary & {
  readonly session: SessionId;
  readonly reason: TerminalReason;
  /** The final reply. Its first 500,000 characters, or fewer long ones; the transcript has all. */
  readonly text: string;
  /**
   * The final answer's value, where the run had an output schema and completed (L53). Absent above
   * 500,000 characters of JSON.
   */
  readonly output?: unknown;
  readonly usage: Usage;
  /** US dollars; null when a price is unknown. */
  readonly costUsd: number | null;
};

export type SessionMemo = {
  readonly phase: Phase;
  /** The transcript's head when the phase last changed. */
  readonly head: Hash | null;
  readonly cwd: string;
  readonly title: string;
  /** Runs opened so far. */
  readonly runs: number;
  readonly last: RunSummary | null;
  /** Calls that wait for a decision: the oldest, at most LISTED_APPROVALS. */
  readonly approvals?: readonly PendingApproval[];
  /** How many calls the transcript says wait (G37); absent without any. */
  readonly waits?: number;
  /** The run waits at the session's budget (G69); absent otherwise. */
  readonly atBudget?: true;
  /** Questions that were answered lately, at most LISTED_ANSWERS. */
  readonly answered?: readonly AnswerRecord[];
  /** Milliseconds since the epoch, while parked (L14). */
  readonly parkedUntil?: number;
  /**
   * The host that has the session's folder, whose workers its steps wait for. Absent where hosts
   * share no store.
   */
  readonly host?: SessionHost;
  /**
   * Agents at work in the background of an idle session (L71): the end of each opens a run. Absent
   * without any.
   */
  readonly background?: number;
  /**
   * A suggestion of what the person may write next, after the last run of an idle session (L56).
   * Absent without a suggestion.
   */
  readonly suggestion?: { readonly run: number; readonly text: string };
  readonly facts?: SessionFacts;
};

/**
 * The answer of the `view` query, for convenience: the store and the live channel hold the truth.
 */
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
  readonly parkedUntil: number | null;
  readonly approvals: readonly PendingApproval[];
  readonly last: { readonly run: number; readonly reason: TerminalReason } | null;
  /** The calls that the transcript says wait (G37); absent without any. */
  readonly waits?: readonly WaitingCall[];
  readonly passedOver?: readonly PassedOver[];
};
