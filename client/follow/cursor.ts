// Where a follower begins that comes again: behind an iteration whose events it has seen whole.
// What it has seen of a later one, half of a reply, is told again from that iteration's beginning,
// for the attempt that said it may have died meanwhile.
import type { Watched } from '../../store/live/events.ts';
import { ClientProblem } from '../problem.ts';
import { type ApprovalEvent, isApprovalEvent } from '../sessions/decide.ts';
import type { RunOutcome } from '../sessions/outcome.ts';

export type Followed = Watched | ApprovalEvent | RunOutcome;

/** Iteration `iteration` of run `run`, as its events name it. */
export type SeenIteration = { readonly run: number; readonly iteration: number };

type Cursor = {
  /** The last run that is not followed. */
  readonly run: number;
  /** The events to show for it. */
  pass(event: Followed): readonly Followed[];
};

/** Throws ClientProblem `refused` for a place that is none. */
export function cursorAfter(after: number | SeenIteration): Cursor {
  if (typeof after === 'number') return { run: checked(after, 0, 'run'), pass: (event) => [event] };
  const run = checked(after.run, 1, 'run');
  return { run: run - 1, pass: behind(checked(after.iteration, 0, 'iteration')) };
}

function checked(value: number, least: number, what: string): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new ClientProblem('refused', `${String(value)} is no ${what}: give a whole number from ${least}`);
}

/**
 * One run is followed. Events without an iteration, a message say, are of the one that comes next.
 */
function behind(iteration: number): Cursor['pass'] {
  let held: Followed[] | null = [];
  return (event) => {
    const at = 'iteration' in event ? event.iteration : null;
    if (at !== null && at <= iteration) {
      if (held) held = [];
      return [];
    }
    if (held === null || isApprovalEvent(event)) return [event];
    if (at === null && event.type !== 'run_end' && event.type !== 'result') return (held.push(event), []);
    const shown = [...held, event];
    held = null;
    return shown;
  };
}
