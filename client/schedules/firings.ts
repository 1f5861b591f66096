// Reads past firings of a schedule from the server, and fires one that a person asks for.
import { randomUUID } from 'node:crypto';
import type { ScheduleDescription } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { firingOf, scheduleId } from '../../workflows/contract/schedules/firing.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { createLimit, pause } from '../../system/async.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { ClientProblem } from '../problem.ts';
import { callUntilAnswered } from '../sessions/persist.ts';
import type { ClientOptions } from '../sessions/start.ts';

/** `at` is in milliseconds since the epoch. */
export type Firing = { readonly session: SessionId; readonly at: number };

/**
 * `started`: a session has the firing. `waiting`: it comes after the firing that still runs.
 * `skipped`: it is dropped in favour of that one.
 */
export type Triggered = { readonly outcome: 'started' | 'waiting' | 'skipped'; readonly session: SessionId | null };

/**
 * Lists firings, newest first. `to` is the session that receives the prompts; null where each
 * firing opens its own.
 */
export function firingsOf({ info }: Pick<ScheduleDescription, 'info'>, to: string | null): readonly Firing[] {
  return info.recentActions.toReversed().flatMap(({ action, scheduledAt }) => {
    const session = to ?? firingOf(action.workflow.workflowId)?.session;
    return session === undefined ? [] : [{ session: session as SessionId, at: scheduledAt.getTime() }];
  });
}

const FIRES_WITHIN = 10_000;
const LOOK_MS = 100;
/** Number of schedules whose last firing here is remembered. */
const MOST_REMEMBERED = 256;

type Fire = (name: string, look: () => Promise<ScheduleDescription>, signal: AbortSignal) => Promise<Triggered>;

/**
 * Fires schedules on request, one firing at a time for each schedule. `target` reads the session
 * that a schedule sends prompts to.
 */
export function fireNow(
  { temporal }: Pick<ClientOptions, 'temporal'>,
  target: (description: ScheduleDescription) => string | null,
): Fire {
  const turnsByName = new RecentMap<string, Turns>(MOST_REMEMBERED);
  return (name, look, signal) => {
    const turns = turnsByName.get(name) ?? { newest: 0, one: createLimit(1) };
    turnsByName.set(name, turns);
    return turns.one(() => fireSchedule({ temporal, target, turns }, name, look, signal));
  };
}

/**
 * `newest` is the name of the newest firing requested here. The server loses one of two that reach
 * a schedule in the same moment.
 */
type Turns = { newest: number; readonly one: ReturnType<typeof createLimit> };

type Firer = Pick<ClientOptions, 'temporal'> & {
  readonly target: (description: ScheduleDescription) => string | null;
  readonly turns: Turns;
};

async function fireSchedule(
  { temporal, target, turns }: Firer,
  ...[name, look, signal]: Parameters<Fire>
): Promise<Triggered> {
  const there = await look();
  const before = countsOf(there);
  const due = nextName(there, turns.newest);
  turns.newest = due;
  const request = {
    namespace: temporal.options.namespace,
    identity: temporal.options.identity,
    scheduleId: scheduleId(name),
    // Each try uses the same id, so that the server takes it once.
    requestId: randomUUID(),
    // Without its policy a firing would run in parallel with a running one.
    patch: {
      triggerImmediately: {
        overlapPolicy: there.raw.schedule?.policies?.overlapPolicy ?? null,
        scheduledTime: msToTs(due),
      },
    },
  };
  await callUntilAnswered(temporal, `fire schedule ${name}`, () => temporal.workflowService.patchSchedule(request));
  const deadline = Date.now() + FIRES_WITHIN;
  while (Date.now() < deadline) {
    const now = await look();
    const own = firingsOf(now, target(now)).find(({ at }) => at === due);
    if (own) return { outcome: 'started', session: own.session };
    const { skipped, waiting } = countsOf(now);
    if (skipped > before.skipped) return { outcome: 'skipped', session: null };
    if (waiting > before.waiting) return { outcome: 'waiting', session: null };
    await pause(LOOK_MS, signal);
  }
  throw new ClientProblem('unanswered', `schedule ${name} was told to fire, and has not yet: list the schedules`);
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/**
 * Chooses the second that names a firing, in milliseconds since the epoch. Of two firings with one
 * name the server starts only the first. Whole minutes belong to due firings, so a requested one
 * must not take such a name.
 */
export function nextName({ info }: Pick<ScheduleDescription, 'info'>, newest: number, now = Date.now()): number {
  const named = info.recentActions.map(({ scheduledAt }) => scheduledAt.getTime());
  const next = Math.max(Math.floor(now / SECOND) * SECOND, ...[newest, ...named].map((at) => at + SECOND));
  return next % MINUTE === 0 ? next + SECOND : next;
}

function countsOf({ info, raw }: ScheduleDescription): { readonly skipped: number; readonly waiting: number } {
  return { skipped: info.numActionsSkippedOverlap, waiting: Number(raw.info?.bufferSize ?? 0) };
}
