// The typed client: everything a program or a person does with sessions. It needs a server, never a worker.
import type { Client } from '@temporalio/client';
import type { SessionId } from '../workflows/contract/ids.ts';
import {
  SIGNALS,
  UPDATES,
  WORKFLOW_TYPE,
  type PendingApproval,
  type SignalOnce,
} from '../workflows/contract/session.ts';
import type { Entry } from '../activities/transcript/log/entries.ts';
import { createLimit } from '../activities/async.ts';
import {
  type WaitingApproval,
  approve,
  type ApproveOptions,
  type DecidePorts,
  deny,
  type DenyOptions,
} from './sessions/decide.ts';
import { follow, type Followed, type FollowOptions } from './follow/follow.ts';
import { headOf, transcriptReader } from './sessions/read.ts';
import { folderPorts } from './sessions/folder-ports.ts';
import { known, refuseUnknown } from './options.ts';
import {
  type ClientOptions,
  type CreateClient,
  type StartOptions,
  type SendOptions,
  describeHere,
  startSession,
  MOST_UPDATES,
  update,
  type Sent,
} from './sessions/start.ts';
import { messageOf, newMessageId, cancel, closedProblem, signal } from './sessions/send.ts';
import { patience, persist } from './sessions/persist.ts';
import { type Damage, examineDamage } from './sessions/repair.ts';
import type { Prompt } from './sessions/prompt.ts';
import type { RunOutcome } from './sessions/outcome.ts';
import { checkedId, sessionInfo, type SessionDescription, type SessionInfo } from './sessions/info.ts';
import { snip, type Snipped } from './sessions/snip.ts';

/** Every method throws ClientProblem, a sentence; those that read a transcript throw StoreError too. */
export type PerdureClient = {
  /** Durable when it resolves. A `session` that is open already takes the task as its next message, options included. */
  start(task: Prompt, options?: StartOptions): Promise<Sent>;
  send(session: string, prompt: Prompt, options?: SendOptions): Promise<Sent>;
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
  /** Whether its transcript can be read to its end, and what is lost of one that cannot. No worker is needed. */
  damage(session: string): Promise<Damage>;
  /** It goes on from the last whole step; what is lost is told in its transcript. It must be idle, and a worker has to run. */
  repair(session: string): Promise<Damage>;
  /** Newest first; `open`: only those that are not closed. */
  list(which?: { readonly open?: boolean }): AsyncIterable<SessionInfo>;
  describe(session: string): Promise<SessionDescription>;
  /** Events as they come, then the run's result. */
  follow(session: string, options?: FollowOptions): AsyncIterable<Followed>;
  /** The outcome of run `run`, or of the last that ended; null when none has. */
  result(session: string, run?: number): Promise<RunOutcome | null>;
  transcript(session: string): Promise<readonly Entry[]>;
};

const LOOK_MS = 1_000;
const QUERY = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus`;

/** Throws ClientProblem for an option that is not known, as every method does; SetupProblem for a data folder that cannot be used. */
export function createClient(given: CreateClient): PerdureClient {
  refuseUnknown('createClient()', given, known.client);
  const options = withPorts(given);
  const { temporal, store, live, lookMs = LOOK_MS } = options;
  const reader = transcriptReader(store);
  const impatient = { ...patience, total: patience.oneCall };
  const look = (session: SessionId) =>
    persist(temporal, `look at session ${session}`, () => describeHere(options, session), impatient);
  /** A server that others use too: what is sent to a session of theirs would be passed over, and nobody would know. */
  const reach = async (id: string): Promise<SessionId> => {
    const session = checkedId(id);
    if (options.storeId) await look(session);
    return session;
  };
  const headNow = (session: SessionId) =>
    persist(temporal, `read session ${session}`, () => headOf(temporal, session), impatient);
  const entriesNow = async (session: SessionId): Promise<readonly Entry[]> =>
    reader.entries(session, await headNow(session));
  const decisions = decidePorts(options, look);
  return {
    start: async (task, start = {}) => {
      refuseUnknown('start()', start, known.start);
      return startSession(options, task, start);
    },
    send: async (id, text, sent = {}) => {
      refuseUnknown('send()', sent, known.send);
      const { now, messageId, options: changed } = sent;
      const session = await reach(id);
      const message = await messageOf(store, text, messageId, changed);
      await signal(temporal, session, SIGNALS.message, [{ ...message, ...(now ? { now } : {}) }]);
      return { session, messageId: message.id };
    },
    interrupt: async (id) => signal(temporal, await reach(id), SIGNALS.interrupt, [once('interrupt')]),
    cancel: async (id) => cancel(temporal, checkedId(id)),
    resume: async (id) => signal(temporal, await reach(id), SIGNALS.resume, [once('resume')]),
    approvals: async (id) => {
      const sessions = id === undefined ? list(temporal, `${QUERY} = 'Running'`) : [await look(checkedId(id))];
      const waiting: WaitingApproval[] = [];
      for await (const { session, status, approvals = [] } of sessions)
        for (const pending of status === 'open' ? approvals : []) waiting.push(await reader.waiting(session, pending));
      return waiting;
    },
    approve: async (id, call, approved = {}) => {
      refuseUnknown('approve()', approved, known.approve);
      return approve(decisions, checkedId(id), call, approved);
    },
    deny: async (id, call, reason, denied = {}) => {
      refuseUnknown('deny()', denied, known.deny);
      return deny(decisions, checkedId(id), call, reason, denied);
    },
    snip: async (id, entries) => {
      const send = (session: SessionId) => signal(temporal, session, SIGNALS.snip, [{ entries }]);
      return snip({ look, entries: entriesNow, send }, checkedId(id), entries);
    },
    damage: async (id) => examineDamage({ temporal, store }, await look(checkedId(id))),
    repair: async (id) => {
      const seen = await look(checkedId(id));
      if (seen.status !== 'open') throw closedProblem(seen);
      const damage = await examineDamage({ temporal, store }, seen);
      if (damage.kind !== 'repairable') return damage;
      const { from, to, lost } = damage;
      await decisions.update(seen.session, UPDATES.repair, { from, to, lost });
      return damage;
    },
    list: (which = {}) => {
      refuseUnknown('list()', which, known.list);
      return list(temporal, `${QUERY} ${which.open ? "= 'Running'" : "!= 'ContinuedAsNew'"}`);
    },
    describe: async (id) => look(checkedId(id)),
    follow: (id, followed) => {
      refuseUnknown('follow()', followed, known.follow);
      return follow({ ...reader, live, look, head: headNow, everyMs: lookMs }, checkedId(id), followed);
    },
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
  const { temporal, store } = options;
  const few = createLimit(MOST_UPDATES);
  return {
    store,
    look,
    update: (session, name, arg) =>
      few(async () => {
        const { taskQueue, configuration } = await look(session);
        return update({ temporal, session, name, arg, taskQueue, configuration });
      }),
  };
}

const once = (name: SignalOnce['signal']): SignalOnce => ({ signal: name, id: newMessageId() });

async function* list(temporal: Client, query: string): AsyncIterable<SessionInfo> {
  for await (const execution of temporal.workflow.list({ query })) yield sessionInfo(execution);
}

function withPorts({ env = process.env, ...given }: CreateClient): ClientOptions {
  const { store, live, visibility } = given;
  if (store && live && visibility) return { ...given, store, live, visibility };
  const ports = folderPorts(given.temporal, env);
  // The identity is that of the folder's own store.
  const { storeId: _, ...others } = ports;
  return { ...(store ? others : ports), ...given };
}
