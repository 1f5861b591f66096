// Checks that a firing really belongs to its schedule (L87). The input of a schedule is sealed once
// for all of its firings, so any reader of it could start more: the firing asks the server, which
// knows what it has started.
import type { FiringFound, LookAtFiring } from '../../workflows/contract/schedules/firing.ts';
import { pause } from '../../system/async.ts';
import type { Attempt } from '../attempt.ts';

/**
 * Milliseconds. A schedule lists a firing a moment after it has begun, and later on a busy machine.
 */
const LISTED_WITHIN_MS = 120_000;
const FIRST_LOOK_MS = 50;
const LOOK_MS = 1_000;
/** The number of firings that the server lists. */
const MOST_LISTED = 10;

export async function lookAtFiring(attempt: Attempt, { schedule, begun: since }: LookAtFiring): Promise<FiringFound> {
  const { session: workflow, run, signal, firingsOf } = attempt;
  if (!firingsOf) throw new Error('there is no server to ask about a firing');
  const until = Date.now() + LISTED_WITHIN_MS;
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(LOOK_MS, wait * 2)) {
    const firings = await firingsOf(schedule);
    if (firings === null) return refuseFiring('the schedule is not there');
    const { paused, started } = firings;
    if (started.some((one) => one.workflow === workflow && one.run === run)) return { due: true };
    // It began while no worker ran, and as many have begun since: the list cannot tell.
    if (started.length >= MOST_LISTED && started.every(({ startedAt }) => startedAt > since)) return { due: true };
    if (Date.now() > until) return refuseFiring(paused ? 'the schedule is paused' : 'the schedule did not start it');
    await pause(wait, signal);
  }
}

const refuseFiring = (why: string): FiringFound => ({ due: false, why });
