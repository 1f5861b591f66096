// A server to talk to, as every command needs one: the one that the environment names, or the embedded one of the data folder,
// joined when it runs and brought up when it does not.
import type { Connection } from '@temporalio/client';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import { type Connected, connectClient, type Target, GRPC, grpcFailure } from '../../worker/embedded/connect-client.ts';
import { type DataFolder, dataFolder, type Env } from '../../worker/embedded/data-folder.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { type Embedded, joinServer } from '../../worker/embedded/join-server.ts';
import type { Role } from '../../worker/embedded/members.ts';
import { resolveConnection } from '../../worker/embedded/resolve-connection.ts';
import { fileStore } from '../../activities/transcript/store/file-store.ts';
import { storeIdentity } from '../../activities/transcript/store/store-folder.ts';
import type { Store } from '../../activities/transcript/store/store.ts';
import type { Told } from '../../activities/live/events.ts';
import { followLive, type LiveItem } from '../../activities/live/follow.ts';
import { createClient, type PerdureClient } from '../client.ts';
import { PHASE_ATTRIBUTE } from '../../workflows/contract/session.ts';

export type OpenServer = {
  readonly env: Env;
  readonly role: Role;
  /** This process will poll for tasks. */
  readonly worker: boolean;
  /** It works on these queues; absent: on the one that every worker that stays polls. */
  readonly queues?: readonly string[];
  /** Progress for a person, one line each. */
  readonly say: (line: string) => void;
};

export type Opened = {
  readonly target: Target;
  readonly folder: DataFolder;
  readonly temporal: Connected;
  readonly store: Store;
  readonly sessions: PerdureClient;
  /** Null when the server is not ours. */
  readonly embedded: Embedded | null;
  /** Leaves the server; the last to leave stops it. Harmless twice. */
  close(): Promise<void>;
};

/** Throws SetupProblem: one line that says what to put right. */
export async function openServer(open: OpenServer): Promise<Opened> {
  const folder = dataFolder(open.env);
  const resolved = resolveConnection(open.env);
  const embedded = resolved.kind === 'embedded' ? await join(open, folder) : null;
  const target = resolved.kind === 'embedded' ? addressOf(embedded) : resolved;
  try {
    const temporal = await connectClient(target);
    const store = fileStore({ dir: folder.storeDir });
    const sealed = target.keys !== undefined;
    const sessions = sessionsOf(temporal, folder, store, { embedded: embedded !== null, sealed });
    let closed: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      await temporal.close();
      await embedded?.leave();
    };
    return { target, folder, temporal, store, sessions, embedded, close: () => (closed ??= close()) };
  } catch (error) {
    await embedded?.leave();
    throw error;
  }
}

function join({ env, role, worker, queues, say }: OpenServer, folder: DataFolder): Promise<Embedded> {
  return joinServer({
    folder,
    role,
    worker,
    ...(queues && { queues }),
    env,
    say,
    binary: (wanted) => findBinary({ env, wanted, say }),
  });
}

function addressOf(embedded: Embedded | null): Target {
  if (embedded === null) throw new Error('no server was joined');
  const { address, namespace, keys } = embedded;
  return { address, namespace, keys };
}

function sessionsOf(
  { client, connection }: Connected,
  folder: DataFolder,
  store: Store,
  { embedded, sealed }: { readonly embedded: boolean; readonly sealed: boolean },
): PerdureClient {
  return createClient({
    temporal: client,
    store,
    storeId: async () => (await storeIdentity(folder.storeDir)).id,
    profile: embedded ? 'machine' : 'fleet',
    sealed,
    live: (session, signal) => withoutCursors(followLive({ dir: folder.liveDir, session, signal })),
    visibility: () => ensurePhaseAttribute(connection, client.options.namespace),
  });
}

/** A follower begins at the beginning of the run. */
async function* withoutCursors(items: AsyncIterable<LiveItem>): AsyncIterable<Told> {
  for await (const { cursor: _, ...event } of items) yield event;
}

// Whether sessions may carry their phase as a search attribute: the server refuses a workflow with an attribute it does not know.

const KEYWORD = encodeSearchAttributeIndexedValueType('KEYWORD');

/** What servers answer when a client may not add an attribute, or none can be added that way (as in Temporal Cloud). */
const refusals: ReadonlySet<number | undefined> = new Set([
  GRPC.permissionDenied,
  GRPC.unauthenticated,
  GRPC.unimplemented,
  GRPC.failedPrecondition,
  GRPC.invalidArgument,
  GRPC.resourceExhausted,
]);

const known = new WeakMap<Connection, Map<string, Promise<boolean>>>();

/** Registers the attribute when it is missing. Asked once for each connection and namespace; a failed call is thrown and not kept. */
export function ensurePhaseAttribute(connection: Connection, namespace: string): Promise<boolean> {
  const answers = known.get(connection) ?? new Map<string, Promise<boolean>>();
  known.set(connection, answers);
  const kept = answers.get(namespace);
  if (kept !== undefined) return kept;
  const asked = ask(connection, namespace);
  answers.set(namespace, asked);
  asked.catch(() => answers.delete(namespace));
  return asked;
}

async function ask(connection: Connection, namespace: string): Promise<boolean> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const type = customAttributes[PHASE_ATTRIBUTE];
    if (KEYWORD === undefined) return false;
    if (type !== undefined) return type === KEYWORD;
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: { [PHASE_ATTRIBUTE]: KEYWORD },
    });
    return await isUsable(connection, namespace);
  } catch (error) {
    if (refusals.has(grpcFailure(error).code)) return false;
    throw error;
  }
}

/** A cluster's frontends learn of a new attribute within a minute; until then they refuse it, and sessions go without. */
async function isUsable({ workflowService }: Connection, namespace: string): Promise<boolean> {
  await workflowService.countWorkflowExecutions({ namespace, query: `${PHASE_ATTRIBUTE} = 'idle'` });
  return true;
}
