// Where a returning follower begins: after the last iteration whose events it has received
// completely. A later iteration of which it received only a part is sent again from its beginning,
// because the attempt that sent it may have died meanwhile.
import type { WatchedEvent } from '../../store/live/events.ts';
import { ClientProblem } from '../problem.ts';
import { type ApprovalEvent, isApprovalEvent } from '../sessions/waiting-approval.ts';
import type { RunOutcome } from '../sessions/outcome.ts';

export type Followed = WatchedEvent | ApprovalEvent | RunOutcome;

/** Iteration `iteration` of run `run`, numbered as in its events. */
export type SeenIteration = { readonly run: number; readonly iteration: number };

type Cursor = {
  /** The last run that is not followed. */
  readonly run: number;
  /** Returns the events to show for `event`. */
  pass(event: Followed): readonly Followed[];
};

/** Throws ClientProblem `refused` for an invalid place. */
export function cursorAfter(after: number | SeenIteration): Cursor {
  if (typeof after === 'number') return { run: parseWhole(after, 0, 'run'), pass: (event) => [event] };
  const run = parseWhole(after.run, 1, 'run');
  return { run: run - 1, pass: passBehind(parseWhole(after.iteration, 0, 'iteration')) };
}

function parseWhole(value: number, least: number, what: string): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new ClientProblem('refused', `${String(value)} is no ${what}: give a whole number from ${least}`);
}

/**
 * Follows one run. An event without an iteration, such as a message, belongs to the iteration that
 * comes next.
 */
function passBehind(iteration: number): Cursor['pass'] {
  let pending: Followed[] | null = [];
  return (event) => {
    const at = 'iteration' in event ? event.iteration : null;
    if (at !== null && at <= iteration) {
      if (pending) pending = [];
      return [];
    }
    if (pending === null || isApprovalEvent(event)) return [event];
    if (at === null && event.type !== 'run_end' && event.type !== 'result') return (pending.push(event), []);
    const released = [...pending, event];
    pending = null;
    return released;
  };
}
