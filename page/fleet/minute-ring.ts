// Remembers minute by minute how the fleet stood, from the looks of this process: how many worked
// and waited, what was spent, what went wrong. It knows nothing from before its first look. Pure.
import type { SessionInfo, SessionCounts } from '../../client/faces/types.ts';
import { isBadEnd } from '../../client/faces/contract.ts';

/** One look at the fleet; `sessions` are those that it happened to see. */
export type FleetLook = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly counts: Pick<SessionCounts, 'running' | 'waiting_worker' | 'waiting_approval'>;
  readonly sessions: readonly SessionInfo[];
};

/** A stretch of time. A number is null when nothing is known of it. */
export type FleetPoint = {
  /** Its beginning, in milliseconds since the epoch. */
  readonly at: number;
  /** Most sessions that worked at once. */
  readonly working: number | null;
  /** Most sessions that waited for a person at once. */
  readonly waiting: number | null;
  /** US dollars spent in it, by model. */
  readonly cost: Readonly<Record<string, number>> | null;
  /** Tokens used in it, by kind where the source tells them apart, else as `all`. */
  readonly tokens: Readonly<Record<string, number>> | null;
  /** Runs that ended badly in it. */
  readonly badRuns: number | null;
  /** Requests to the model that failed in it, of those that were seen. */
  readonly failedCalls: number | null;
};

type Minute = {
  working: number;
  waiting: number;
  cost: Record<string, number>;
  tokens: number;
  badRuns: number;
  failedCalls: number;
};
type Known = {
  readonly cents: number | null;
  readonly tokens: number;
  readonly run: number;
  /** Attempts of the request under way that failed. */
  readonly failures: number;
};

type MinuteRing = {
  /** When the first look was taken; null before it. */
  readonly since: number | null;
  add(look: FleetLook): void;
  /**
   * Returns `count` points of `step` milliseconds, whole minutes each, the last of them with `now`.
   */
  points(now: number, step: number, count: number): readonly FleetPoint[];
};

const MINUTE = 60_000;
/** A week. */
const MOST_MINUTES = 7 * 24 * 60;
/** Sessions whose last numbers are remembered. */
const MOST_SESSIONS = 20_000;

export const nothingKnown = (at: number): FleetPoint => ({
  at,
  working: null,
  waiting: null,
  cost: null,
  tokens: null,
  badRuns: null,
  failedCalls: null,
});

/** Returns when the points begin that end with `now`. */
export function bucketStarts(now: number, step: number, count: number): readonly number[] {
  const last = Math.floor(now / step) * step;
  return Array.from({ length: count }, (_, at) => last - (count - 1 - at) * step);
}

export function minuteRing(): MinuteRing {
  const minutes = new Map<number, Minute>();
  const known = new Map<string, Known>();
  let since: number | null = null;
  let hasForgotten = false;
  const minuteAt = (at: number): Minute => {
    const name = Math.floor(at / MINUTE);
    const minute = minutes.get(name) ?? { working: 0, waiting: 0, cost: {}, tokens: 0, badRuns: 0, failedCalls: 0 };
    minutes.set(name, minute);
    for (const old of minutes.keys()) {
      if (minutes.size <= MOST_MINUTES) break;
      minutes.delete(old);
    }
    return minute;
  };
  return {
    get since() {
      return since;
    },
    add: ({ at, counts, sessions }) => {
      since ??= at;
      const minute = minuteAt(at);
      minute.working = Math.max(minute.working, counts.running + counts.waiting_worker);
      minute.waiting = Math.max(minute.waiting, counts.waiting_approval);
      for (const session of sessions) {
        const before = known.get(session.session);
        // Since the first look falls all of a session that began after it, unless it was forgotten
        // since, or has taken over what another had spent.
        const isNew = session.startedAt >= since && !hasForgotten && session.forkedFrom === undefined;
        countSession(minute, session, before ?? (isNew ? NOTHING : undefined));
        known.delete(session.session);
        known.set(session.session, numbersOf(session, before));
      }
      for (const old of known.keys()) {
        if (known.size <= MOST_SESSIONS) break;
        known.delete(old);
        hasForgotten = true;
      }
    },
    points: (now, step, count) =>
      bucketStarts(now, step, count).map((at) => {
        const found: Minute[] = [];
        for (let minute = at / MINUTE; minute < (at + step) / MINUTE; minute += 1) {
          const one = minutes.get(Math.floor(minute));
          if (one) found.push(one);
        }
        return found.length === 0 ? nothingKnown(at) : joinMinutes(at, found);
      }),
  };
}

/** Failures stay as they were where the look did not reach the run. */
function numbersOf({ facts, last, running }: SessionInfo, before: Known | undefined): Known {
  const { attempt = 1 } = running?.doing.find(({ kind }) => kind === 'model') ?? {};
  const spend = { cents: facts?.cents ?? null, tokens: facts?.tokens ?? 0 };
  return { ...spend, run: last?.run ?? 0, failures: running ? attempt - 1 : (before?.failures ?? 0) };
}

const NOTHING: Known = { cents: 0, tokens: 0, run: 0, failures: 0 };

/** An older session that is seen for the first time has spent at an unknown time. */
function countSession(minute: Minute, session: SessionInfo, before: Known | undefined): void {
  if (!before) return;
  const { cents, tokens, run, failures } = numbersOf(session, before);
  const model = session.facts?.model ?? 'unknown';
  const usd = cents === null || before.cents === null ? 0 : Math.max(0, cents - before.cents) / 100;
  if (usd > 0) minute.cost[model] = (minute.cost[model] ?? 0) + usd;
  minute.tokens += Math.max(0, tokens - before.tokens);
  // Fewer than before are those of another request.
  minute.failedCalls += failures < before.failures ? failures : failures - before.failures;
  if (run <= before.run || !session.last) return;
  const { terminal } = session.last;
  if (isBadEnd(terminal)) minute.badRuns += 1;
  // The request that ended a run was not tried again.
  if (terminal.reason === 'model_error') minute.failedCalls += 1;
}

function joinMinutes(at: number, minutes: readonly Minute[]): FleetPoint {
  const cost: Record<string, number> = {};
  for (const minute of minutes)
    for (const [model, usd] of Object.entries(minute.cost)) cost[model] = (cost[model] ?? 0) + usd;
  return {
    at,
    working: Math.max(...minutes.map(({ working }) => working)),
    waiting: Math.max(...minutes.map(({ waiting }) => waiting)),
    cost,
    tokens: { all: minutes.reduce((sum, { tokens }) => sum + tokens, 0) },
    badRuns: minutes.reduce((sum, { badRuns }) => sum + badRuns, 0),
    failedCalls: minutes.reduce((sum, { failedCalls }) => sum + failedCalls, 0),
  };
}
