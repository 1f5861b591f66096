// What the Managed Agents face needs from outside: the client's methods in a person's name, how a
// session stands, its newest step, its live channel, and the store.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChannelItem, PerdureClient, SessionDescription, Store } from '../client/index.ts';
import type { NewestStep, OpenedServer } from '../client/faces/types.ts';
import { callUntilAnswered, impatient } from '../client/sessions/persist.ts';
import { sendSignal } from '../client/sessions/send.ts';
import { newestStepOf } from '../client/sessions/newest-head.ts';
import { update } from '../client/sessions/updates/update.ts';
import type { PagePorts } from '../page/ports.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import { SIGNALS, TASK_QUEUE, UPDATES } from '../workflows/contract/session.ts';
import type { SessionLabels } from '../workflows/contract/steered.ts';
import type { GivenResult } from '../workflows/contract/waits.ts';
import { type Leases, temporalLeases } from './work/leases.ts';

/** Methods that act on a session for a person. */
export type ManagedActing = Pick<PerdureClient, 'start' | 'interrupt' | 'cancel' | 'approve' | 'deny' | 'setOptions'>;

export type ManagedPorts = {
  /** Acts in a person's name, which Temporal's history notes. */
  as(name: string): ManagedActing;
  /** Gives a call that waits for an app or a worker its result, once. Throws ClientProblem. */
  giveResult(session: SessionId, given: GivenResult): Promise<void>;
  /** Tells the session of labels that have changed; it needs no worker. Throws ClientProblem. */
  relabel(session: SessionId, labels: SessionLabels, by: string): Promise<void>;
  /** Throws ClientProblem `no_session` when there is no workflow. */
  describe(session: string): Promise<SessionDescription>;
  /** Returns the newest head, and the input of a step that is under way. */
  newestStep(session: SessionId): Promise<NewestStep>;
  live(session: SessionId, signal: AbortSignal): AsyncIterable<ChannelItem>;
  /** Removes the workflow and its history from the server. */
  removeWorkflow(session: SessionId): Promise<void>;
  /** Makes the session's own folder where it is missing, and returns its absolute path. */
  openWorkspace(session: string): Promise<string>;
  readonly leases: Leases;
  /** Milliseconds without a heartbeat after which a lease of a worker has lapsed. */
  readonly leaseMs: number;
  /** The address at which workers reach this server; undefined for the one that they poll. */
  readonly publicUrl: string | undefined;
  /** Milliseconds without an open call after which a worker is asked to stop; undefined for never. */
  readonly idleLeaseMs: number | undefined;
  /** Names of custom tools that workers of self-hosted environments own. */
  readonly workerTools: readonly string[];
  readonly store: Store;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Writes a line for whoever runs the server. */
  log(line: string): void;
};

type Place = Pick<ManagedPorts, 'leaseMs' | 'publicUrl' | 'idleLeaseMs' | 'workerTools' | 'log'> & {
  /** The absolute path of the folder that holds the sessions' workspaces. */
  readonly root: string;
};

export function managedPorts(
  { temporal }: OpenedServer,
  ports: PagePorts,
  { root, log, ...options }: Place,
): ManagedPorts {
  const { client } = temporal;
  const { namespace } = client.options;
  return {
    as: (name) => ports.as(name, 'over HTTP'),
    giveResult: (session, arg) => {
      const workers = () => ports.describe(session);
      return update({ temporal: client, session, name: UPDATES.giveResult, arg, workers });
    },
    relabel: (session, labels, by) => sendSignal(client, session, SIGNALS.relabel, [{ labels, by }]),
    describe: (session) => ports.describe(session),
    newestStep: (session) =>
      callUntilAnswered(client, `read session ${session}`, () => newestStepOf(client, session), impatient),
    live: (session, signal) => ports.live(session, signal),
    removeWorkflow: async (session) => {
      const workflowExecution = { workflowId: session };
      await callUntilAnswered(client, `delete session ${session}`, () =>
        client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }),
      );
    },
    openWorkspace: async (session) => {
      const folder = join(root, session);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return folder;
    },
    leases: temporalLeases(client, TASK_QUEUE),
    ...options,
    store: ports.store,
    now: Date.now,
    log,
  };
}
