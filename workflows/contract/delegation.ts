// Calls that the workflow carries out itself (L62): the work as `runTool` hands it over, and what
// came of it. While such a call is open nothing is held: no slot, no process.
import type { CallKey, Hash, SessionId } from './ids.ts';
import type { Spend, Terminal } from './loop.ts';
import type { MessageBody } from './people.ts';

/**
 * Runs the work of a call in a workflow of its own, which outlives the caller's continue-as-new and
 * reports its end (L63).
 */
export const DELEGATED_TYPE = 'perdure.delegatedWork';

/**
 * The parts of Temporal's activity options that are plain JSON. Times as Temporal writes them:
 * milliseconds, or '10 minutes'.
 */
export type ActivityChoices = {
  readonly startToCloseTimeout?: number | string;
  readonly scheduleToCloseTimeout?: number | string;
  readonly scheduleToStartTimeout?: number | string;
  readonly heartbeatTimeout?: number | string;
  readonly retry?: {
    readonly initialInterval?: number | string;
    readonly backoffCoefficient?: number;
    readonly maximumInterval?: number | string;
    readonly maximumAttempts?: number;
    readonly nonRetryableErrorTypes?: readonly string[];
  };
};

export type WorkflowChoices = {
  readonly workflowRunTimeout?: number | string;
  readonly workflowExecutionTimeout?: number | string;
};

/** `taskQueue`: absent, the session's own. `args`: at most LARGEST_ARGS characters of JSON. */
export type DelegatedWork =
  | {
      readonly kind: 'activity';
      readonly name: string;
      readonly taskQueue?: string;
      readonly args: readonly unknown[];
      readonly options: ActivityChoices;
    }
  | {
      readonly kind: 'workflow';
      readonly type: string;
      readonly taskQueue?: string;
      readonly args: readonly unknown[];
      readonly options: WorkflowChoices;
    };

/**
 * A durable timer (L82): over at `until`, milliseconds since the epoch, and with `message` when the
 * session is sent one. `seconds`: until then, as earlier releases wait and hand over, without
 * `until`: from when the workflow hears of it.
 */
export type Wait = {
  readonly kind: 'wait';
  readonly until?: number;
  readonly seconds: number;
  readonly message: boolean;
};

/**
 * A question to people (L81), who have until `until`, milliseconds since the epoch; absent: as long
 * as for an approval. `seconds`: as of a wait. `options`: nothing else is an answer. `inputHash`:
 * of the call's input, which holds the question; set when it is handed over.
 */
export type Question = {
  readonly kind: 'question';
  readonly until?: number;
  readonly seconds?: number;
  readonly options?: readonly string[];
  readonly inputHash?: string;
};

export type Delegation = DelegatedWork | Wait | Question | AgentWork | AgentDeed;

export const LARGEST_ARGS = 64 * 1024;

/** Characters of JSON of a result that go into the transcript; of a longer one the beginning. */
export const LARGEST_RESULT = 128 * 1024;

/**
 * `cut`: the beginning of its JSON. `stopped`: it was asked to stop; `ended` when it had by the
 * time that was waited for (L64).
 */
export type DelegatedEnd =
  | { readonly kind: 'done'; readonly result?: unknown; readonly cut?: string }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'waited'; readonly by: 'time' | 'message' | 'resume' }
  | { readonly kind: 'answered'; readonly body: MessageBody; readonly by: string }
  | AgentEnd
  /** The workflow's own sentence: there is nothing to be waited for. */
  | { readonly kind: 'told'; readonly text: string }
  | { readonly kind: 'stopped'; readonly ended: boolean };

/**
 * Characters of JSON of an end that travels with what the next step appends: an answer is short, or
 * lies in the store.
 */
export const LARGEST_PLAIN = 4_096;

/** Where no tool has better words for it. Null: its words are elsewhere. */
export function endInWords(end: DelegatedEnd): string | null {
  if (end.kind === 'told') return end.text;
  if (end.kind === 'answered') return end.body.kind === 'text' ? end.body.text : null;
  return end.kind === 'waited' ? `The wait is over (${end.by}).` : null;
}

/** The argument of DELEGATED_TYPE. */
export type DelegatedInput = {
  readonly work: DelegatedWork;
  readonly report: { readonly to: SessionId; readonly key: CallKey };
  /** That of the session which a person began; absent when it is the same. */
  readonly root?: SessionId;
};

/**
 * The signal with which it reports. Anyone can signal: one that fits no open call is passed over.
 */
export const DELEGATED_SIGNAL = 'delegated';

export type DelegatedReport = { readonly key: CallKey; readonly end: DelegatedEnd };

/**
 * `depth`: 1 for an agent of a main agent. `background`: its call ends at once (L71). `tools`: all
 * that is left to its parent (L38); absent: no fewer than at the start of its run.
 */
export type AgentWork = {
  readonly kind: 'agent';
  readonly type: string;
  readonly title: string;
  readonly prompt: MessageBody;
  readonly depth: number;
  readonly background?: true;
  readonly isolation?: Isolation;
  readonly tools?: readonly string[];
  /** The iteration that calls it: its first run is a part of that trace. */
  readonly traceparent?: string;
  readonly most: AgentCounts;
};

/** It works in a git work tree of its own, on a branch of its own (L72). */
export type Isolation = 'worktree';

/** Asked of an agent in the background, known by the id that the call which began it gave (L71). */
export type AgentDeed = { readonly agent: string } & (
  | { readonly kind: 'agent_output' | 'agent_stop' }
  | { readonly kind: 'agent_send'; readonly message: MessageBody; readonly traceparent?: string }
);

/**
 * The end of an agent in the background, as its parent is told (L71): a notification for the model.
 */
export type AgentNews = {
  readonly agent: string;
  readonly title: string;
  readonly end: Extract<DelegatedEnd, { kind: 'agent' | 'failed' }>;
};

/** The most agents of one parent that are open at a time, and that one run may start (L68). */
export type AgentCounts = { readonly open: number; readonly perRun: number };

/**
 * Makes a session an agent. `config`: the run of its parent, of which it inherits all that it may
 * do (L70). `key`: of the call it reports to. `tools`: no others, whatever a person sends to it.
 */
export type AgentOrigin = Pick<AgentWork, 'type' | 'depth' | 'isolation' | 'tools'> & {
  readonly parent: SessionId;
  readonly root: SessionId;
  readonly key: CallKey;
  readonly config: Hash;
  /** Absent in what an earlier release started. */
  readonly grant?: Grant;
  /** The titles of the agents from the root to this one. */
  readonly path: readonly string[];
};

/**
 * An agent's share of what its parent had left: for all its runs together, those of its own agents
 * with them (L69). Empty without limits.
 */
export type Grant = { readonly maxBudgetUsd?: number; readonly maxTokens?: number; readonly timeoutMs?: number };

/**
 * The last run of an agent that has ended, null when it had none, and what all its runs took, those
 * of its own agents with them (L69).
 */
export type AgentEnd = {
  readonly kind: 'agent';
  readonly session: SessionId;
  readonly run: AgentRun | null;
  readonly spend: Spend;
  readonly worktree?: WorktreeEnd;
};

/**
 * What became of the work tree of an agent (L72). `committed`: on its branch. `kept`: with what it
 * changed, for the reason in `detail`. `gone`: someone removed it. `left`: its folder could not be
 * removed. `branch` where nothing was committed: it stays all the same.
 */
export type WorktreeEnd =
  | { readonly kind: 'unchanged'; readonly branch?: string; readonly left?: string }
  | {
      readonly kind: 'committed';
      readonly branch: string;
      readonly files: number;
      readonly insertions: number;
      readonly deletions: number;
      readonly left?: string;
    }
  | { readonly kind: 'kept'; readonly path?: string; readonly detail: string }
  | { readonly kind: 'gone'; readonly path: string; readonly branch?: string; readonly left?: string };

/**
 * Commit what an agent has changed in its work tree, and remove this (L72). `reason`: of its last
 * run; null without one.
 */
export type EndWorktree = { readonly step: number; readonly title: string; readonly reason: Terminal['reason'] | null };

export type AgentRun = {
  readonly run: number;
  readonly terminal: Terminal;
  readonly turns: number;
  readonly head: Hash | null;
};

/**
 * An agent tells its parent that its time stands still, or goes on again (L51). By
 * DELEGATED_SIGNAL.
 */
export type AgentPause = { readonly session: SessionId; readonly paused: boolean };

/** An agent of a run that has ended, and what it took. */
export type AgentSpent = {
  readonly session: SessionId;
  readonly type: string;
  readonly title: string;
  readonly spend: Spend;
};
