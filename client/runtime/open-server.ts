// Opens the server that every command needs: the one that the environment names, or the embedded
// one of the data folder, which it joins or starts.
import type { Client } from '@temporalio/client';
import { connectClient, type Connected, type Target } from '../../connection/connect-client.ts';
import { type DataFolder, type Env, openDataFolder } from '../../connection/data-folder.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import type { Store } from '../../store/values/store.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { type EmbeddedServer, joinServer } from '../../worker/embedded/join-server.ts';
import type { QuerySource } from '../../workflows/contract/facts.ts';
import { isTraceparent } from '../../workflows/contract/ids.ts';
import { present } from '../../workflows/contract/present.ts';
import { createFolderClient } from '../client.ts';
import { type KeysOf, refuseUnknown } from '../options.ts';
import type { PerdureClient } from '../perdure-client.ts';
import { folderPorts } from '../sessions/folder-ports.ts';
import { loadApart } from './bundled.ts';

export type OpenServer = {
  /** Environment that names the data folder and the server. Absent: this process's environment. */
  readonly env?: Env;
  /** Absent: `command`, which stops the embedded server when it is the last to leave. */
  readonly role?: 'dev' | 'worker' | 'command';
  /** True when this process will poll for tasks. */
  readonly worker?: boolean;
  /** The queues that it will poll; absent: the one that every staying worker polls. */
  readonly queues?: readonly string[];
  /**
   * Queue for new sessions, for workers made with `createWorker({ taskQueue })`; absent: any
   * staying worker.
   */
  readonly taskQueue?: string;
  /**
   * Runs the embedded server with Temporal's own UI, which has no login. Absent: the server stays
   * as it runs, or starts without.
   */
  readonly ui?: boolean;
  /** Name of the person who acts by its client, for transcripts (O12). */
  readonly by?: string;
  /** Source of prompts that its client sends. Absent: `sdk`. */
  readonly querySource?: QuerySource;
  /**
   * Receives progress for a person, one line each; details are for those who want to know more.
   * Absent: progress is dropped.
   */
  readonly say?: (line: string, isDetail?: true) => void;
};

/** An open server: a client of its sessions, and the parts that the client works with. */
export type Opened = {
  /** Temporal's own client on the server. */
  readonly temporal: { readonly client: Client };
  readonly store: Store;
  readonly storeId: () => Promise<string>;
  readonly sessions: PerdureClient;
  /** Leaves the server; the last to leave stops it. A second call does nothing. */
  close(): Promise<void>;
};

/** The parts that commands and the page need besides. */
export type OpenedServer = Opened & {
  readonly target: Target;
  readonly folder: DataFolder;
  readonly temporal: Connected;
  /** The server, if it is ours; else null. */
  readonly embedded: EmbeddedServer | null;
};

const KEYS: KeysOf<OpenServer> = {
  env: true,
  role: true,
  worker: true,
  queues: true,
  taskQueue: true,
  ui: true,
  by: true,
  querySource: true,
  say: true,
};

/**
 * Opens the server that every command uses: the one that the environment names, or the embedded one
 * of the data folder. Throws SetupProblem, one line that says what to put right.
 */
export function openServer(open: OpenServer = {}): Promise<Opened> {
  return openWholeServer(open);
}

/** Throws as `openServer` does. */
export async function openWholeServer(open: OpenServer = {}): Promise<OpenedServer> {
  refuseUnknown('openServer()', open, KEYS);
  const { env = process.env } = open;
  const folder = openDataFolder(env);
  const resolved = resolveConnection(env);
  if (open.ui === true && resolved.kind !== 'embedded') throw uiElsewhere(resolved.address);
  const embedded = resolved.kind === 'embedded' ? await join(open, folder) : null;
  const target = resolved.kind === 'embedded' ? addressOf(embedded) : resolved;
  try {
    const temporal = await connectClient(target);
    // Use the client's own store, so that this process reads a transcript only once.
    const ports = folderPorts(temporal.client, env);
    const { taskQueue, by, querySource } = open;
    const sessions = createFolderClient({
      temporal: temporal.client,
      ...ports,
      profile: embedded === null ? 'fleet' : 'machine',
      sealed: target.keys !== undefined,
      ...present({ taskQueue, by }),
      ...(querySource && { querySource }),
      // Tracing tools pass the span to the programs that they start in this variable.
      ...(isTraceparent(env.TRACEPARENT) && { traceparent: env.TRACEPARENT }),
    });
    let closed: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      await temporal.close();
      await embedded?.leave();
    };
    const { store, storeId } = ports;
    const leave = (): Promise<void> => (closed ??= close());
    return { target, folder, temporal, store, storeId, sessions, embedded, close: leave };
  } catch (error) {
    await embedded?.leave();
    throw error;
  }
}

function uiElsewhere(address: string): SetupProblem {
  return new SetupProblem(
    `the Temporal server at ${address} is not started here, and so its UI is not: leave --ui out, and set PERDURE_TEMPORAL_UI to the address of that UI`,
  );
}

function join(open: OpenServer, folder: DataFolder): Promise<EmbeddedServer> {
  const { env = process.env, role = 'command', worker = false, queues, ui = false, say = () => undefined } = open;
  return joinServer({
    folder,
    role,
    worker,
    ...(queues && { queues }),
    env,
    ui,
    say,
    binary: async (wanted) => {
      const { findBinary } = await loadApart('embedded/find-binary', 'a Temporal server of its own');
      return findBinary({ env, wanted, say });
    },
  });
}

function addressOf(embedded: EmbeddedServer | null): Target {
  if (embedded === null) throw new Error('no server was joined');
  const { address, namespace, keys } = embedded;
  return { address, namespace, keys };
}
