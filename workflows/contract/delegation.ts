// Calls that the workflow carries out itself (L62): the work as `runTool` hands it over, and its
// end. An open call holds no slot and no process.
import type { SessionHost, WorkspacePlace } from './hosts.ts';
import type { CallKey, Hash, SessionId } from './ids.ts';
import type { Spend, Terminal } from './loop.ts';
import type { MessageBody } from './people.ts';

/** The workflow that does a call's work. It outlives continue-as-new, and reports its end (L63). */
export const DELEGATED_TYPE = 'perdure.delegatedWork';

/** The name of the tool whose calls start agents. */
export const AGENT_TOOL = 'agent';

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

/** `taskQueue`: absent for the session's own. `args`: at most LARGEST_ARGS characters of JSON. */
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
 * A durable timer (L82). It is over at `until`, milliseconds since the epoch, or with `message`
 * when the session is sent one. `seconds`: the same for earlier releases, which wait and hand over
 * without `until`, from when the workflow hears of it.
 */
export type WaitWork = {
  readonly kind: 'wait';
  readonly until?: number;
  readonly seconds: number;
  readonly message: boolean;
};

/**
 * A question to people (L81). `until`: milliseconds since the epoch; absent for as long as an
 * approval has. `seconds`: as in a wait. `options`: the only possible answers. `inputHash`: the
 * hash of the call's input, which holds the question; it is set when the question is handed over.
 */
export type QuestionWork = {
  readonly kind: 'question';
  readonly until?: number;
  readonly seconds?: number;
  readonly options?: readonly string[];
  readonly inputHash?: string;
};

/** A call whose result somebody outside gives (G53). It has no deadline. */
export type OutsideWork = { readonly kind: 'outside'; readonly by: OutsideKind };

/**
 * `custom`: an app, through the API that the session was started by. `sandbox`: a worker of the
 * run's self-hosted environment (G74). `worker`: such a worker, too, for a tool of its own (G57).
 */
export type OutsideKind = 'custom' | 'sandbox' | 'worker';

/** Whether workers of an environment carry such a call out, and nobody else. */
export const isOfWorker = (kind: string): boolean => kind === 'sandbox' || kind === 'worker';

export type Delegation = DelegatedWork | WaitWork | QuestionWork | OutsideWork | AgentWork | AgentRequest;

/** What an outside call gave. */
export type OutsideResult = { readonly body: MessageBody; readonly isError?: true };

export const LARGEST_ARGS = 64 * 1024;

/** Characters of JSON of a result in the transcript; a longer one is cut. */
export const LARGEST_RESULT = 128 * 1024;

/**
 * `cut`: the beginning of the result's JSON. `stopped`: the work was asked to stop; `ended` says
 * whether it had ended in the time that the session waits (L64).
 */
export type DelegatedEnd =
  | { readonly kind: 'done'; readonly result?: unknown; readonly cut?: string }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'waited'; readonly by: 'time' | 'message' | 'resume' }
  | { readonly kind: 'answered'; readonly body: MessageBody; readonly by: string }
  | ({ readonly kind: 'result' } & OutsideResult)
  | AgentEnd
  /** A sentence of the workflow's own, which ends the call at once. */
  | { readonly kind: 'told'; readonly text: string }
  | { readonly kind: 'stopped'; readonly ended: boolean };

/** Characters of JSON of an end that travels along: an answer is short, or lies in the store. */
export const LARGEST_PLAIN = 4_096;

/**
 * Puts an end into words, for tools without better ones. Returns null when its words lie in the
 * store.
 */
export function endInWords(end: DelegatedEnd): string | null {
  if (end.kind === 'told') return end.text;
  if (end.kind === 'answered' || end.kind === 'result') return end.body.kind === 'text' ? end.body.text : null;
  return end.kind === 'waited' ? `The wait is over (${end.by}).` : null;
}

/** The argument of DELEGATED_TYPE. */
export type DelegatedInput = {
  readonly work: DelegatedWork;
  readonly report: { readonly to: SessionId; readonly key: CallKey };
  /** The session that a person began; absent when it is the same one. */
  readonly root?: SessionId;
};

/** The signal that reports work. Anyone can send it: one that fits no open call is ignored. */
export const DELEGATED_SIGNAL = 'delegated';

export type DelegatedReport = { readonly key: CallKey; readonly end: DelegatedEnd };

/**
 * The work of an agent: a child session of the same workflow type does it (L66–L70). `depth`: 1 for
 * an agent of a main agent. `background`: its call ends at once (L71). `tools`: those that its
 * parent has left (L38); absent when that is all it began its run with.
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
  /**
   * The span of the iteration that calls the agent: the agent's first run is part of that trace.
   */
  readonly traceparent?: string;
  readonly most: AgentCounts;
};

/** The agent works in a git work tree and on a branch of its own (L72). */
export type Isolation = 'worktree';

/** A request to an agent in the background, by the id that its call was told (L71). */
export type AgentRequest = { readonly agent: string } & (
  | { readonly kind: 'agent_output' | 'agent_stop' }
  | { readonly kind: 'agent_send'; readonly message: MessageBody; readonly traceparent?: string }
);

/** The end of an agent in the background, of which its parent's model is notified (L71). */
export type AgentNews = {
  readonly agent: string;
  readonly title: string;
  readonly end: Extract<DelegatedEnd, { kind: 'agent' | 'failed' }>;
};

/** The most agents of one parent that may be open at a time, and that one run may start (L68). */
export type AgentCounts = { readonly open: number; readonly perRun: number };

/**
 * Makes a session an agent. `config`: that of its parent's run, which says all that it may do
 * (L70). `key`: the call it reports to. `tools`: the only tools it has, whatever a person sends to
 * it. `host`: that of its parent, where it begins; absent without a shared store, and in what an
 * earlier release started. `place`: the parent's workspace there; absent with a work tree.
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
  readonly host?: SessionHost;
  readonly place?: WorkspacePlace;
  /** It tells its parent which of its calls wait (G68). */
  readonly thread?: true;
};

/**
 * An agent's share of what its parent had left. It holds for all its runs together, and for its own
 * agents (L69). Empty without limits.
 */
export type Grant = { readonly maxBudgetUsd?: number; readonly maxTokens?: number; readonly timeoutMs?: number };

/**
 * The last run of an agent that has ended, null when it had none, and the spending of all its runs
 * and its own agents (L69).
 */
export type AgentEnd = {
  readonly kind: 'agent';
  readonly session: SessionId;
  readonly run: AgentRun | null;
  readonly spend: Spend;
  readonly worktree?: WorktreeEnd;
};

/**
 * The end of an agent's work tree (L72). `committed`: its changes are on its branch. `kept`: it
 * stays with its changes, for the reason in `detail`. `gone`: someone removed it. `left`: its
 * folder could not be removed. `branch` where nothing was committed: the branch stays.
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
 * Commits what an agent has changed in its work tree, and removes the work tree (L72). `reason`:
 * why its last run ended; null without a run.
 */
export type EndWorktree = { readonly step: number; readonly title: string; readonly reason: Terminal['reason'] | null };

export type AgentRun = {
  readonly run: number;
  readonly terminal: Terminal;
  readonly turns: number;
  readonly head: Hash | null;
};

/**
 * An agent tells its parent by DELEGATED_SIGNAL that its time stands still, or goes on again (L51).
 */
export type AgentPause = { readonly session: SessionId; readonly paused: boolean };

/** An agent of a run that has ended, and its spending. */
export type AgentSpending = {
  readonly session: SessionId;
  readonly type: string;
  readonly title: string;
  readonly spend: Spend;
};
