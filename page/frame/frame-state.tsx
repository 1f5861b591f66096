// Reads the state that the frame of every page shows: how many sessions wait, how server, store and
// workers are, and what is wrong with all of it.
import { showUnseen } from '../../system/text.ts';
import type { SessionCounts, WaitingApproval } from '../../client/faces/types.ts';
import { formatCount, formatSize } from '../../client/faces/basics.ts';
import { htmlOf } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import type { HealthAnswer, FrameHealth } from './health.ts';

export type FrameState = {
  /** By section of the rail. */
  readonly counts: Readonly<Record<'inbox' | 'sessions' | 'schedules' | 'workers', number>>;
  readonly health: { readonly state: 'ok' | 'wait' | 'fail'; readonly text: string };
  /** HTML of the banners. */
  readonly alarms: string;
  /** Every call that waits, for notifications. */
  readonly waiting: readonly { readonly id: string; readonly text: string }[];
};

type Looked = {
  readonly health: FrameHealth;
  readonly counts: SessionCounts | null;
  readonly waiting: readonly WaitingApproval[];
  readonly schedules: number;
  readonly strayed: number;
};

/** Milliseconds above which a part counts as slow. */
const SLOW_MS = 1_000;
const MOST_TOLD = 200;

export async function readFrame(
  ports: Pick<PagePorts, 'health' | 'counts' | 'inbox' | 'scheduleCount' | 'strayedCount'>,
): Promise<FrameState> {
  const [health, counts, waiting, schedules, strayed] = await Promise.all([
    ports.health(),
    orElse(ports.counts(), null),
    orElse(ports.inbox(), []),
    orElse(ports.scheduleCount(), 0),
    orElse(ports.strayedCount(), 0),
  ]);
  const looked: Looked = { health, counts, waiting, schedules, strayed };
  const all = counts === null ? 0 : sumCounts(counts);
  return {
    counts: { inbox: waiting.length, sessions: all, schedules, workers: health.workers ?? 0 },
    health: healthOf(looked),
    alarms: htmlOf(<Alarms {...looked} />),
    waiting: waiting.slice(0, MOST_TOLD).map(({ session, call, tool }) => ({
      id: `${session} ${call}`,
      text: `${showUnseen(tool)} waits for a decision`,
    })),
  };
}

export function sumCounts(counts: SessionCounts): number {
  const { running, waiting_worker: unworked, waiting_approval: waiting, parked, idle, closed } = counts;
  return running + unworked + waiting + parked + idle + closed;
}

/** A part that fails is named by `health`; the rest of the frame is shown all the same. */
async function orElse<T, U>(pending: Promise<T>, other: U): Promise<T | U> {
  try {
    return await pending;
  } catch {
    return other;
  }
}

const answerText = (name: string, answer: HealthAnswer): string =>
  'ms' in answer ? `${name} ${Math.max(1, Math.round(answer.ms))} ms` : `${name} not responding`;

function healthOf({ health, counts }: Looked): FrameState['health'] {
  const { server, store, workers, commands } = health;
  const polled = workers === null ? [] : [workers === 0 ? 'no worker' : formatCount(workers, 'worker')];
  const used = (['confined', 'refused', 'unconfined'] as const).filter((policy) => commands[policy] > 0);
  const policies = used.length === 0 ? [] : [`commands ${used.join(', ')}`];
  const text = [answerText('server', server), ...polled, answerText('store', store), ...policies].join(' · ');
  const failed = 'problem' in server || 'problem' in store || (workers === 0 && (counts?.waiting_worker ?? 0) > 0);
  const slow = [server, store].some((one) => 'ms' in one && one.ms > SLOW_MS) || workers === 0;
  return { state: failed ? 'fail' : slow ? 'wait' : 'ok', text };
}

function Alarms({ health: { server, store, workers, commands, snapshots }, counts, strayed }: Looked) {
  const waits = counts?.waiting_worker ?? 0;
  return (
    <>
      {'problem' in server ? (
        <Alarm kind="server" title="The Temporal server isn’t responding." detail={server.problem}>
          Figures may be out of date. Reconnecting automatically.
        </Alarm>
      ) : null}
      {'problem' in store ? (
        <Alarm kind="store" title="The store can’t be read." detail={store.problem}>
          Newer transcript entries are missing until it’s reachable.
        </Alarm>
      ) : null}
      {strayed > 0 ? (
        <Alarm kind="strayed" title="The store was emptied or replaced.">
          {`Transcripts of ${formatCount(strayed, 'open session')} are missing. `}
          Restore it, or point <code>PERDURE_STORE</code> at it; until then nothing is sent to these sessions.
        </Alarm>
      ) : null}
      {snapshots.isFull ? (
        <Alarm kind="snapshots" title="File snapshots are paused.">
          {`They use ${formatSize(snapshots.bytes)} of ${formatSize(snapshots.diskBytes)} on this machine. `}
          Run <code>perdure gc</code> to free space, or raise <code>snapshots.diskBytes</code>. Sessions continue
          without snapshots.
        </Alarm>
      ) : null}
      {commands.refused > 0 ? (
        <Alarm kind="commands" title={`${formatCount(commands.refused, 'worker')} can’t run commands.`}>
          Bubblewrap is missing or doesn’t work there, so shell commands, sandboxed hooks, and MCP servers that are
          programs are refused. <code>perdure doctor</code> on that machine says what to do.{' '}
          <a href="/workers">Show workers</a>
        </Alarm>
      ) : null}
      {waits > 0 ? (
        <Alarm kind="workers" title={workers === 0 ? 'No worker is running.' : 'Sessions are waiting for a worker.'}>
          {`${formatCount(waits, 'session')} ${waits === 1 ? 'is' : 'are'} paused; nothing is lost. Start one with `}
          <code>perdure worker</code>. <a href="/?q=phase%3Awaiting_worker">Show sessions</a>
        </Alarm>
      ) : null}
    </>
  );
}

type AlarmProps = {
  readonly kind: 'server' | 'store' | 'strayed' | 'snapshots' | 'commands' | 'workers';
  readonly title: string;
  readonly detail?: string;
  readonly children: unknown;
};

function Alarm({ kind, title, detail, children }: AlarmProps) {
  return (
    <div class="banner fail" id={`alarm-${kind}`} role="alert">
      <b>{title}</b> {children}
      {detail === undefined ? null : (
        <details>
          <summary>Details</summary> {showUnseen(detail)}
        </details>
      )}
    </div>
  );
}
