// Links to an iteration on the page.
import type { Iteration } from '../../client/faces/types.ts';

/** Returns the address of its part of the transcript. */
export function linkOf(session: string, { run, iteration, position, reply }: Iteration): string {
  const path = `/sessions/${session}`;
  if (reply) return `${path}?at=${run}.${iteration}#it-${reply.anchor}`;
  return position === null ? path : `${path}?at=e${position}#e${position}`;
}

/** Names its element on the timeline. */
export const rowId = ({ run, iteration }: Pick<Iteration, 'run' | 'iteration'>): string => `t-${run}-${iteration}`;
