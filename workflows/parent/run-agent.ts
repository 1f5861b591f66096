// The exports of `perdure/workflow`: an agent that a workflow of the user's own starts as a child,
// with its result (Q4).
import {
  ApplicationFailure,
  ChildWorkflowFailure,
  patched,
  proxyActivities,
  startChild,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { activityType, type Answer, type Registered, type StoredText } from '../contract/activities.ts';
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
import { LONGEST_TEXT, titleOf } from '../session/inbox.ts';

export type { RunOptions, RunReport } from '../contract/session.ts';

export type AgentCall = {
  /**
   * At most 4,194,304 characters. Above 65,536 it is stored by the agents' worker first, and
   * travels by hash.
   */
  readonly prompt: string;
  /**
   * `cwd`: an absolute path on the agents' worker. Absent: that of PerdurePlugin, where the
   * workflow's own worker has it.
   */
  readonly options?: Partial<RunOptions>;
  /**
   * The queue of the worker that runs agents. Absent: the workflow's own, where its worker has
   * PerdurePlugin, else `perdure`, which every worker of Perdure polls.
   */
  readonly taskQueue?: string;
  /** The session's id, which is its workflow's. Absent: a new one. */
  readonly session?: string;
  /**
   * The span that calls it, by its W3C trace context: the agent's run is a part of that trace
   * (O15).
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

type Own = { readonly cwd?: string };

/** Set once, by the bundle of a worker that runs agents itself. */
let own: Own | null = null;

/**
 * For the entry that PerdurePlugin makes: the workflow's own worker runs agents, in `cwd` unless
 * they name another folder.
 */
export function runsAgents(here: Own): void {
  own = here;
}

/**
 * Runs an agent to its end. A run that did not complete returns too: `reason` says how it ended.
 * When the caller is cancelled the agent is, and the call ends when the agent has. Throws
 * ApplicationFailure `BadAgentCall` for what no run can open with, `BadOptions` for options that
 * the agents' worker refuses.
 */
export async function runAgent(call: AgentCall): Promise<RunReport> {
  return (await startAgent(call)).result();
}

/** Starts an agent and returns a handle on it. Throws as `runAgent` does. */
export async function startAgent({
  prompt,
  options: given = {},
  taskQueue = own === null ? TASK_QUEUE : workflowInfo().taskQueue,
  session,
  traceparent,
}: AgentCall): Promise<RunningAgent> {
  const options = { ...(own?.cwd !== undefined && { cwd: own.cwd }), ...given } as RunOptions;
  const problem =
    textProblem(prompt) ?? cwdProblem(options) ?? optionsProblem(options) ?? traceparentProblem(traceparent);
  if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem, 'BadAgentCall');
  const id = (session ?? `s-${uuid4()}`) as SessionId;
  const title = titleOf(prompt);
  const querySource = 'sdk' as const;
  const first = { ...(await messageOf(prompt, taskQueue)), querySource, ...(traceparent && { traceparent }) };
  const input: SessionInput = { options, title, visibility: false, first, until: 'run' };
  const child = await startChild<(given: SessionInput) => Promise<RunReport>>(WORKFLOW_TYPE, {
    workflowId: id,
    taskQueue,
    args: [input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    // A session cleans up before it ends: nobody goes on as if it had.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    parentClosePolicy: 'REQUEST_CANCEL',
  });
  return {
    session: id,
    send: async (text, { now = false } = {}) => {
      const wrong = textProblem(text);
      if (wrong !== undefined) throw ApplicationFailure.nonRetryable(wrong, 'BadAgentCall');
      await child.signal(SIGNALS.message, { ...(await messageOf(text, taskQueue)), ...(now ? { now } : {}) });
    },
    interrupt: () => child.signal(SIGNALS.interrupt, { signal: 'interrupt', id: uuid4() }),
    result: () => child.result().catch(refuseBadOptions),
  };
}

/** Told as a failure of the caller's own, so that its retries know it for what it is. */
function refuseBadOptions(error: unknown): never {
  const { cause } = error as ChildWorkflowFailure;
  if (error instanceof ChildWorkflowFailure && cause instanceof ApplicationFailure && cause.type === 'BadOptions')
    throw ApplicationFailure.nonRetryable(cause.message, cause.type);
  throw error;
}

/**
 * Characters of all pieces: what a history carries of it stays far below the 50 MB at which the
 * server ends a workflow.
 */
const LONGEST_PROMPT = 4 * 1024 * 1024;

/**
 * Characters that one activity is given: below the 512 KiB of which the server warns, and its limit
 * of 2 MiB where each is six bytes of JSON.
 */
const PIECE = 128 * 1024;

async function messageOf(text: string, taskQueue: string): Promise<UserMessage> {
  const body: MessageBody = text.length > LONGEST_TEXT ? await storedText(text, taskQueue) : { kind: 'text', text };
  return { id: uuid4() as MessageId, body };
}

/** On the queue of the agents' worker, whose store it is. */
async function storedText(text: string, taskQueue: string): Promise<MessageBody> {
  const type = activityType('storeText');
  const { [type]: store } = proxyActivities<Registered>({
    taskQueue: recordsQueue(taskQueue),
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: '30s',
  });
  let stored: StoredText | undefined;
  for (const piece of pieces(text)) {
    const after: Hash | undefined = stored?.hash;
    const answer: Answer<StoredText> = await store({ text: piece, ...(after === undefined ? {} : { after }) });
    stored = answer.done;
  }
  if (stored === undefined) throw new Error('a text without a piece');
  return { kind: 'stored', ...stored };
}

/** No character is cut in two. */
function* pieces(text: string): Generator<string> {
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
  // A workflow that was refused here before this version must be refused again when it is replayed.
  if (!patched('perdure-long-prompt')) return tooLong(text, LONGEST_TEXT);
  return text.length <= LONGEST_PROMPT ? undefined : tooLong(text, LONGEST_PROMPT);
}

function tooLong({ length }: string, most: number): string {
  return `the prompt has ${length} characters: give at most ${most}, and put the rest into a file of the workspace`;
}
