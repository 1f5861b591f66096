// Shows who works: each worker with what it has in hand, each queue with who polls it, and how fast
// server and store answer.
import { raw } from 'hono/html';
import { pause } from '../../system/async.ts';
import { reasonOf, showUnseen } from '../../system/text.ts';
import { nowText } from '../../client/faces/words.ts';
import { formatCount, formatSize, hostQueue, TASK_QUEUE } from '../../client/faces/basics.ts';
import type { SessionInfo, SessionActivity } from '../../client/faces/types.ts';
import { Age, formatNumber } from '../figures.tsx';
import { changeRing, frameChanges, type FramePart, type Ring } from '../feed/ring.ts';
import { createTroubles } from '../feed/troubles.ts';
import type { HealthAnswer, FrameHealth, SnapshotsHealth } from '../frame/health.ts';
import { Icon } from '../primitives.tsx';
import { htmlOf, Layout } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { Banner } from '../session/frame.tsx';
import type { WorkerBeat } from '../../connection/worker-beats.ts';
import type { Poller } from './pollers.ts';

export type WorkersFeed = { readonly ring: Ring; readonly parts: readonly FramePart[]; close(): void };

type WorkersPorts = Pick<PagePorts, 'page' | 'pollers' | 'beats' | 'health'>;

/** Milliseconds between looks. */
const LOOK_MS = 4_000;

const PLACES = { banners: 'banners', workers: 'worker-place' } as const;

export async function openWorkersFeed(ports: WorkersPorts): Promise<WorkersFeed> {
  const ring = changeRing();
  const trouble = createTroubles();
  const drawn = new Map<string, string>();
  const stop = new AbortController();
  const look = async () => ({ workforce: await readWorkforce(ports), health: await ports.health() });
  let looked = await look();
  const draw = (): readonly FramePart[] => [
    ...trouble.list().map((one) => ({
      id: `trouble-${one.kind}`,
      into: PLACES.banners,
      html: htmlOf(<Banner trouble={one} />),
    })),
    { id: 'workforce', into: PLACES.workers, html: htmlOf(<WorkforceView {...looked} />) },
  ];
  let parts = draw();
  frameChanges(drawn, parts);
  const goOn = async (): Promise<void> => {
    while (await pause(LOOK_MS, stop.signal)) {
      try {
        looked = await look();
        trouble.set('server', null);
      } catch (error) {
        trouble.set('server', reasonOf(error));
      }
      parts = draw();
      ring.push(...frameChanges(drawn, parts));
    }
  };
  void goOn();
  return {
    ring,
    get parts() {
      return parts;
    },
    close: () => stop.abort(),
  };
}

export function workersPage({ ring, parts }: WorkersFeed) {
  const into = (container: string) => raw(parts.flatMap((part) => (part.into === container ? part.html : [])).join(''));
  return (
    <Layout
      title="Workers"
      at="workers"
      feed={{ path: '/workers/live?', from: `${ring.epoch}.${ring.now}` }}
      scripts={['live.js', 'times.js', 'keys.js']}
      styles={['sessions.css']}
      banners={into(PLACES.banners)}
    >
      <h1>Workers</h1>
      <div id={PLACES.workers} data-fresh>
        {into(PLACES.workers)}
      </div>
    </Layout>
  );
}

const snapshotsText = ({ bytes, diskBytes }: SnapshotsHealth): string =>
  bytes === 0 ? '' : ` · snapshots ${formatSize(bytes)} of ${formatSize(diskBytes)}`;

function WorkforceView({
  workforce: { workers, queues, hasBeats },
  health,
}: {
  readonly workforce: Workforce;
  readonly health: FrameHealth;
}) {
  return (
    <div id="workforce">
      <p class="quiet">
        {`${workers.length === 0 ? 'No workers' : formatCount(workers.length, 'worker')} · server ${answerText(health.server)} · store ${answerText(health.store)}${snapshotsText(health.snapshots)}`}
      </p>
      {workers.length === 0 ? (
        <div class="card empty">
          <Icon name="unplugged" />
          <b>No workers are running</b>
          <p>
            Start one with <code>perdure worker</code> on a machine that can reach the server and the store.
          </p>
        </div>
      ) : (
        <div class="wide" tabindex={0} role="region" aria-label="Workers">
          <table class="amounts">
            <thead>
              <tr>
                <th scope="col">Worker</th>
                <th scope="col">Version</th>
                <th scope="col">Queues and slots</th>
                <th scope="col">Working on</th>
                <th scope="col" class="number">
                  Last activity
                </th>
              </tr>
            </thead>
            <tbody>
              {workers.map((worker) => (
                <WorkerRow worker={worker} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {hasBeats || workers.length === 0 ? null : (
        <p class="quiet">
          This server doesn’t store worker heartbeats, so versions and slots aren’t shown, and a lost worker disappears
          after 75 s.
        </p>
      )}
      <h2>Queues</h2>
      <div class="wide" tabindex={0} role="region" aria-label="Queues">
        <table class="amounts">
          <thead>
            <tr>
              <th scope="col">Queue</th>
              <th scope="col">For</th>
              <th scope="col" class="number">
                Workers
              </th>
              <th scope="col" class="number">
                Active sessions
              </th>
            </tr>
          </thead>
          <tbody>
            {queues.map(({ queue, of, pollers, sessions }) => (
              <tr>
                <td>
                  <code>{showUnseen(queue)}</code>
                </td>
                <td>{showUnseen(of)}</td>
                <td class={pollers.length === 0 && sessions > 0 ? 'number bad' : 'number'}>
                  {pollers.length === 0 ? 'none' : formatNumber(pollers.length)}
                </td>
                <td class="number">{sessions}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

const answerText = (answer: HealthAnswer): string =>
  'ms' in answer ? `${Math.max(1, Math.round(answer.ms / 10) * 10)} ms` : 'not responding';

const MOST_IN_HAND = 8;

function WorkerRow({ worker: { identity, queues, beats, inHand, seen: time } }: { readonly worker: SeenWorker }) {
  const versions = new Set(beats.flatMap(({ version }) => version ?? []));
  const policies = new Set(beats.flatMap(({ commands }) => commands ?? []));
  const deployments = new Set(beats.flatMap(({ deployment }) => deployment ?? []));
  return (
    <tr>
      <td>
        <code>{showUnseen(identity)}</code>
      </td>
      <td>
        {versions.size === 0 ? <span class="quiet">–</span> : showUnseen([...versions].join(', '))}
        {[...deployments].map((deployment) => (
          <small>{`deployment ${showUnseen(deployment)}`}</small>
        ))}
        {[...policies].map((policy) => (
          <small>{`commands ${policy}`}</small>
        ))}
      </td>
      <td>
        {queuesOf(queues, beats).map(([queue, slots]) => (
          <small>
            {showUnseen(queue)}
            {slots === undefined ? null : ` · ${slots.used} of ${slots.most} in use`}
          </small>
        ))}
      </td>
      <td>
        {inHand.length === 0 ? <span class="quiet">–</span> : null}
        {inHand.slice(0, MOST_IN_HAND).map((one) => (
          <InHandLine {...one} />
        ))}
        {inHand.length > MOST_IN_HAND ? <small>{`and ${inHand.length - MOST_IN_HAND} more`}</small> : null}
      </td>
      <td class="number">
        <Age at={time} />
      </td>
    </tr>
  );
}

/** Every queue that the worker polls, with its slots for activities where it tells them. */
function queuesOf(queues: readonly string[], beats: SeenWorker['beats']) {
  const named = new Set([...queues, ...beats.map(({ queue }) => queue)]);
  return [...named].map((queue) => [queue, beats.find((beat) => beat.queue === queue)?.slots ?? undefined] as const);
}

function InHandLine({ session, doing }: InHand) {
  return (
    <div>
      <a href={`/sessions/${encodeURIComponent(session.session)}`}>{showUnseen(session.title) || session.session}</a>{' '}
      <small class="inline">{showUnseen(nowText({ doing: [doing], model: session.running?.model ?? null }))}</small>
    </div>
  );
}

type PolledQueue = {
  readonly queue: string;
  /** Why the queue is there, for people. */
  readonly of: string;
  /** Sessions that have work on it now. */
  readonly sessions: number;
  readonly pollers: readonly Poller[];
};

type InHand = { readonly session: SessionInfo; readonly doing: SessionActivity };

type SeenWorker = {
  readonly identity: string;
  /** When its last poll began, or its last heartbeat came. */
  readonly seen: number;
  readonly queues: readonly string[];
  /** Its heartbeats, one for each queue; empty where the server keeps none. */
  readonly beats: readonly WorkerBeat[];
  readonly inHand: readonly InHand[];
};

type Workforce = {
  readonly queues: readonly PolledQueue[];
  readonly workers: readonly SeenWorker[];
  /** Whether the server keeps heartbeats. */
  readonly hasBeats: boolean;
};

/** Most open sessions whose queues are looked at. */
const MOST = 1_000;

async function readWorkforce(ports: Pick<PagePorts, 'page' | 'pollers' | 'beats'>): Promise<Workforce> {
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
