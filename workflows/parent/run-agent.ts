// The exports of `perdure/workflow`: an agent that a workflow of the user's own starts as a child, with its result (Q4).
import { ApplicationFailure, startChild, uuid4, workflowInfo } from '@temporalio/workflow';
import type { MessageId, SessionId } from '../contract/ids.ts';
import { optionsProblem } from '../contract/options-problem.ts';
import {
  SIGNALS,
  TASK_QUEUE,
  WORKFLOW_TYPE,
  type RunOptions,
  type RunReport,
  type SessionInput,
  type UserMessage,
} from '../contract/session.ts';
import { LONGEST_TEXT } from '../inbox.ts';

export type { RunOptions, RunReport } from '../contract/session.ts';

export type AgentCall = {
  /** At most 64,000 characters: what is longer belongs into a file of the workspace. */
  readonly prompt: string;
  /** `cwd`: an absolute path on the agents' worker. Absent: that of PerdurePlugin, where the workflow's own worker has it. */
  readonly options?: Partial<RunOptions>;
  /**
   * The queue of the worker that runs agents. Absent: the workflow's own, where its worker has PerdurePlugin, else `perdure`, which every
   * worker of Perdure polls.
   */
  readonly taskQueue?: string;
  /** The session's id, which is its workflow's. Absent: a new one. */
  readonly session?: string;
};

/** A running agent: a child workflow, which people also see, steer and stop with `npx perdure`. */
export type RunningAgent = {
  readonly session: SessionId;
  /** Sends it a message. `now` interrupts what it does. */
  send(text: string, how?: { readonly now?: boolean }): Promise<void>;
  /** Ends its run, which returns with what it has. */
  interrupt(): Promise<void>;
  /** Waits for its end. Throws ChildWorkflowFailure when it was cancelled or could not be opened. */
  result(): Promise<RunReport>;
};

type Own = { readonly cwd?: string };

/** Set once, by the bundle of a worker that runs agents itself. */
let own: Own | null = null;

/** For the entry that PerdurePlugin makes: the workflow's own worker runs agents, in `cwd` unless they name another folder. */
export function runsAgents(here: Own): void {
  own = here;
}

/**
 * Runs an agent to its end. A run that did not complete returns too: `reason` says how it ended. When the caller is cancelled the
 * agent is, and the call ends when the agent has. Throws ApplicationFailure `BadAgentCall` for what no run can open with.
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
}: AgentCall): Promise<RunningAgent> {
  const options = { ...(own?.cwd !== undefined && { cwd: own.cwd }), ...given } as RunOptions;
  const problem = textProblem(prompt) ?? cwdProblem(options) ?? optionsProblem(options);
  if (problem !== undefined) throw ApplicationFailure.nonRetryable(problem, 'BadAgentCall');
  const id = (session ?? `s-${uuid4()}`) as SessionId;
  const title = prompt.trim().slice(0, 120);
  const input: SessionInput = { options, title, visibility: false, first: message(prompt), until: 'run' };
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
      await child.signal(SIGNALS.message, { ...message(text), ...(now ? { now } : {}) });
    },
    interrupt: () => child.signal(SIGNALS.interrupt, { signal: 'interrupt', id: uuid4() }),
    result: () => child.result(),
  };
}

function message(text: string): UserMessage {
  return { id: uuid4() as MessageId, body: { kind: 'text', text } };
}

function cwdProblem({ cwd }: Partial<RunOptions>): string | undefined {
  return cwd === undefined ? 'no working directory: give options.cwd, or cwd to PerdurePlugin' : undefined;
}

function textProblem(text: string): string | undefined {
  if (typeof text !== 'string' || text.trim() === '') return 'the prompt is empty: say what the agent is to do';
  if (text.length <= LONGEST_TEXT) return undefined;
  return `the prompt has ${text.length} characters: give at most ${LONGEST_TEXT}, and put the rest into a file of the workspace`;
}
