// Sessions as a table: id, phase, runs, how the last one ended, age, title.
import { phaseText, type SessionInfo } from '../sessions/info.ts';
import type { Paint } from './paint.ts';
import { oneLine } from './plain.ts';
import { table } from './table.ts';
import { reasonText } from './words.ts';
import { shortAge } from './units.ts';

const HEADINGS = ['SESSION', 'PHASE', 'RUNS', 'LAST', 'AGE', 'TITLE'] as const;

/** `now` in milliseconds since the epoch. Ends with a line break. */
export function sessionTable(paint: Paint, sessions: readonly SessionInfo[], now: number): string {
  const rows = sessions.map((session) => [
    oneLine(session.session, 200),
    phaseText(session),
    String(session.runs),
    session.last ? reasonText(session.last.terminal.reason) : '-',
    shortAge(now - session.startedAt),
    oneLine(session.title, 60),
  ]);
  return table(paint, HEADINGS, rows);
}
