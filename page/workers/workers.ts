// Finds who works: the queues that sessions wait on, who polls each, and what each process has in
// hand.
import type { Client } from '@temporalio/client';
import type { SessionInfo } from '../../client/sessions/info.ts';
import { livePollers } from '../../client/sessions/worker-polls.ts';
import type { Doing } from '../../client/sessions/running/running-row.ts';
import { hostQueue, TASK_QUEUE } from '../../workflows/contract/session.ts';
import type { PagePorts } from '../ports.ts';

export type PolledQueue = {
  readonly queue: string;
  /** Why the queue is there, for people. */
  readonly of: string;
  /** Sessions that have work on it now. */
  readonly sessions: number;
  readonly pollers: readonly { readonly identity: string; readonly seen: number }[];
};

export type InHand = { readonly session: SessionInfo; readonly doing: Doing };

export type SeenWorker = {
  readonly identity: string;
  /** When its last poll began. */
  readonly seen: number;
  readonly queues: readonly string[];
  readonly inHand: readonly InHand[];
};

export type Workforce = { readonly queues: readonly PolledQueue[]; readonly workers: readonly SeenWorker[] };

/** Returns the pollers of a queue, of both kinds, each once. */
export type ReadPollers = (queue: string) => Promise<PolledQueue['pollers']>;

export async function readPollers(temporal: Client, taskQueue: string): Promise<PolledQueue['pollers']> {
  const [workflows, activities] = await Promise.all([
    livePollers({ temporal, taskQueue }),
    livePollers({ temporal, taskQueue, of: 'activities' }),
  ]);
  const newest = new Map<string, number>();
  for (const { identity, seen } of [...workflows, ...activities])
    newest.set(identity, Math.max(seen, newest.get(identity) ?? 0));
  return [...newest].map(([identity, seen]) => ({ identity, seen }));
}

/** Most open sessions whose queues are looked at. */
const MOST = 1_000;

export async function readWorkforce(ports: Pick<PagePorts, 'page' | 'pollers'>): Promise<Workforce> {
  const { sessions } = await ports.page({ filter: 'status:open', size: MOST, running: true });
  const named = new Map<string, { readonly of: string; sessions: number }>();
  const note = (queue: string, of: string, busy: boolean): void => {
    const known = named.get(queue) ?? { of, sessions: 0 };
    named.set(queue, { ...known, sessions: known.sessions + (busy ? 1 : 0) });
  };
  note(TASK_QUEUE, 'every staying worker', false);
  for (const session of sessions) {
    const { taskQueue, host, configuration } = session;
    const isBusy = session.phase === 'running' || session.phase === 'waiting_worker';
    const name = configuration?.name ?? configuration?.file;
    note(taskQueue, name === undefined ? 'every staying worker' : `the configuration ${name}`, isBusy);
    if (host) note(hostQueue(taskQueue, host), `host ${host.name}`, isBusy);
  }
  const queues = await Promise.all(
    [...named].map(async ([queue, { of, sessions: count }]) => ({
      queue,
      of,
      sessions: count,
      pollers: await ports.pollers(queue),
    })),
  );
  return { queues, workers: workersOf(queues, sessions) };
}

function workersOf(queues: readonly PolledQueue[], sessions: readonly SessionInfo[]): readonly SeenWorker[] {
  const workers = new Map<string, { seen: number; queues: string[] }>();
  for (const { queue, pollers } of queues)
    for (const { identity, seen } of pollers) {
      const known = workers.get(identity) ?? { seen: 0, queues: [] };
      workers.set(identity, { seen: Math.max(seen, known.seen), queues: [...known.queues, queue] });
    }
  const taken = sessions.flatMap((session) =>
    (session.running?.doing ?? []).flatMap((doing) => (doing.isTaken ? [{ session, doing }] : [])),
  );
  return [...workers]
    .map(([identity, worker]) => ({
      identity,
      ...worker,
      inHand: taken.filter(({ doing }) => doing.worker === identity),
    }))
    .toSorted((one, other) => other.inHand.length - one.inHand.length || (one.identity < other.identity ? -1 : 1));
}
