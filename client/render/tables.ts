// Formats sessions and schedules as tables.
import { type Paint, oneLine } from '../paint.ts';
import { displayWidth, markRows, truncateToWidth } from './width.ts';
import { formatMoment, formatMoney, shortAge, shortTime } from '../units.ts';
import type { ClockChange } from '../schedules/clock-changes.ts';
import type { ScheduleInfo } from '../schedules/schedules.ts';
import { isFailedSession, phaseText, type SessionInfo } from '../sessions/info.ts';
import { type PlacedSession, titleInTree } from '../sessions/trees.ts';
import { isAtLeast } from '../sessions/running/with-running.ts';
import { endWords } from './ending-words.ts';

/**
 * Formats rows with each column as wide as its widest cell, and the last column unpadded; a row
 * that is one text stands alone on its line. Ends with a line break.
 */
export function formatTable(
  paint: Paint,
  headings: readonly string[],
  rows: readonly (string | readonly string[])[],
): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => (typeof row === 'string' ? 0 : displayWidth(row[column] ?? '')))),
  );
  const line = (row: string | readonly string[]): string =>
    typeof row === 'string'
      ? row
      : row
          .map(
            (cell, column) =>
              cell + ' '.repeat(column === row.length - 1 ? 0 : (widths[column] ?? 0) - displayWidth(cell)),
          )
          .join('  ');
  const lines = [line(headings), ...rows.map(line)].map((text) => markRows(paint.columns(), text.trimEnd()).join('\n'));
  return lines.map((text, at) => `${at === 0 ? paint.dim(text) : text}\n`).join('');
}

const SESSION_HEADINGS = ['SESSION', 'PHASE', 'RUNS', 'TURNS', 'COST', 'LAST', 'AGE'] as const;
/** Left out one after the other where a title would have less room than this. */
const FIRST_LEFT_OUT = ['RUNS', 'TURNS', 'LAST', 'AGE', 'COST'] as const;
const ROOMY_TITLE = 24;
const LONGEST_TITLE = 60;
const SHORTEST_TITLE = 8;
/** An agent's id is long; the beginning of it names it on the command line. */
const LONGEST_ID = 24;

/** A row of a list, with the line above it where its group begins. */
export type ListedSession = PlacedSession & { readonly heading?: string };

/**
 * Formats sessions; on a terminal, titles are cut to the room that is left, and where that is
 * little, columns are left out. `now` is in milliseconds since the epoch. Ends with a line break.
 */
export function sessionTable(paint: Paint, sessions: readonly (SessionInfo | ListedSession)[], now: number): string {
  const columns = paint.columns();
  const placed: readonly ListedSession[] = sessions.map((row) => ('depth' in row ? row : { session: row, depth: 0 }));
  const cells = placed.map(({ session }) => cellsOf(session, { now, isCut: columns !== null }));
  const widthOf = (name: SessionColumn): number =>
    2 + Math.max(name.length, ...cells.map((row) => displayWidth(row[name])));
  let visible: readonly SessionColumn[] = SESSION_HEADINGS;
  const left = (): number =>
    (columns ?? Number.POSITIVE_INFINITY) - 1 - visible.reduce((sum, name) => sum + widthOf(name), 0);
  for (const name of FIRST_LEFT_OUT) if (left() < ROOMY_TITLE) visible = visible.filter((each) => each !== name);
  const most = Math.max(SHORTEST_TITLE, Math.min(LONGEST_TITLE, left()));
  return formatTable(
    paint,
    [...visible, 'TITLE'],
    placed.flatMap((row, at) => [
      ...(row.heading === undefined ? [] : [row.heading]),
      [
        ...visible.map((name) => cells[at]?.[name] ?? ''),
        truncateToWidth(oneLine(titleInTree(row, titleText(row.session)), LONGEST_TITLE), most),
      ],
    ]),
  );
}

type SessionColumn = (typeof SESSION_HEADINGS)[number];

function cellsOf(
  session: SessionInfo,
  { now, isCut }: { readonly now: number; readonly isCut: boolean },
): Readonly<Record<SessionColumn, string>> {
  return {
    SESSION: isCut ? session.session.slice(0, LONGEST_ID) : oneLine(session.session, 200),
    PHASE: shortPhase(session),
    RUNS: String(session.runs),
    TURNS: session.facts ? String(session.facts.turns) : '-',
    COST: session.facts ? costText(session) : '-',
    LAST: session.last ? endWords(session.last.terminal) : '-',
    AGE: shortAge(now - session.startedAt),
  };
}

function titleText({ title, forkedFrom }: SessionInfo): string {
  return forkedFrom ? `⑂ ${forkedFrom.session}: ${title}` : title;
}

function costText(session: SessionInfo): string {
  const cents = session.facts?.cents ?? null;
  const least = cents !== null && cents > 0 && isAtLeast(session) ? '≥' : '';
  return `${least}${formatMoney(cents === null ? null : cents / 100)}`;
}

const PHASES: Readonly<Partial<Record<SessionInfo['phase'], string>>> = {
  waiting_approval: 'needs you',
  waiting_worker: 'no worker',
};

/** Says what a session is doing in a word or two, for columns. */
export function shortPhase(session: SessionInfo): string {
  const { status, phase, parkedUntil, waitsFor, needsNewer, atBudget } = session;
  // An agent's session ends as completed however its run ended.
  if (status === 'completed' && isFailedSession(session)) return 'failed';
  if (status !== 'open' || needsNewer || waitsFor !== undefined) return phaseText(session);
  if (phase === 'parked' && atBudget) return 'at its budget';
  if (phase === 'parked' && parkedUntil !== undefined) return `parked to ${formatMoment(parkedUntil).slice(11, 16)}`;
  return isFailedSession(session) ? 'failed' : (PHASES[phase] ?? phase);
}

const SCHEDULE_HEADINGS = ['SCHEDULE', 'CRON', 'NEXT', 'CATCH UP', 'LAST SESSION', 'STANDING', 'TITLE'] as const;

/**
 * Formats schedules: name, times, next firing, catch-up time, newest session, state, title. Ends
 * with a line break.
 */
export function scheduleTable(paint: Paint, schedules: readonly ScheduleInfo[]): string {
  const rows = schedules.map((schedule) => [
    oneLine(schedule.name, 60),
    oneLine(`${schedule.cron} ${schedule.timeZone}`, 80),
    schedule.next === null ? '-' : formatMoment(schedule.next),
    shortTime(schedule.catchUpMs),
    oneLine(schedule.firings[0]?.session ?? schedule.session ?? '-', 100),
    scheduleStateText(schedule),
    oneLine(schedule.title, 60),
  ]);
  return formatTable(paint, SCHEDULE_HEADINGS, rows);
}

/** Describes a clock change on one line. */
export function clockChangeText({ timeZone }: Pick<ScheduleInfo, 'timeZone'>, change: ClockChange): string {
  const { date, kind, times, fires } = change;
  const [timesText, at] = [listTimes(times), listTimes(fires.map((moment) => localTime(timeZone, moment)))];
  const clock = oneLine(`on ${date} the clock of ${timeZone}`, 120);
  return kind === 'left-out'
    ? `${clock} leaves out ${timesText}: it fires at ${at} instead`
    : `${clock} has ${timesText} twice: it fires the first time only`;
}

function listTimes(texts: readonly string[]): string {
  const [first = '', second, third] = texts;
  if (second === undefined) return first;
  return third === undefined ? `${first} and ${second}` : `${first} to ${texts.at(-1) ?? ''} (${texts.length} times)`;
}

function localTime(timeZone: string, moment: number): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(moment);
}

/** Describes a schedule's state on one line. */
export function scheduleStateText({ paused, note, waitsForWorker, skipped }: ScheduleInfo): string {
  if (paused) return note === undefined ? 'paused' : oneLine(`paused: ${note.replace(/^paused by /, 'by ')}`, 200);
  if (waitsForWorker) return 'waiting for a worker';
  return skipped > 0 ? `active, ${skipped} skipped` : 'active';
}
