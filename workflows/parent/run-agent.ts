// The exports of `perdure/workflow`: a user's own workflow starts an agent as a child, and gets its
// result (Q4).
import {
  ApplicationFailure,
  ChildWorkflowFailure,
  patched,
  proxyActivities,
  startChild,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import {
  activityType,
  type ActivityAnswer,
  type RegisteredActivities,
  type StoredText,
} from '../contract/activities.ts';
import { traceparentProblem, type Hash, type MessageId, type SessionId } from '../contract/ids.ts';
import type { MessageBody } from '../contract/people.ts';
import { optionsProblem } from '../contract/options-problem.ts';
import {
  recordsQueue,
  SIGNALS,
  TASK_QUEUE,
  WORKFLOW_TYPE,
  type RunOptions,
  type RunReport,
  type SessionInput,
  type UserMessage,
} from '../contract/session.ts';
import { LONGEST_TEXT, sessionTitle } from '../session/inbox.ts';
import { present } from '../contract/present.ts';

export type { RunOptions, RunReport } from '../contract/session.ts';

export type AgentCall = {
  /**
   * At most 4,194,304 characters. Above 65,536 it is stored by the agents' worker first, and
   * travels by hash.
   */
  readonly prompt: string;
  /**
   * `cwd`: an absolute path on the agents' worker. Absent: the `cwd` of PerdurePlugin, where the
   * workflow's own worker has it.
   */
  readonly options?: Partial<RunOptions>;
  /**
   * The queue of the worker that runs agents. Absent: the workflow's own queue where its worker has
   * PerdurePlugin, else `perdure`, which every worker of Perdure polls.
   */
  readonly taskQueue?: string;
  /** The session's id, which is its workflow's id. Absent: a new one. */
  readonly session?: string;
  /**
   * The W3C trace context of the span that calls the agent: its run is part of that trace (O15).
   */
  readonly traceparent?: string;
};

/** A running agent: a child workflow, which people also see, steer and stop with `npx perdure`. */
export type RunningAgent = {
  readonly session: SessionId;
  /** Sends it a message. `now` interrupts what it does. */
  send(text: string, how?: { readonly now?: boolean }): Promise<void>;
  /** Ends its run, which returns with what it has. */
  interrupt(): Promise<void>;
  /**
   * Waits for its end. Throws ChildWorkflowFailure when it was cancelled or could not be opened.
   */
  result(): Promise<RunReport>;
};

type OwnWorker = { readonly cwd?: string };

/** The bundle of a worker that runs agents itself sets this once. */
let ownWorker: OwnWorker | null = null;

/**
 * Makes the workflow's own worker run agents, in `cwd` unless they name another folder. The entry
 * that PerdurePlugin makes calls it.
 */
export function runsAgents(here: OwnWorker): void {
  ownWorker = here;
}

/**
 * Runs an agent to its end. A run that did not complete returns too: `reason` says how it ended.
 * Cancelling the caller cancels the agent, and the call ends when the agent has. Throws
 * ApplicationFailure `BadAgentCall` for what no run can open with, and `BadOptions` for options
 * that the agents' worker refuses.
 */
export async function runAgent(call: AgentCall): Promise<RunReport> {
  return (await startAgent(call)).result();
}

/** Starts an agent and returns a handle on it. Throws as `runAgent` does. */
export async function startAgent({
  prompt,
  options: requested = {},
  taskQueue = ownWorker === null ? TASK_QUEUE : workflowInfo().taskQueue,
  session,
  traceparent,
}: AgentCall): Promise<RunningAgent> {
  const options = { ...(ownWorker?.cwd !== undefined && { cwd: ownWorker.cwd }), ...requested } as RunOptions;
  const problem =
    textProblem(prompt) ?? cwdProblem(options) ?? optionsProblem(options) ?? traceparentProblem(traceparent);
  if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem, 'BadAgentCall');
  const id = (session ?? `s-${uuid4()}`) as SessionId;
  const title = sessionTitle(prompt);
  const querySource = 'sdk' as const;
  const first = { ...(await messageOf(prompt, taskQueue)), querySource, ...(traceparent && { traceparent }) };
  const input: SessionInput = { options, title, visibility: false, first, until: 'run' };
  const child = await startChild<(argument: SessionInput) => Promise<RunReport>>(WORKFLOW_TYPE, {
    workflowId: id,
    taskQueue,
    args: [input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    // A session cleans up before it ends, and the caller must not go on before that.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    parentClosePolicy: 'REQUEST_CANCEL',
  });
  return {
    session: id,
    send: async (text, { now = false } = {}) => {
      const wrong = textProblem(text);
      if (wrong !== undefined) throw ApplicationFailure.nonRetryable(wrong, 'BadAgentCall');
      await child.signal(SIGNALS.message, { ...(await messageOf(text, taskQueue)), ...(now && { now }) });
    },
    interrupt: () => child.signal(SIGNALS.interrupt, { signal: 'interrupt', id: uuid4() }),
    result: () => child.result().catch(refuseBadOptions),
  };
}

/**
 * Throws refused options as a failure of the caller's own, so that its retry policy knows them by
 * type.
 */
function refuseBadOptions(error: unknown): never {
  const { cause } = error as ChildWorkflowFailure;
  if (error instanceof ChildWorkflowFailure && cause instanceof ApplicationFailure && cause.type === 'BadOptions')
    throw ApplicationFailure.nonRetryable(cause.message, cause.type);
  throw error;
}

/**
 * Characters of all pieces together: their share of a history stays far below the 50 MB at which
 * the server ends a workflow.
 */
const LONGEST_PROMPT = 4 * 1024 * 1024;

/**
 * Characters in one activity: below the 512 KiB at which the server warns, and below its limit of 2
 * MiB where each is six bytes of JSON.
 */
const PIECE = 128 * 1024;

async function messageOf(text: string, taskQueue: string): Promise<UserMessage> {
  const body: MessageBody = text.length > LONGEST_TEXT ? await storeLongText(text, taskQueue) : { kind: 'text', text };
  return { id: uuid4() as MessageId, body };
}

/** Stores the text with the agents' worker, by its queue: the store is that worker's. */
async function storeLongText(text: string, taskQueue: string): Promise<MessageBody> {
  const type = activityType('storeText');
  const { [type]: store } = proxyActivities<RegisteredActivities>({
    taskQueue: recordsQueue(taskQueue),
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: '30s',
  });
  let stored: StoredText | undefined;
  for (const piece of splitIntoPieces(text)) {
    const after: Hash | undefined = stored?.hash;
    const answer: ActivityAnswer<StoredText> = await store({ text: piece, ...present({ after }) });
    stored = answer.done;
  }
  if (stored === undefined) throw new Error('a text without a piece');
  return { kind: 'stored', ...stored };
}

/** Splits a text without cutting a surrogate pair. */
function* splitIntoPieces(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const wanted = text.slice(at, at + PIECE);
    const isCut = at + PIECE < text.length && /[\uD800-\uDBFF]$/.test(wanted);
    const piece = isCut ? wanted.slice(0, -1) : wanted;
    yield piece;
    at += piece.length;
  }
}

function cwdProblem({ cwd }: Partial<RunOptions>): string | undefined {
  return cwd === undefined ? 'no working directory: give options.cwd, or cwd to PerdurePlugin' : undefined;
}

function textProblem(text: string): string | undefined {
  if (typeof text !== 'string' || text.trim() === '') return 'the prompt is empty: say what the agent is to do';
  if (text.length <= LONGEST_TEXT) return undefined;
  // A workflow that was refused here before this version must be refused again in a replay.
  if (!patched('perdure-long-prompt')) return tooLong(text, LONGEST_TEXT);
  return text.length <= LONGEST_PROMPT ? undefined : tooLong(text, LONGEST_PROMPT);
}

function tooLong({ length }: string, most: number): string {
  return `the prompt has ${length} characters: give at most ${most}, and put the rest into a file of the workspace`;
}
