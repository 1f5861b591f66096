// Looks at all schedules for as long as they are watched (L87): one look for all viewers.
import { createLimit, pause } from '../../system/async.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { reasonOf, showUnseen } from '../../system/text.ts';
import type { ScheduleInfo } from '../../client/faces/types.ts';
import { shortTime } from '../../client/faces/basics.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import { isUnderWay, clockChangeText, scheduleStateText } from '../../client/faces/lists.ts';
import { changeRing, frameChanges, type FramePart, type Ring } from '../feed/ring.ts';
import { createTroubles, type Trouble } from '../feed/troubles.ts';
import { EmptyCard } from '../primitives.tsx';
import { htmlOf, Moment } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { Banner } from '../session/frame.tsx';
import { type SessionState, stateOf } from '../fleet/session-state.ts';

export type SchedulesFeed = {
  readonly ring: Ring;
  readonly parts: readonly FramePart[];
  /** Looks now because something was done. */
  look(): Promise<void>;
  close(): void;
};

/** Milliseconds between looks: each asks the server about every schedule. */
const LOOK_MS = 5_000;
/** Most schedules on the page. */
const MOST = 200;
/** Most firings of each schedule. */
const FIRINGS = 5;

type SchedulesPorts = Pick<PagePorts, 'schedules' | 'describe'>;

/** The states of the sessions that firings opened, by their ids. */
type Ends = ReadonlyMap<string, SessionState>;

export const SCHEDULES = { banners: 'banners', count: 'count', rows: 'rows' } as const;

export async function openSchedulesFeed(ports: SchedulesPorts): Promise<SchedulesFeed> {
  const ring = changeRing();
  const trouble = createTroubles();
  const drawn = new Map<string, string>();
  const stop = new AbortController();
  const readEnds = endReader(ports);
  let found = await findSchedules(ports);
  let ends = await readEnds(found);
  let parts = partsOf(found, [], ends);
  frameChanges(drawn, parts);
  const look = async (): Promise<void> => {
    try {
      found = await findSchedules(ports);
      ends = await readEnds(found);
      trouble.set('server', null);
    } catch (error) {
      trouble.set('server', reasonOf(error));
    }
    parts = partsOf(found, trouble.list(), ends);
    const changes = frameChanges(drawn, parts);
    const ids = found.schedules.map(({ name }) => rowId(name));
    if (changes.length > 0) ring.push(...changes, { do: 'order', into: SCHEDULES.rows, ids });
  };
  const goOn = async (): Promise<void> => {
    while (await pause(LOOK_MS, stop.signal)) await look();
  };
  void goOn();
  return {
    ring,
    get parts() {
      return parts;
    },
    look,
    close: () => stop.abort(),
  };
}

type Found = { readonly schedules: readonly ScheduleInfo[]; readonly more: boolean };

/** The most sessions whose ends are remembered. */
const MOST_ENDS = 1_000;

/**
 * Reads how firings ended. One that is over is asked once; one that cannot be described is left
 * out, as its session is gone from the server.
 */
function endReader({ describe }: Pick<SchedulesPorts, 'describe'>): (found: Found) => Promise<Ends> {
  const over = new RecentMap<string, SessionState>(MOST_ENDS);
  const few = createLimit(10);
  return async ({ schedules }) => {
    const sessions = schedules.flatMap(({ session, firings }) =>
      session === null ? firings.slice(0, FIRINGS).map((firing) => firing.session) : [],
    );
    const read = sessions.map((session) =>
      few(async () => {
        const known = over.get(session);
        if (known) return [[session, known] as const];
        try {
          const described = await describe(session);
          const state = stateOf(described, Date.now());
          if (!isUnderWay(described)) over.set(session, state);
          return [[session, state] as const];
        } catch (error) {
          if (error instanceof ClientProblem && error.kind === 'no_session') return [];
          throw error;
        }
      }),
    );
    return new Map((await Promise.all(read)).flat());
  };
}

/** Lists schedules, the next one due first. */
async function findSchedules({ schedules }: Pick<PagePorts, 'schedules'>): Promise<Found> {
  const found: ScheduleInfo[] = [];
  for await (const one of schedules.list()) {
    found.push(one);
    if (found.length > MOST) break;
  }
  const due = ({ next }: ScheduleInfo): number => next ?? Infinity;
  const sorted = found
    .slice(0, MOST)
    .toSorted((one, other) => (due(one) === due(other) ? (one.name < other.name ? -1 : 1) : due(one) - due(other)));
  return { schedules: sorted, more: found.length > MOST };
}

const rowId = (name: string): string => `schedule-${name}`;

function partsOf({ schedules, more }: Found, troubles: readonly Trouble[], ends: Ends): readonly FramePart[] {
  const part = (id: string, into: string, node: unknown): FramePart => ({ id, into, html: htmlOf(node) });
  return [
    ...troubles.map((trouble) => part(`trouble-${trouble.kind}`, SCHEDULES.banners, <Banner trouble={trouble} />)),
    part('how-many', SCHEDULES.count, <HowMany count={schedules.length} more={more} />),
    ...schedules.map((schedule) =>
      part(rowId(schedule.name), SCHEDULES.rows, <ScheduleRow schedule={schedule} ends={ends} />),
    ),
  ];
}

function HowMany({ count, more }: { readonly count: number; readonly more: boolean }) {
  if (count === 0)
    return (
      <EmptyCard id="how-many" icon="schedules" title="No schedules yet">
        Create one here, or run <code>perdure schedule create "0 6 * * 1" "your task"</code>.
      </EmptyCard>
    );
  return (
    <p id="how-many" class="quiet">
      {more ? (
        <>
          Showing the first {count}. List all with <code>perdure schedule list</code>.
        </>
      ) : null}
    </p>
  );
}

function ScheduleRow({ schedule, ends }: { readonly schedule: ScheduleInfo; readonly ends: Ends }) {
  const {
    name,
    cron,
    timeZone,
    title,
    next,
    coming,
    firings,
    session,
    paused,
    waitsForWorker,
    catchUpMs,
    clockChanges,
  } = schedule;
  const state = paused || waitsForWorker ? 'warn' : 'good';
  return (
    <tr id={rowId(name)} data-row>
      <td class="task">
        <b>{name}</b>
        <small>{showUnseen(title)}</small>
      </td>
      <td data-label="Times">
        <code>{showUnseen(cron)}</code>
        <small>{showUnseen(timeZone)}</small>
        <small>catch-up {shortTime(catchUpMs)}</small>
        {clockChanges.map((change) => (
          <small>{showUnseen(clockChangeText(schedule, change))}</small>
        ))}
      </td>
      <td data-label="Next">
        {next === null ? '–' : <Moment at={next} />}
        {coming.slice(1, SHOWN_COMING).map((at) => (
          <small>
            then <Moment at={at} />
          </small>
        ))}
      </td>
      <td data-label="Fired">
        {session === null ? null : (
          <small>
            {'into '}
            <SessionLink session={session} />
          </small>
        )}
        <FiringList firings={firings} linked={session === null} ends={ends} />
      </td>
      <td data-label="State">
        <span class={`dot ${state}`}>{showUnseen(scheduleStateText(schedule))}</span>
      </td>
      <td>
        <ScheduleButtons name={name} paused={paused} />
      </td>
    </tr>
  );
}

/** Firings to come that are shown. */
const SHOWN_COMING = 3;

type FiringsProps = {
  readonly firings: ScheduleInfo['firings'];
  readonly linked: boolean;
  readonly ends: Ends;
};

function FiringList({ firings, linked, ends }: FiringsProps) {
  if (firings.length === 0) return <span class="quiet">–</span>;
  return (
    <ul class="firings">
      {firings.slice(0, FIRINGS).map(({ session, at }) => (
        <li>
          {linked ? (
            <a href={`/sessions/${encodeURIComponent(session)}`}>
              <Moment at={at} />
            </a>
          ) : (
            <Moment at={at} />
          )}{' '}
          <FiringEnd state={ends.get(session)} />
        </li>
      ))}
    </ul>
  );
}

function FiringEnd({ state }: { readonly state: SessionState | undefined }) {
  if (state === undefined) return null;
  const word = state.word === 'idle' || state.word === 'closed' ? 'completed' : state.word;
  return <span class={`chip toned tone-${state.tone}`}>{word}</span>;
}

function SessionLink({ session }: { readonly session: string }) {
  return <a href={`/sessions/${encodeURIComponent(session)}`}>{showUnseen(session)}</a>;
}

function ScheduleButtons({ name, paused }: { readonly name: string; readonly paused: boolean }) {
  const act = (action: string, label: string, ask?: string) => (
    <button
      type="button"
      hx-post={`/schedules/${encodeURIComponent(name)}/${action}`}
      hx-target="#said"
      aria-label={`${label}: ${name}`}
      hx-confirm={ask}
      data-ask-label={label}
      data-ask-bad={action === 'delete' ? '' : undefined}
    >
      {label}
    </button>
  );
  return (
    <div class="buttons" data-needs="steer">
      {paused ? act('resume', 'Resume') : act('pause', 'Pause')}
      <button
        type="button"
        data-opens="edit-schedule"
        data-from={`/schedules/${encodeURIComponent(name)}/edit`}
        aria-label={`Edit: ${name}`}
        aria-haspopup="dialog"
      >
        Edit
      </button>
      {act('trigger', 'Run now', `Run ${name} now?`)}
      {act('delete', 'Delete', `Delete schedule ${name}? Its sessions are kept.`)}
    </div>
  );
}
