// The ports of a client on the sessions of a data folder: the store and the live channel in it, and its server's search attributes.
import { type Client, Connection } from '@temporalio/client';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import type { Told } from '../../activities/live/events.ts';
import type { LiveItem } from '../../activities/live/follow.ts';
import { openLive } from '../../activities/live/open-live.ts';
import { openStore } from '../../activities/transcript/store/open-store.ts';
import { GRPC, grpcFailure } from '../../worker/embedded/connect-client.ts';
import { dataFolder, type Env } from '../../worker/embedded/data-folder.ts';
import { PHASE_ATTRIBUTE } from '../../workflows/contract/session.ts';
import type { ClientOptions } from './start.ts';

/** Throws SetupProblem for a data folder that cannot be used. */
export function folderPorts(
  temporal: Client,
  env: Env,
): Pick<ClientOptions, 'store' | 'storeId' | 'live' | 'visibility'> {
  const folder = dataFolder(env);
  const { store, id } = openStore(folder.storePlace, folder.root);
  const live = openLive(folder);
  const { connection, options } = temporal;
  return {
    store,
    storeId: id,
    live: (session, signal, onTrouble) => withoutCursors(live.follow(session, { signal, onTrouble })),
    // A connection of a test, or a worker's, cannot ask for attributes: its sessions go without.
    visibility: async () => connection instanceof Connection && ensurePhaseAttribute(connection, options.namespace),
  };
}

/** A follower begins at the beginning of the run. */
async function* withoutCursors(items: AsyncIterable<LiveItem>): AsyncIterable<Told> {
  for await (const { cursor: _, ...event } of items) yield event;
}

// Whether sessions may carry their phase as a search attribute: the server refuses a workflow with an attribute it does not know.

const KEYWORD = encodeSearchAttributeIndexedValueType('KEYWORD');

/** The answers of servers where a client may not add an attribute, or cannot add one that way (as in Temporal Cloud). */
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
