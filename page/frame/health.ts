// Looks at the parts that the page depends on: how fast the server and the store answer, and who
// polls for work. One look serves all viewers.
import type { Client } from '@temporalio/client';
import { snapshotsFolderOf, measureShadow, readRoom } from '../../client/faces/files.ts';
import type { CommandPolicy, ShadowRoom, ShadowSize, OpenedServer } from '../../client/faces/types.ts';
import { impatient } from '../../client/faces/reading.ts';
import { reasonOf } from '../../system/text.ts';
import { readBeats } from '../../connection/worker-beats.ts';
import { livePollers } from '../../connection/worker-polls.ts';

/** Milliseconds that a part took to answer, or why it did not. */
export type HealthAnswer = { readonly ms: number } | { readonly problem: string };

export type FrameHealth = {
  readonly server: HealthAnswer;
  readonly store: HealthAnswer;
  /** Number of workers that poll the queue that every staying worker polls; null: not known. */
  readonly workers: number | null;
  /** Number of workers by how commands of agents run there, as far as workers say it. */
  readonly commands: CommandsHealth;
  readonly snapshots: SnapshotsHealth;
};

type CommandsHealth = Readonly<Record<CommandPolicy, number>>;

/** Bytes that snapshots take of this machine's disk, and whether no more are taken. */
export type SnapshotsHealth = Pick<ShadowSize, 'bytes'> & ShadowRoom;

/** A record that no one writes: reading it asks the store and costs next to nothing. */
const PROBE = 'page/probe';

type Looked = Pick<OpenedServer, 'store' | 'storeId'> & {
  readonly temporal: Pick<OpenedServer['temporal'], 'client'>;
  readonly folder: Pick<OpenedServer['folder'], 'root'>;
};

export async function lookAtHealth({ temporal: { client }, store, storeId, folder }: Looked): Promise<FrameHealth> {
  const deadline = Date.now() + impatient.total;
  const [server, stored, workers, commands, snapshots] = await Promise.all([
    timeAnswer(() => client.withDeadline(deadline, () => client.workflowService.getSystemInfo({}))),
    // In a folder that was moved away a record is absent like any other: its identity says so.
    timeAnswer(() => Promise.all([storeId(), store.read(PROBE)])),
    countWorkers(client),
    countPolicies(client),
    lookAtSnapshots(snapshotsFolderOf(folder.root)),
  ]);
  return { server, store: stored, workers, commands, snapshots };
}

async function lookAtSnapshots(gitDir: string): Promise<SnapshotsHealth> {
  const { bytes } = await measureShadow(gitDir);
  return { bytes, ...readRoom(gitDir) };
}

async function timeAnswer(ask: () => Promise<unknown>): Promise<HealthAnswer> {
  const startedAt = performance.now();
  try {
    await ask();
    return { ms: performance.now() - startedAt };
  } catch (error) {
    return { problem: reasonOf(error) };
  }
}

async function countWorkers(temporal: Client): Promise<number | null> {
  try {
    return new Set((await livePollers({ temporal })).map(({ identity }) => identity)).size;
  } catch {
    // The server's own answer says why.
    return null;
  }
}

/** Counts processes: each sends heartbeats for several queues. */
async function countPolicies(temporal: Client): Promise<CommandsHealth> {
  const beats = (await readBeats(temporal).catch(() => null)) ?? [];
  const policies = new Map(
    beats.flatMap(({ isLive, identity, commands }) => (isLive && commands ? [[identity, commands]] : [])),
  );
  const count = (policy: CommandPolicy): number => [...policies.values()].filter((one) => one === policy).length;
  return { confined: count('confined'), refused: count('refused'), unconfined: count('unconfined') };
}

/** Open sessions that are looked at, the newest ones. */
const LOOKED_AT = 1_000;

/**
 * Counts the open sessions whose transcripts lie in another store than the one that is read: theirs
 * was emptied or replaced. A server that is not ours may have sessions of several stores: there it
 * counts none.
 */
export async function countStrayed({
  embedded,
  sessions,
  storeId,
}: Pick<OpenedServer, 'embedded' | 'sessions' | 'storeId'>): Promise<number> {
  if (embedded === null) return 0;
  const [{ sessions: open }, own] = await Promise.all([
    sessions.page({ filter: 'status:open', size: LOOKED_AT }),
    storeId(),
  ]);
  return open.filter(({ store }) => store !== undefined && store !== own).length;
}
