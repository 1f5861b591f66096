// Finds who works: the queues that sessions wait on, who polls each, and what each process has in
// hand.
import type { SessionInfo, SessionActivity } from '../../client/index.ts';
import { hostQueue, TASK_QUEUE } from '../../workflows/contract/session.ts';
import type { WorkerBeat } from '../../connection/worker-beats.ts';
import type { PagePorts } from '../ports.ts';
import type { Poller } from './pollers.ts';

type PolledQueue = {
  readonly queue: string;
  /** Why the queue is there, for people. */
  readonly of: string;
  /** Sessions that have work on it now. */
  readonly sessions: number;
  readonly pollers: readonly Poller[];
};

export type InHand = { readonly session: SessionInfo; readonly doing: SessionActivity };

export type SeenWorker = {
  readonly identity: string;
  /** When its last poll began, or its last heartbeat came. */
  readonly seen: number;
  readonly queues: readonly string[];
  /** Its heartbeats, one for each queue; empty where the server keeps none. */
  readonly beats: readonly WorkerBeat[];
  readonly inHand: readonly InHand[];
};

export type Workforce = {
  readonly queues: readonly PolledQueue[];
  readonly workers: readonly SeenWorker[];
  /** Whether the server keeps heartbeats. */
  readonly hasBeats: boolean;
};

/** Most open sessions whose queues are looked at. */
const MOST = 1_000;

export async function readWorkforce(ports: Pick<PagePorts, 'page' | 'pollers' | 'beats'>): Promise<Workforce> {
  const [{ sessions }, beats] = await Promise.all([
    ports.page({ filter: 'status:open', size: MOST, running: true }),
    ports.beats(),
  ]);
  const named = new Map<string, { readonly of: string; sessions: number }>();
  const note = (queue: string, of: string, busy: boolean): void => {
    const known = named.get(queue) ?? { of, sessions: 0 };
    named.set(queue, { ...known, sessions: known.sessions + (busy ? 1 : 0) });
  };
  note(TASK_QUEUE, 'any worker', false);
  for (const session of sessions) {
    const { taskQueue, host, configuration } = session;
    const isBusy = session.phase === 'running' || session.phase === 'waiting_worker';
    const name = configuration?.name ?? configuration?.file;
    note(taskQueue, name === undefined ? 'any worker' : `configuration ${name}`, isBusy);
    if (host) note(hostQueue(taskQueue, host), `host ${host.name}`, isBusy);
  }
  // Workers poll queues of their own for work that no session is named for.
  for (const { queue, isLive } of beats ?? []) if (isLive && !named.has(queue)) note(queue, 'internal', false);
  const queues = await Promise.all(
    [...named].map(async ([queue, { of, sessions: count }]) => ({
      queue,
      of,
      sessions: count,
      pollers: await ports.pollers(queue),
    })),
  );
  return { queues, workers: workersOf(queues, sessions, beats ?? []), hasBeats: beats !== null };
}

function workersOf(
  queues: readonly PolledQueue[],
  sessions: readonly SessionInfo[],
  beats: readonly WorkerBeat[],
): readonly SeenWorker[] {
  const workers = new Map<string, { seen: number; queues: string[] }>();
  for (const { queue, pollers } of queues)
    for (const { identity, seen: time } of pollers) {
      const known = workers.get(identity) ?? { seen: 0, queues: [] };
      workers.set(identity, { seen: Math.max(time, known.seen), queues: [...known.queues, queue] });
    }
  const work = sessions.flatMap((session) =>
    (session.running?.doing ?? []).flatMap((doing) => (doing.isTaken ? [{ session, doing }] : [])),
  );
  return [...workers]
    .map(([identity, { seen: time, ...worker }]) => ({
      identity,
      ...worker,
      ...beatsOf(beats, identity, time),
      inHand: work.filter(({ doing }) => doing.worker === identity),
    }))
    .toSorted((one, other) => other.inHand.length - one.inHand.length || (one.identity < other.identity ? -1 : 1));
}

function beatsOf(beats: readonly WorkerBeat[], identity: string, time: number): Pick<SeenWorker, 'beats' | 'seen'> {
  const own = beats.filter((beat) => beat.identity === identity && beat.isLive);
  return { beats: own, seen: Math.max(time, ...own.map(({ at }) => at)) };
}
