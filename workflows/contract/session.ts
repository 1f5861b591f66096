// The public face of a session: its input, its messages, its view from outside, its names.
import type { ExtraFolders, QuerySource, SessionFacts, Tags, ToolEnv } from './facts.ts';
import type { Profile } from './failures.ts';
import type { Hash, MessageId, SessionId } from './ids.ts';
import type { AgentNews } from './delegation.ts';
import type { MessageBody, Answered, PassedOver, PendingApproval } from './people.ts';
import type { Effort, Terminal, TerminalReason, TransitionReason, Usage } from './loop.ts';
import type { PermissionMode, PermissionRules } from './permission-rules.ts';

export type * from './people.ts';
export type { Effort, PermissionMode, PermissionRules };

/** The name under which workflows/index.ts exports it. */
export const WORKFLOW_TYPE = 'perdure.agentSession';
export const TASK_QUEUE = 'perdure';
/**
 * Activities that end or record have a queue, and so slots, of their own. The worker of a task
 * queue polls both.
 */
export const recordsQueue = (taskQueue: string): string => `${taskQueue}-records`;
/**
 * What needs the folder of a session goes to a queue of the host that has it, where hosts share a
 * store.
 */
export const hostQueue = (taskQueue: string, { id }: SessionHost): string => `${taskQueue}.${id}.host`;
/** A machine, or what is one to its workers: they share its disk. `name` is for people. */
export type SessionHost = { readonly id: string; readonly name: string };
/**
 * Signals: `message` takes a UserMessage, `snip` positions of entries (L7), `interrupt` and
 * `resume` (end a parking early) a SignalOnce, `cancel` one that says who is about to cancel.
 * DELEGATED_SIGNAL is of a workflow that the session has started. Any other signal is passed over.
 */
export const SIGNALS = {
  message: 'message',
  interrupt: 'interrupt',
  resume: 'resume',
  snip: 'snip',
  cancel: 'cancel',
} as const;
/**
 * Updates: `approve` takes an Approval, `deny` a Denial (L55), `answer` an Answer (L81), `repair` a
 * Repair, `setOptions` OptionChanges for the next run, `topUp` a TopUp for the one under way; each
 * is refused with a sentence. The last three take a Signed besides. At most a few in flight.
 */
export const UPDATES = {
  approve: 'approve',
  deny: 'deny',
  answer: 'answer',
  repair: 'repair',
  setOptions: 'setOptions',
  topUp: 'topUp',
  aside: 'aside',
} as const;
/** Query: returns a SessionView. */
export const QUERIES = { view: 'view', elicited: 'elicited' } as const;
/**
 * Memo key holding a Configuration: absent where any worker that stays may work on the session. Set
 * at the start, kept.
 */
export const CONFIGURATION_KEY = 'perdureConfiguration';
/**
 * The configuration a session was begun with, as people know it; without name and file it is a
 * program's own. The task queue says which workers have it.
 */
export type Configuration = { readonly name?: string; readonly file?: string };
/**
 * Memo key holding a SessionMemo: what a client can know of a session from visibility alone, with
 * no worker alive.
 */
export const MEMO_KEY = 'perdure';

export type Phase = 'running' | 'waiting_approval' | 'parked' | 'idle' | 'closed';

/**
 * The options of a run. Each that is absent is the worker's default, snapshotted when the run
 * starts (L57).
 */
export type RunOptions = {
  readonly cwd: string;
  readonly model?: string;
  /** Turns, at least 1 (L45). */
  readonly maxTurns?: number;
  /** US dollars (L51). */
  readonly maxBudgetUsd?: number;
  /** Milliseconds of running time; parking does not count (L51). */
  readonly timeoutMs?: number;
  /**
   * Before a limit ends the run, one more call, which runs nothing and is no turn, says what is
   * done and what is not (L51).
   */
  readonly wrapUp?: boolean;
  readonly permissionMode?: PermissionMode;
  /** Beside the worker's own rules, which hold as well (L55). */
  readonly permissions?: PermissionRules;
  readonly systemPrompt?: string;
  /**
   * Comes after the system prompt, the worker's own or the one given. At most 100,000 characters.
   */
  readonly appendSystemPrompt?: string;
  /** False: AGENTS.md files of the workspace are not told to the model (L78). */
  readonly instructions?: boolean;
  /** Notes of the workspace are told to the model, and each run makes one (L80). */
  readonly memory?: boolean;
  /**
   * After a natural end, the small model says what the person may write next: the memo tells it
   * (L56).
   */
  readonly suggestPrompts?: boolean;
  /**
   * The tools that the model is offered, by name, of those the worker has; none when the list is
   * empty. Absent: all.
   */
  readonly tools?: readonly string[];
  readonly toolEnv?: ToolEnv;
  readonly additionalDirectories?: ExtraFolders;
  /** max_tokens of each request; a caller's own value is never raised (L26). */
  readonly maxOutputTokens?: number;
  /**
   * Models to go on with when one is overloaded, missing or refuses, in order (L19). At most 10.
   */
  readonly fallbackModels?: readonly string[];
  /** Tokens of all kinds over all calls (L51). */
  readonly maxTokens?: number;
  /** Output tokens to spend before the run may stop by itself (L31). */
  readonly tokenBudget?: number;
  /** Tokens, told to the API and carried over compactions (L11). */
  readonly taskBudget?: number;
  /**
   * Tokens of extended thinking in each reply, for a model that takes a number; absent: as the
   * model does by itself (L59).
   */
  readonly thinkingTokens?: number;
  /** How much a model puts into its replies; absent: as the model does by itself (X2). */
  readonly effort?: Effort;
  /** A JSON schema that the final answer must satisfy (L53). At most 64 KB. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** Milliseconds an approval is waited for before it counts as denied (L55). */
  readonly approvalTimeoutMs?: number;
  readonly tags?: Tags;
};

/**
 * Options brought to a session: those given are replaced, null takes one back, and it is again as
 * the worker says.
 */
export type OptionChanges = Partial<Pick<RunOptions, 'cwd'>> & {
  readonly [Key in Exclude<keyof RunOptions, 'cwd'>]?: RunOptions[Key] | null;
};

/**
 * The transcript is damaged: the session goes on from `to` instead of `from`, its head. `lost`: a
 * sentence, for the transcript.
 */
export type Repair = { readonly from: Hash; readonly to: Hash; readonly lost: string };

/** Characters of that sentence. */
export const LONGEST_LOSS = 4_000;

/**
 * Limits of the run under way, each above the one it has: counted from the run's beginning, as in
 * its options.
 */
export type TopUp = Pick<Partial<RunOptions>, 'maxTurns' | 'maxBudgetUsd' | 'maxTokens' | 'timeoutMs'>;

/**
 * A message from a user. Texts over 1 KB are put in the store by the client and travel by hash.
 * `options` change the session's options from the run it opens on; `now` interrupts what runs for
 * it.
 */
export type UserMessage = {
  readonly id: MessageId;
  readonly body: MessageBody;
  readonly now?: true;
  readonly options?: OptionChanges;
  /** Whoever sent it, by name, for the transcript (O12); never told to the model. */
  readonly by?: string;
  /**
   * The span that sent it, by its W3C trace context: the run that it opens is a part of that trace
   * (O15).
   */
  readonly traceparent?: string;
  /** How it came. Absent: nobody said it. */
  readonly querySource?: QuerySource;
  /** No prompt: the conversation is to be summed up, in a run of its own (L10). */
  readonly compact?: CompactionAsked;
  /**
   * It is no message: the session itself put it there, when an agent in the background ended (L71).
   */
  readonly ended?: AgentNews;
};

/** `instructions` are for the model that sums up, after ours. */
export type CompactionAsked = { readonly instructions?: string };

/** Characters of these instructions. */
export const LONGEST_INSTRUCTIONS = 4_000;

/** The workflow's argument. */
export type SessionInput = {
  readonly options: RunOptions;
  /** First 120 characters of the first prompt, for lists. */
  readonly title: string;
  /**
   * Whether the server has the phase search attribute registered, and with `attributes` all others
   * too.
   */
  readonly visibility: boolean;
  readonly attributes?: true;
  readonly handover?: HandoverLimits;
  /** Absent: `machine`. */
  readonly profile?: Profile;
  /** Payloads are sealed: a signal that carries none was sent by nobody who holds the key. */
  readonly sealed?: true;
  /**
   * Taken as if it were sent right after the start: one that starts a session as a child workflow
   * has no signal to send with it.
   */
  readonly first?: UserMessage;
  /**
   * `run`: the session closes when a run has ended and no message waits, and returns a RunReport of
   * that run.
   */
  readonly until?: 'run';
};

/**
 * Our own limits for continuing as new, far below Temporal's (L4). `betweenRuns`: events after
 * which it is done when a run has ended, where least has to be carried; as `events` when absent.
 * `iterations` is for those who want it more often.
 */
export type HandoverLimits = {
  readonly events: number;
  readonly signals: number;
  readonly betweenRuns?: number;
  readonly iterations?: number;
};

/**
 * These bound the history that a worker replays when it takes over: after a kill it does so for all
 * its sessions at once.
 */
export const defaultHandover: HandoverLimits = { events: 400, betweenRuns: 300, signals: 5_000 };

/** A run's summary and its handover name at most this many of its messages: payloads stay small. */
export const LISTED_MESSAGES = 200;

/** The memo lists at most this many of the calls that wait for a decision, the oldest. */
export const LISTED_APPROVALS = 20;
/** Characters of a message's id. */
export const LONGEST_ID = 200;
/** Characters of a person's reason for a denial. */
export const LONGEST_REASON = 2_000;
/** Entries that can wait to be snipped: one request names no more. */
export const MOST_SNIPS = 1_000;

/** The end of a run, kept in the session's memo and in the transcript's `run_ended` entry. */
export type RunSummary = {
  /** 1 for the session's first run. */
  readonly run: number;
  readonly terminal: Terminal;
  readonly turns: number;
  readonly iterations: number;
  /** Null only when not even the first run could be stored. */
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
  /**
   * The final reply, its first 500,000 characters, of long characters fewer; the transcript has
   * all.
   */
  readonly text: string;
  /**
   * The value of the final answer, where the run had an output schema and completed (L53). Absent
   * above 500,000 characters of JSON.
   */
  readonly output?: unknown;
  readonly usage: Usage;
  /** US dollars; null when a price is not known. */
  readonly costUsd: number | null;
};

export type SessionMemo = {
  readonly phase: Phase;
  /** The transcript's, when the phase last changed. */
  readonly head: Hash | null;
  readonly cwd: string;
  readonly title: string;
  /** Runs opened so far. */
  readonly runs: number;
  readonly last: RunSummary | null;
  /** That wait for a decision, the oldest. At most LISTED_APPROVALS. */
  readonly approvals?: readonly PendingApproval[];
  /** Questions that were answered lately. At most LISTED_ANSWERS. */
  readonly answered?: readonly Answered[];
  /** Milliseconds since the epoch, while parked (L14). */
  readonly parkedUntil?: number;
  /**
   * The host that has its folder: its steps wait for a worker there. Absent where a store is not
   * shared.
   */
  readonly host?: SessionHost;
  /**
   * Agents at work in the background of a session that is idle (L71): the end of each opens a run.
   * Absent without any.
   */
  readonly background?: number;
  /**
   * What the person may write next: of the last run, while the session is idle (L56). Absent
   * without any.
   */
  readonly suggestion?: { readonly run: number; readonly text: string };
  readonly facts?: SessionFacts;
};

/**
 * Answer of the `view` query: convenience for people; the store and the live channel are the truth.
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
  readonly passedOver?: readonly PassedOver[];
};
