// Looks at all sessions, as one view shows them, for as long as it is watched: one look for all
// viewers of the same view.
import { pause } from '../../system/async.ts';
import { showUnseen, reasonOf } from '../../system/text.ts';
import { StoreError } from '../../store/values/store.ts';
import type { WaitingApproval } from '../../client/sessions/waiting-approval.ts';
import type { SessionCounts, SessionPage } from '../../client/sessions/find/list-sessions.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import type { QuerySource } from '../../workflows/contract/facts.ts';
import { formatCount, formatMoney, shortTime } from '../../client/units.ts';
import { changeRing, frameChanges, type FramePart, type Ring } from '../feed/ring.ts';
import { type Trouble, createTroubles } from '../feed/troubles.ts';
import { htmlOf, Moment, Phase, Reason } from '../layout.tsx';
import type { PagePorts } from '../ports.ts';
import { ApprovalForm } from '../session/approval-form.tsx';
import { Banner } from '../session/frame.tsx';
import { present } from '../../workflows/contract/present.ts';

/** A page of matching sessions, and how many there are in all. */
type SessionsFound = SessionPage & { readonly counts: SessionCounts };

export type FleetFeed = {
  readonly ring: Ring;
  readonly parts: readonly FramePart[];
  readonly found: SessionsFound;
  close(): void;
};

/** Milliseconds between looks. */
const LOOK_MS = 2_000;
const PAGE = 100;
/** Most approvals in the inbox. */
const MOST_APPROVALS = 30;

export const FLEET = { banners: 'banners', inbox: 'inbox', counts: 'counts', rows: 'rows' } as const;

/**
 * `view` has the query and the start of its page, as in the address. Throws ClientProblem for an
 * invalid query.
 */
export async function openFleetFeed(ports: PagePorts, view: string): Promise<FleetFeed> {
  const asked = new URLSearchParams(view);
  const [filter, after] = [asked.get('q') ?? '', asked.get('after')];
  const ring = changeRing();
  const trouble = createTroubles();
  const drawn = new Map<string, string>();
  const stop = new AbortController();
  const look = async () => {
    const [page, counted, approvals] = await Promise.all([
      ports.page(present({ filter, size: PAGE, after: after ?? undefined, running: true })),
      ports.counts(),
      readInbox(ports, trouble),
    ]);
    return { found: { ...page, counts: counted }, approvals };
  };
  let { found, approvals } = await look();
  trouble.set('workers', missingWorkers(found));
  const draw = (): readonly FramePart[] => fleetParts({ found, approvals, troubles: trouble.list(), filter });
  let parts = draw();
  frameChanges(drawn, parts);
  const goOn = async (): Promise<void> => {
    while (await pause(LOOK_MS, stop.signal)) {
      try {
        ({ found, approvals } = await look());
        trouble.set('workers', missingWorkers(found));
        trouble.set('server', null);
      } catch (error) {
        trouble.set('server', reasonOf(error));
      }
      parts = draw();
      const changes = frameChanges(drawn, parts);
      if (changes.length === 0) continue;
      const ids = found.sessions.map(({ session }) => rowId(session));
      ring.push(...changes, { do: 'order', into: FLEET.rows, ids });
    }
  };
  void goOn();
  return {
    ring,
    get parts() {
      return parts;
    },
    get found() {
      return found;
    },
    close: () => stop.abort(),
  };
}

/** Null when each session that has work has a worker. */
function missingWorkers({ counts }: SessionsFound): string | null {
  const waiting = counts.waiting_worker;
  if (waiting === 0) return null;
  return `${formatCount(waiting, 'session')} without one: \`perdure worker\` on a machine that reaches the server and the store takes them up.`;
}

/** Lists what waits for a person, the most urgent first. */
async function readInbox(
  ports: Pick<PagePorts, 'inbox'>,
  trouble: ReturnType<typeof createTroubles>,
): Promise<readonly WaitingApproval[]> {
  try {
    const waiting = await ports.inbox();
    trouble.set('store', null);
    return waiting.toSorted((one, other) => one.deadline - other.deadline);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    trouble.set('store', reasonOf(error));
    return [];
  }
}

type Fleet = {
  readonly found: SessionsFound;
  readonly approvals: readonly WaitingApproval[];
  readonly troubles: readonly Trouble[];
  readonly filter: string;
};

function fleetParts({ found, approvals, troubles: wrong, filter }: Fleet): readonly FramePart[] {
  const part = (id: string, into: string, node: unknown): FramePart => ({ id, into, html: htmlOf(node) });
  const shown = approvals.slice(0, MOST_APPROVALS);
  return [
    ...wrong.map((trouble) => part(`trouble-${trouble.kind}`, FLEET.banners, <Banner trouble={trouble} />)),
    part('inbox-count', FLEET.inbox, <InboxTitle waiting={approvals.length} shown={shown.length} />),
    ...shown.map((approval) => {
      const form = <ApprovalForm approval={approval} linked />;
      return part(`${approval.session}-approval-${approval.call.replace(/[^\w-]/g, '-')}`, FLEET.inbox, form);
    }),
    part('phases', FLEET.counts, <PhaseCounts found={found} filter={filter} />),
    ...found.sessions.map((session) => part(rowId(session.session), FLEET.rows, <SessionRow session={session} />)),
  ];
}

const rowId = (session: string): string => `row-${session}`;

function InboxTitle({ waiting, shown }: { readonly waiting: number; readonly shown: number }) {
  const more = waiting > shown ? `, the ${shown} most urgent are below` : '';
  return (
    <h2 id="inbox-count" class={waiting > 0 ? 'warn' : 'quiet'}>
      {waiting === 0 ? 'Nothing waits for a decision' : `${waiting} waiting for a decision${more}`}
    </h2>
  );
}

const PHASES = ['running', 'waiting_worker', 'waiting_approval', 'parked', 'idle', 'closed'] as const;
const names: Readonly<Record<(typeof PHASES)[number], string>> = {
  running: 'running',
  waiting_worker: 'without a worker',
  waiting_approval: 'waiting',
  parked: 'parked',
  idle: 'idle',
  closed: 'closed',
};

function PhaseCounts({ found, filter }: { readonly found: SessionsFound; readonly filter: string }) {
  const { counts } = found;
  const all = PHASES.reduce((sum, phase) => sum + counts[phase], 0);
  return (
    <nav class="tabs" id="phases" aria-label="Sessions by phase">
      <a href="/" aria-current={filter === '' ? 'page' : undefined}>{`all ${all}`}</a>
      {PHASES.map((phase) => (
        <a
          href={`/?q=${encodeURIComponent(`phase:${phase}`)}`}
          aria-current={filter === `phase:${phase}` ? 'page' : undefined}
        >
          {`${names[phase]} ${counts[phase]}`}
        </a>
      ))}
    </nav>
  );
}

const SOURCES: Readonly<Record<QuerySource, string>> = {
  cli: 'from the command line',
  page: 'from this page',
  api: 'over the HTTP API',
  sdk: 'from a program',
  schedule: 'by a schedule',
  agent: 'by an agent',
};

/** Says how the last prompt came. */
function cameBy({ facts }: Pick<SessionInfo, 'facts'>): readonly string[] {
  return facts?.querySource ? [SOURCES[facts.querySource]] : [];
}

function SessionRow({ session }: { readonly session: SessionInfo }) {
  const { session: id, title, runs, last, startedAt, closedAt, cwd, facts } = session;
  const name = showUnseen(title) || '(no title)';
  return (
    <tr id={rowId(id)} data-row>
      <td class="pick">
        <input type="checkbox" name="session" value={id} aria-label={`Select ${name}`} />
      </td>
      <td class="task">
        <a href={`/sessions/${encodeURIComponent(id)}`}>{name}</a>
        <small>{[showUnseen(id), showUnseen(cwd), ...cameBy(session)].join(' · ')}</small>
      </td>
      <td data-label="Phase">
        <Phase session={session} />
      </td>
      <td data-label="Runs">{runs}</td>
      <td data-label="Turns">{facts?.turns ?? ''}</td>
      <td data-label="Cost">
        {facts === undefined ? '' : formatMoney(facts.cents === null ? null : facts.cents / 100)}
      </td>
      <td data-label="Last">
        <Reason reason={last?.terminal.reason ?? null} />
      </td>
      <td data-label="Begun">
        <Moment at={startedAt} />
        {closedAt === null ? null : <small>{`ended after ${shortTime(closedAt - startedAt)}`}</small>}
      </td>
    </tr>
  );
}
