// The ports of a client on the sessions of a data folder: its store, its live channel and its
// server's search attributes.
import { type Client, Connection, WorkflowClient } from '@temporalio/client';
import type { ChannelItem } from '../../store/live/events.ts';
import type { LiveItem } from '../../store/live/follow.ts';
import { openLive } from '../../store/live/open-live.ts';
import { openStore } from '../../store/values/open-store.ts';
import { openDataFolder, type Env } from '../../connection/data-folder.ts';
import { canUseAttributes } from './find/attributes.ts';
import { makeConverterReadable } from '../../connection/payloads/data-converter.ts';
import { findLostSnapshots } from './files/lost-folders.ts';
import { openShadowReading } from './files/read-shadow.ts';
import type { ClientOptions, ClientSettings } from './start.ts';

/** Throws SetupProblem for a data folder that cannot be used. */
export function folderPorts(
  temporal: Client,
  env: Env,
): Pick<ClientOptions, 'store' | 'live' | 'peek' | 'visibility' | 'snapshots' | 'lostSnapshots'> &
  Required<Pick<ClientOptions, 'storeId'>> {
  const folder = openDataFolder(env);
  const { store, id } = openStore({ ...folder, dataDir: folder.root });
  const live = openLive(folder);
  const { connection, options } = temporal;
  return {
    store,
    storeId: id,
    snapshots: (willBring) => openShadowReading(folder.root, env, willBring),
    lostSnapshots: (session) => findLostSnapshots(folder.root, session),
    live: (session, signal, onTrouble) => withoutCursors(live.follow(session, { signal, onTrouble })),
    peek: (session) => live.peek(session),
    // A connection of a test or a worker cannot ask for attributes, so its sessions go without.
    visibility: async () => connection instanceof Connection && canUseAttributes(connection, options.namespace),
  };
}

/**
 * Opens the live channel for who reads the store, too: it tells what is not stored yet, and perhaps
 * the step before it. Throws SetupProblem for a data folder that cannot be used.
 */
export function openUnstored(env: Env): Required<Pick<ClientOptions, 'live' | 'peek'>> {
  const live = openLive(openDataFolder(env));
  return {
    live: (session, signal) => withoutCursors(live.follow(session, { signal, from: 'unstored' })),
    peek: (session) => live.peek(session),
  };
}

/** A follower needs no cursors, since it begins at the beginning of the run. */
async function* withoutCursors(items: AsyncIterable<LiveItem>): AsyncIterable<ChannelItem> {
  for await (const { cursor: _, ...event } of items) yield event;
}

/** Takes missing ports from the data folder. */
export function withPorts({ env = process.env, ...all }: ClientSettings): ClientOptions {
  const settings = { ...all, temporal: readableClient(all.temporal) };
  const { store, live, visibility } = settings;
  if (store && live && visibility) return { ...settings, store, live, visibility };
  const ports = folderPorts(settings.temporal, env);
  // The folder's identity and its snapshots belong to the folder's own store only.
  const { storeId: _, snapshots: __, lostSnapshots: ___, ...others } = ports;
  return { ...(store ? others : ports), ...settings };
}

/** Keeps one session that the user's codec cannot decode from hiding the others. */
function readableClient(client: Client): Client {
  const dataConverter = makeConverterReadable(client.options.loadedDataConverter);
  if (dataConverter === client.options.loadedDataConverter) return client;
  const options = { ...client.options, loadedDataConverter: dataConverter };
  const { connection } = client;
  const workflow = new WorkflowClient({ ...client.workflow.options, connection, dataConverter });
  return Object.assign(Object.create(client) as Client, { options, workflow });
}
