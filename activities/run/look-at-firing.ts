// Whether a firing is its schedule's own (L87): what a schedule starts with is sealed once for all
// of its firings, and whoever has read that could start more. So the firing asks the server, which
// knows what it has started.
import type { FiringFound, LookAtFiring } from '../../workflows/contract/schedules/firing.ts';
import { pause } from '../../system/async.ts';
import type { Attempt } from '../attempt.ts';

/**
 * A schedule's list has a firing a moment after it has begun; on a machine that is busy, some
 * moments.
 */
const LISTED_WITHIN = 120_000;
const FIRST_LOOK_MS = 50;
const LOOK_MS = 1_000;
/** Firings that the server tells of. */
const TOLD = 10;

export async function lookAtFiring(attempt: Attempt, { schedule, begun }: LookAtFiring): Promise<FiringFound> {
  const { session: workflow, run, signal, firingsOf } = attempt;
  if (!firingsOf) throw new Error('there is no server to ask about a firing');
  const until = Date.now() + LISTED_WITHIN;
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(LOOK_MS, wait * 2)) {
    const seen = await firingsOf(schedule);
    if (seen === null) return refused('the schedule is not there');
    const { paused, started } = seen;
    if (started.some((one) => one.workflow === workflow && one.run === run)) return { due: true };
    // It began while there was no worker, and as many have begun since: nobody can tell any more.
    if (started.length >= TOLD && started.every(({ startedAt }) => startedAt > begun)) return { due: true };
    if (Date.now() > until) return refused(paused ? 'the schedule is paused' : 'the schedule did not start it');
    await pause(wait, signal);
  }
}

const refused = (why: string): FiringFound => ({ due: false, why });
