// What the fleet did over time, without a database: each minute is remembered by this process from
// the looks that it takes, and what sessions cost and how they ended comes from the list of them.
import type { SessionCounts } from '../../client/sessions/find/list-sessions.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import type { PagePorts } from '../ports.ts';
import { isBadEnd, type Span, spans } from './fleet-view.ts';

/** How many worked and how many waited in a minute, at most. */
type Minute = { readonly at: number; working: number; waiting: number };

/** Plots of a span: columns of equal length, the newest last. */
export type Plots = {
  /** Beginning of the span, in milliseconds since the epoch. */
  readonly from: number;
  readonly working: readonly number[];
  readonly waiting: readonly number[];
  readonly cents: readonly number[];
  readonly tokens: readonly number[];
  readonly failed: readonly number[];
  /** Since when minutes are remembered. */
  readonly since: number;
  /** US cents a minute, of the last five minutes; null while not known. */
  readonly rate: number | null;
};

export type FleetHistory = {
  /** Notes a look at the phases, now. */
  note(counts: SessionCounts): void;
  /** Returns the plots of a span; sums come from a list that is at most half a minute old. */
  read(span: Span): Promise<Plots>;
};

const MINUTE = 60_000;
const MOST_MINUTES = spans['7d'] / MINUTE;
const COLUMNS: Readonly<Record<Span, number>> = { '1h': 60, '24h': 48, '7d': 56 };
/** Milliseconds for which the list of all sessions of the longest span is reused. */
const LIST_HOLD_MS = 30_000;
const LIST_PAGE = 1_000;
const MOST_LISTED = 10_000;
/** Milliseconds over which the rate of spending is taken. */
const RATE_MS = 5 * MINUTE;

type Sum = { readonly at: number; readonly cents: number };

export function fleetHistory(ports: Pick<PagePorts, 'page'>, now = Date.now): FleetHistory {
  const minutes: Minute[] = [];
  const sums: Sum[] = [];
  const since = now();
  let listed: { readonly at: number; readonly sessions: Promise<readonly SessionInfo[]> } | null = null;
  const list = (): Promise<readonly SessionInfo[]> => {
    if (listed && now() - listed.at < LIST_HOLD_MS) return listed.sessions;
    const sessions = listRecent(ports);
    listed = { at: now(), sessions };
    sessions.then(
      (all) => noteSum(sums, { at: now(), cents: sumOf(all, ({ facts }) => facts?.cents ?? 0) }),
      () => (listed = null),
    );
    return sessions;
  };
  return {
    note: ({ running, waiting_approval: waiting }) => {
      const at = Math.floor(now() / MINUTE) * MINUTE;
      const last = minutes.at(-1);
      if (last?.at === at) {
        last.working = Math.max(last.working, running);
        last.waiting = Math.max(last.waiting, waiting);
        return;
      }
      minutes.push({ at, working: running, waiting });
      if (minutes.length > MOST_MINUTES) minutes.shift();
    },
    read: async (span) => {
      const sessions = await list();
      const to = now();
      const columns = createColumns(to, span);
      return {
        from: to - spans[span],
        working: columns.most(minutes, ({ working }) => working),
        waiting: columns.most(minutes, ({ waiting }) => waiting),
        cents: columns.sum(sessions, ({ startedAt, facts }) => [startedAt, facts?.cents ?? 0]),
        tokens: columns.sum(sessions, ({ startedAt, facts }) => [startedAt, facts?.tokens ?? 0]),
        failed: columns.sum(sessions, ({ closedAt, startedAt, last }) => [
          closedAt ?? startedAt,
          last !== null && isBadEnd(last.terminal.reason) ? 1 : 0,
        ]),
        since,
        rate: rateOf(sums, to),
      };
    },
  };
}

/** Lists the sessions that no other called: what agents take is in the sums of their callers. */
async function listRecent({ page }: Pick<PagePorts, 'page'>): Promise<readonly SessionInfo[]> {
  const found: SessionInfo[] = [];
  let after: string | undefined;
  do {
    const part = await page({
      filter: 'age<7d',
      size: LIST_PAGE,
      running: true,
      ...(after === undefined ? {} : { after }),
    });
    found.push(...part.sessions.filter(({ facts }) => facts?.agent === undefined));
    after = part.next ?? undefined;
  } while (after !== undefined && found.length < MOST_LISTED);
  return found;
}

const sumOf = <Item>(items: readonly Item[], value: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + value(item), 0);

function noteSum(sums: Sum[], sum: Sum): void {
  sums.push(sum);
  while ((sums[0]?.at ?? 0) < sum.at - RATE_MS - LIST_HOLD_MS) sums.shift();
}

/** Sessions that leave the list take their sum with them: that is no spending. */
function rateOf(sums: readonly Sum[], to: number): number | null {
  const recent = sums.filter(({ at }) => at >= to - RATE_MS - LIST_HOLD_MS);
  const [first, last] = [recent[0], recent.at(-1)];
  if (!first || !last || last.at - first.at < MINUTE) return null;
  return Math.max(0, last.cents - first.cents) / ((last.at - first.at) / MINUTE);
}

function createColumns(to: number, span: Span) {
  const [count, length] = [COLUMNS[span], spans[span]];
  const from = to - length;
  const columnOf = (at: number): number | null =>
    at < from || at > to ? null : Math.min(count - 1, Math.floor(((at - from) / length) * count));
  return {
    most: (of: readonly Minute[], value: (minute: Minute) => number): readonly number[] => {
      const columns = Array.from({ length: count }, () => 0);
      for (const minute of of) {
        const column = columnOf(Math.min(to, minute.at + MINUTE));
        if (column !== null) columns[column] = Math.max(columns[column] ?? 0, value(minute));
      }
      return columns;
    },
    sum: <Item>(
      of: readonly Item[],
      value: (item: Item) => readonly [at: number, value: number],
    ): readonly number[] => {
      const columns = Array.from({ length: count }, () => 0);
      for (const item of of) {
        const [at, amount] = value(item);
        const column = columnOf(at);
        if (column !== null) columns[column] = (columns[column] ?? 0) + amount;
      }
      return columns;
    },
  };
}
