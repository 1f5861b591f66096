// Formats the screen of `perdure top`: how many sessions are in each phase, and as many rows as
// fit. Pure.
import type { Paint } from '../../client/paint.ts';
import type { SessionCounts } from '../../client/sessions/find/list-sessions.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import { formatMoment } from '../../client/units.ts';
import { sessionTable } from '../../client/render/tables.ts';

export type TopFrame = {
  readonly counts: SessionCounts;
  readonly sessions: readonly SessionInfo[];
  /** Why the last look failed; the rest shows the look before it. */
  readonly trouble: string | null;
  readonly filter: string;
};

const PHASES = [
  ['running', 'running'],
  ['waiting_worker', 'waiting for a worker'],
  ['waiting_approval', 'waiting for a decision'],
  ['parked', 'parked'],
  ['idle', 'idle'],
  ['closed', 'closed'],
] as const;

/** Returns at most `rows` lines without line breaks. `now` is in milliseconds since the epoch. */
export function topLines(
  paint: Paint,
  frame: TopFrame,
  now: number,
  rows = Number.POSITIVE_INFINITY,
): readonly string[] {
  const { counts, sessions, trouble, filter } = frame;
  const phases = PHASES.flatMap(([phase, words]) =>
    counts[phase] > 0 || phase === 'running' ? [paint.bold(`${counts[phase]} ${words}`)] : [],
  );
  const head = [
    `${phases.join(' · ')}  ${paint.dim(formatMoment(now))}`,
    ...(filter === '' ? [] : [paint.dim(`filter: ${filter}`)]),
    ...(trouble === null ? [] : [paint.yellow(`! ${trouble}`)]),
  ];
  if (sessions.length === 0)
    return [...head, filter === '' ? 'no sessions yet' : 'no session fits the filter'].slice(0, rows);
  // The terminal cuts the lines at its edge.
  const table = sessionTable({ ...paint, columns: () => null }, sessions, now)
    .trimEnd()
    .split('\n');
  return [...head, '', ...table].slice(0, rows);
}
