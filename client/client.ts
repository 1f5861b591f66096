// The typed client: everything a program or a person does with sessions. It needs a server, never a worker.
import type { Client } from '@temporalio/client';
import type { MessageId, SessionId } from '../workflows/contract/ids.ts';
import { withChanges } from '../workflows/contract/option-changes.ts';
import { optionsProblem } from '../workflows/contract/options-problem.ts';
import {
  SIGNALS,
  TASK_QUEUE,
  WORKFLOW_TYPE,
  type OptionChanges,
  type PendingApproval,
  type RunOptions,
  type SignalOnce,
  type UserMessage,
} from '../workflows/contract/session.ts';
import type { Watched } from '../activities/live/events.ts';
import type { Entry } from '../activities/transcript/entries.ts';
import { schemaProblem } from '../activities/model/answer-schema.ts';
import { createLimit } from '../activities/transcript/limit.ts';
import type { Store } from '../activities/transcript/store.ts';
import type { WaitingApproval } from './approval.ts';
import { approve, type ApproveOptions, type DecidePorts, deny, type DenyOptions } from './decide.ts';
import { follow, type Followed, type FollowOptions } from './follow.ts';
import { headOf } from './head.ts';
import { messageBody, messageIdProblem, newMessageId, promptProblem, titleOf } from './message.ts';
import { patience, persist } from './persist.ts';
import { ClientProblem } from './problem.ts';
import type { RunOutcome } from './run-outcome.ts';
import { newSessionId, sessionIdProblem } from './session-id.ts';
import { sessionInfo, type SessionDescription, type SessionInfo } from './session-info.ts';
import { cancel, describe, signal, signalWithStart } from './session-send.ts';
import { MOST_UPDATES, update } from './session-update.ts';
import { snip, type Snipped } from './snip.ts';
import { transcriptReader } from './transcript.ts';

export type ClientOptions = {
  readonly temporal: Client;
  /** The store its workers use. */
  readonly store: Store;
  readonly live: (session: SessionId, signal: AbortSignal) => AsyncIterable<Watched>;
  /** Whether the server has the phase registered as a search attribute. */
  readonly visibility: () => Promise<boolean>;
  readonly taskQueue?: string;
  /** Milliseconds between looks at a session that is followed. */
  readonly lookMs?: number;
};

/** `messageId`: the same on a retry is the same message. */
export type StartOptions = OptionChanges & {
  /** Chosen here when absent. One that is open takes the options given, and null takes one of its own back. */
  readonly session?: string;
  readonly messageId?: MessageId;
  /** What is not given, or null, of a session that is opened by this: one that is open keeps its own. */
  readonly ifNew?: Partial<RunOptions>;
};

export type SendOptions = {
  readonly now?: boolean;
  readonly messageId?: MessageId;
  readonly options?: OptionChanges;
};

export type Sent = { readonly session: SessionId; readonly messageId: MessageId };

/** Every method throws ClientProblem, a sentence; those that read a transcript throw StoreError too. */
export type PerdureClient = {
  /** Durable when it resolves. A `session` that is open already takes the task as its next message, options included. */
  start(task: string, options?: StartOptions): Promise<Sent>;
  send(session: string, text: string, options?: SendOptions): Promise<Sent>;
  interrupt(session: string): Promise<void>;
  /** Ends what runs, and the session with it (L49). */
  cancel(session: string): Promise<void>;
  /** Ends a parking early (L14). */
  resume(session: string): Promise<void>;
  /** Calls that wait for a decision, of one session or of all that are open, with their inputs (L55). No worker is needed. */
  approvals(session?: string): Promise<readonly WaitingApproval[]>;
  /** Returns what was decided about. A worker has to run: it takes the decision, once. */
  approve(session: string, call: string, options?: ApproveOptions): Promise<PendingApproval>;
  deny(session: string, call: string, reason: string, options?: DenyOptions): Promise<PendingApproval>;
  /** From its next request on the model no longer sees these entries, by position. Each must be one a snip can mean, and stays (L7). */
  snip(session: string, entries: readonly number[]): Promise<Snipped>;
  /** Newest first; `open`: only those that are not closed. */
  list(which?: { readonly open?: boolean }): AsyncIterable<SessionInfo>;
  describe(session: string): Promise<SessionDescription>;
  /** Events as they come, then the run's result. */
  follow(session: string, options?: FollowOptions): AsyncIterable<Followed>;
  /** Of run `run`, or the last that ended; null when none has. */
  result(session: string, run?: number): Promise<RunOutcome | null>;
  transcript(session: string): Promise<readonly Entry[]>;
};

const LOOK_MS = 1_000;
const QUERY = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus`;

export function createClient(options: ClientOptions): PerdureClient {
  const { temporal, store, live, lookMs = LOOK_MS } = options;
  const reader = transcriptReader(store);
  const impatient = { ...patience, total: patience.oneCall };
  const look = (session: SessionId) =>
    persist(temporal, `look at session ${session}`, () => describe(temporal, session), impatient);
  const entriesNow = async (session: SessionId): Promise<readonly Entry[]> => {
    const head = await persist(temporal, `read session ${session}`, () => headOf(temporal, session), impatient);
    return reader.entries(session, head);
  };
  const decisions = decidePorts(options, look);
  return {
    start: (task, start) => startSession(options, task, start ?? {}),
    send: async (id, text, { now, messageId, options: changed } = {}) => {
      const session = checkedId(id);
      const message = await messageOf(store, text, messageId, changed);
      await signal(temporal, session, SIGNALS.message, [{ ...message, ...(now ? { now } : {}) }]);
      return { session, messageId: message.id };
    },
    interrupt: async (id) => signal(temporal, checkedId(id), SIGNALS.interrupt, [once()]),
    cancel: async (id) => cancel(temporal, checkedId(id)),
    resume: async (id) => signal(temporal, checkedId(id), SIGNALS.resume, [once()]),
    approvals: async (id) => {
      const sessions = id === undefined ? list(temporal, `${QUERY} = 'Running'`) : [await look(checkedId(id))];
      const waiting: WaitingApproval[] = [];
      for await (const { session, status, approvals = [] } of sessions)
        for (const pending of status === 'open' ? approvals : []) waiting.push(await reader.waiting(session, pending));
      return waiting;
    },
    approve: async (id, call, approved = {}) => approve(decisions, checkedId(id), call, approved),
    deny: async (id, call, reason, denied = {}) => deny(decisions, checkedId(id), call, reason, denied),
    snip: async (id, entries) => {
      const send = (session: SessionId) => signal(temporal, session, SIGNALS.snip, [{ entries }]);
      return snip({ look, entries: entriesNow, send }, checkedId(id), entries);
    },
    list: ({ open = false } = {}) => list(temporal, `${QUERY} ${open ? "= 'Running'" : "!= 'ContinuedAsNew'"}`),
    describe: async (id) => look(checkedId(id)),
    follow: (id, followed) => follow({ ...reader, live, look, everyMs: lookMs }, checkedId(id), followed),
    result: async (id, run) => {
      const session = checkedId(id);
      const { last } = await look(session);
      return last ? reader.outcome(session, last.head, run ?? last.run) : null;
    },
    transcript: async (id) => {
      const session = checkedId(id);
      await look(session);
      return entriesNow(session);
    },
  };
}

function decidePorts(options: ClientOptions, look: DecidePorts['look']): DecidePorts {
  const { temporal, store, taskQueue = TASK_QUEUE } = options;
  const few = createLimit(MOST_UPDATES);
  return {
    store,
    look,
    update: (session, name, arg) => few(() => update({ temporal, session, name, arg, taskQueue })),
  };
}

const once = (): SignalOnce => ({ id: newMessageId() });

async function startSession(client: ClientOptions, task: string, start: StartOptions): Promise<Sent> {
  const { session: id, messageId, ifNew = {}, ...given } = start;
  const session = id === undefined ? newSessionId() : checkedId(id);
  // A new session has nothing that null could take back.
  const options: RunOptions = { cwd: process.cwd(), ...ifNew, ...withChanges<Partial<RunOptions>>({}, given) };
  // A session that is open already has options of its own: those given hold from its next run on.
  const message = await messageOf(client.store, task, messageId, id === undefined ? undefined : given);
  const problem = wrongWith(options);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const input = { options, title: titleOf(task), visibility: await client.visibility() };
  const taskQueue = client.taskQueue ?? TASK_QUEUE;
  await signalWithStart(client.temporal, { session, input, message, taskQueue, now: Date.now() });
  return { session, messageId: message.id };
}

async function messageOf(
  store: Store,
  text: string,
  id = newMessageId(),
  options?: OptionChanges,
): Promise<UserMessage> {
  const problem = promptProblem(text) ?? messageIdProblem(id) ?? (options && wrongWith(options));
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const changes = options && Object.keys(options).length > 0 ? { options } : {};
  return { id, body: await messageBody(store, text), ...changes };
}

function wrongWith(changes: OptionChanges): string | undefined {
  const options = withChanges<Partial<RunOptions>>({}, changes);
  return optionsProblem(options) ?? schemaProblem(options.outputSchema);
}

function checkedId(id: string): SessionId {
  const problem = sessionIdProblem(id);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  return id as SessionId;
}

async function* list(temporal: Client, query: string): AsyncIterable<SessionInfo> {
  for await (const execution of temporal.workflow.list({ query })) yield sessionInfo(execution);
}
