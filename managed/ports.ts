// The ports of the Managed Agents face: the client's methods in a person's name, a session's
// description, newest step and live channel, and the store.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasPacks, openShadowReading, readCapturedFolder } from '../client/faces/files.ts';
import { TASK_QUEUE } from '../client/faces/basics.ts';
import {
  callUntilAnswered,
  impatient,
  newestStepOf,
  sendSignal,
  SIGNALS,
  update,
  UPDATES,
} from '../client/faces/outside.ts';
import { ClientProblem } from '../client/faces/start.ts';
import { outputsOf } from '../client/faces/stored.ts';
import type {
  CapturedFolder,
  ChannelItem,
  Entry,
  GivenResult,
  KeyRing,
  NewestStep,
  OpenedServer,
  PerdureClient,
  SessionDescription,
  SessionId,
  SessionLabels,
  Store,
} from '../client/faces/types.ts';
import { createPublicFetch } from '../client/faces/vaults.ts';
import type { Env } from '../connection/data-folder.ts';
import type { PagePorts } from '../page/ports.ts';
import { type Leases, temporalLeases } from './work/leases.ts';

/** Methods that act on a session for a person. */
export type ManagedActing = Pick<PerdureClient, 'start' | 'interrupt' | 'cancel' | 'approve' | 'deny' | 'setOptions'>;

export type ManagedPorts = {
  /** Acts in a person's name, which Temporal's history notes. */
  as(name: string): ManagedActing;
  /** Gives a call that waits for an app or a worker its result, once. Throws ClientProblem. */
  giveResult(session: SessionId, result: GivenResult): Promise<void>;
  /** Tells the session of labels that have changed; it needs no worker. Throws ClientProblem. */
  relabel(session: SessionId, labels: SessionLabels, by: string): Promise<void>;
  /** Throws ClientProblem `no_session` for a session without a workflow. */
  describe(session: string): Promise<SessionDescription>;
  /** Returns the newest head, and the input of a step that is under way. */
  newestStep(session: SessionId): Promise<NewestStep>;
  live(session: SessionId, signal: AbortSignal): AsyncIterable<ChannelItem>;
  /** Removes the workflow and its history from the server. */
  removeWorkflow(session: SessionId): Promise<void>;
  /** Makes the session's own folder where it is missing, and returns its absolute path. */
  openWorkspace(session: string): Promise<string>;
  /** Returns what the session's folder of outputs had when it was captured last, or null. */
  outputs(session: string): Promise<CapturedFolder | null>;
  readonly leases: Leases;
  /** Milliseconds without a heartbeat after which a lease of a worker has lapsed. */
  readonly leaseMs: number;
  /** The address at which workers reach this server; undefined for the one that they poll. */
  readonly publicUrl: string | undefined;
  /** Milliseconds without an open call until a worker is asked to stop; undefined for never. */
  readonly idleLeaseMs: number | undefined;
  /** Names of custom tools that workers of self-hosted environments own. */
  readonly workerTools: readonly string[];
  /** The keys that seal secrets of vaults; undefined without any. */
  readonly keys: KeyRing | undefined;
  /** Reaches the addresses of credentials: public ones, and others that the operator allows. */
  readonly fetch: ReturnType<typeof createPublicFetch>;
  readonly store: Store;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Writes a line to the server's log. */
  log(line: string): void;
};

type Place = Pick<ManagedPorts, 'leaseMs' | 'publicUrl' | 'idleLeaseMs' | 'workerTools' | 'log'> & {
  /** Hosts of MCP servers and token endpoints whose addresses may be private. */
  readonly privateHosts: readonly string[];
  /** The absolute path of the folder that holds the sessions' workspaces. */
  readonly root: string;
  readonly env: Env;
};

export function managedPorts(
  { temporal, target, folder: data }: OpenedServer,
  ports: PagePorts,
  { root, env, log, privateHosts, ...options }: Place,
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
    outputs: async (session) => {
      const entries = await readEntries(ports, session);
      const open = () => ({ reading: openShadowReading(data.root, env, hasPacks(entries)), store: ports.store });
      return readCapturedFolder(open, entries, outputsOf(join(root, session)));
    },
    leases: temporalLeases(client, TASK_QUEUE),
    ...options,
    keys: target.keys,
    fetch: createPublicFetch({ network: data.network(), privateHosts, remedy: REMEDY }),
    store: ports.store,
    now: Date.now,
    log,
  };
}

const REMEDY = 'only the operator of this server can allow it ("--managed-private-hosts")';

/** Returns no entries for a session without a workflow. */
async function readEntries({ transcript }: PagePorts, session: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  try {
    for await (const { entry } of transcript(session)) entries.push(entry);
  } catch (error) {
    if (!(error instanceof ClientProblem) || error.kind !== 'no_session') throw error;
  }
  return entries;
}
