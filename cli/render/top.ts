// Formats the screen of `perdure top`: sessions in groups by what they need, the title first. Pure.
import type { Paint, SessionCounts, SessionInfo, WaitingApproval } from '../../client/faces/types.ts';
import { displayWidth, truncateToWidth, formatMoney, shortAge } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { nowText, callWhat, endWords, contextShare } from '../../client/faces/words.ts';
import { titleInTree, isAtLeast } from '../../client/faces/lists.ts';
import {
  groupHeading,
  type GroupedSession,
  groupOf,
  orderInGroups,
  type ListedGroup,
  type SessionSort,
} from './session-groups.ts';

export type TopFrame = {
  readonly counts: SessionCounts;
  readonly sessions: readonly SessionInfo[];
  /** Calls that wait, by their session. */
  readonly approvals: ReadonlyMap<string, readonly WaitingApproval[]>;
  /** Why the last look failed; the rest shows the look before it. */
  readonly trouble: string | null;
  readonly filter: string;
};

export type TopLook = {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly columns: number;
  /** Absent: all rows, and no keys. */
  readonly rows?: number;
  readonly sort: SessionSort;
  /** The session that the keys act on; null without keys. */
  readonly selected: string | null;
  /** A line for the person in the place of the keys. */
  readonly note: string | null;
};

/** The keys in their order; where room is short, the highest numbers go first. */
const KEYS = [
  ['↑↓ move', 2],
  ['↵ follow', 1],
  ['l look', 5],
  ['a allow', 0],
  ['d deny', 0],
  ['i interrupt', 6],
  ['o open', 7],
  ['/ filter', 3],
  ['s sort', 4],
  ['q leave', 1],
] as const;

function keysRow(columns: number): string {
  for (let most = 7; ; most -= 1) {
    const row = KEYS.flatMap(([words, rank]) => (rank <= most ? [words] : [])).join('  ');
    if (most === 0 || displayWidth(row) <= columns) return row;
  }
}

/** Returns the row that keys act on first: the one for which its group stands where it does. */
export function firstOfTop(rows: readonly GroupedSession[], now: number): GroupedSession | undefined {
  const [first] = rows;
  return rows.find(({ session, group }) => group === first?.group && groupOf(session, now) === group) ?? first;
}

/** Cells of a row behind its words, in their order. */
const CELLS = ['age', 'turns', 'context', 'cost'] as const;
type Cell = (typeof CELLS)[number];
const HEADINGS: Readonly<Record<Cell, string>> = { age: 'AGE', turns: 'TURN', context: 'CTX', cost: 'COST' };
const NARROWEST = 24;
/** Columns below which a row has a second line for what the session does. */
const CARDS = 60;
/** Columns that title and words keep before cells are left out. */
const WORDS = 40;

/** Returns at most `rows` lines without line breaks. */
export function topLines(paint: Paint, frame: TopFrame, look: TopLook): readonly string[] {
  const { now, rows = Number.POSITIVE_INFINITY, selected, note } = look;
  const columns = Math.max(NARROWEST, look.columns - 1);
  const { counts, trouble, filter } = frame;
  const head = [
    headLine(paint, counts, orderInGroups(frame.sessions, look.sort, now)),
    ...(filter === '' ? [] : [paint.dim(`filter: ${filter}`)]),
    ...(trouble === null ? [] : [paint.yellow(`! ${trouble}`)]),
  ];
  const foot = selected === null && note === null ? [] : ['', note ?? paint.dim(keysRow(columns))];
  if (frame.sessions.length === 0)
    return [...head, filter === '' ? 'No sessions yet' : 'No sessions match this filter', ...foot].slice(0, rows);
  const lines = bodyLines(paint, frame, { ...look, columns });
  const room = Math.max(1, rows - head.length - 1 - foot.length);
  const at = Math.max(
    0,
    lines.findIndex(({ isSelected }) => isSelected),
  );
  const from = Math.max(0, Math.min(at - room + 2, lines.length - room));
  const visible = lines.slice(from, from + room).map(({ text }) => text);
  return [...head, '', ...visible, ...foot].map((line) => truncateToWidth(line, columns));
}

const inverse = (paint: Paint, text: string): string => (paint.on ? `\u001b[7m${text}\u001b[27m` : text);

type Line = { readonly text: string; readonly isSelected: boolean };

/** Returns the groups with their rows, and a second line for each row where room is short. */
function bodyLines(paint: Paint, frame: TopFrame, look: TopLook): readonly Line[] {
  const { now, columns, sort, selected } = look;
  const rows = orderInGroups(frame.sessions, sort, now).map((row) => ({
    row,
    cells: cellsOf(row.session, row.group, now),
  }));
  const widths = Object.fromEntries(
    CELLS.map((name) => [name, 2 + Math.max(HEADINGS[name].length, ...rows.map(({ cells }) => cells[name].length))]),
  ) as Readonly<Record<Cell, number>>;
  const visible = cellsThatFit(columns, widths);
  const place: RowPlace = { frame, columns, visible, widths };
  const lines: Line[] = [];
  let group: ListedGroup | null = null;
  for (const { row, cells } of rows) {
    if (row.group !== group)
      lines.push({ text: groupLine(paint, row.group, place, group === null), isSelected: false });
    group = row.group;
    const isSelected = row.session.session === selected;
    const dims = group === 'IDLE' || group === 'ENDED';
    const style = (text: string): string => (isSelected ? inverse(paint, text) : dims ? paint.dim(text) : text);
    lines.push(...rowLines(row, cells, place, isSelected).map((text) => ({ text: style(text), isSelected })));
  }
  return lines;
}

/** Leaves out whole columns, so that no number is cut. */
function cellsThatFit(columns: number, widths: Readonly<Record<Cell, number>>): readonly Cell[] {
  const least = columns < CARDS ? columns / 2 : WORDS;
  let visible: readonly Cell[] = CELLS;
  for (const name of ['context', 'turns', 'age'] as const) {
    if (columns - visible.reduce((sum, each) => sum + widths[each], 0) >= least) break;
    visible = visible.filter((each) => each !== name);
  }
  return visible;
}

function headLine(paint: Paint, counts: SessionCounts, rows: readonly GroupedSession[]): string {
  // The server counts without knowing which sessions are silent or failed; the rows know.
  const there = (group: ListedGroup): number => rows.filter((row) => row.depth === 0 && row.group === group).length;
  const isWhole = rows.length === Object.values(counts).reduce<number>((sum, n) => sum + (Number(n) || 0), 0);
  const of = (group: ListedGroup, counted: number): number => (isWhole ? there(group) : counted);
  const needs = of('NEEDS YOU', counts.waiting_approval);
  const parts = [
    [needs, needs === 1 ? 'needs you' : 'need you', paint.yellow],
    [of('STUCK', counts.waiting_worker), isWhole ? 'stuck' : 'without a worker', paint.red],
    [of('FAILED', 0), 'failed', paint.red],
    [of('WORKING', counts.running), 'working', paint.cyan],
    [of('PARKED', counts.parked), 'parked', paint.dim],
    [of('IDLE', counts.idle), 'idle', paint.dim],
    [of('ENDED', counts.closed), 'ended', paint.dim],
  ] as const;
  const visible = parts.filter(([count, words]) => count > 0 || words === 'working');
  return `${paint.bold('Perdure')}  ${visible.map(([count, words, colour]) => colour(`${count} ${words}`)).join(' · ')}`;
}

function groupLine(paint: Paint, group: ListedGroup, { columns, visible, widths }: RowPlace, isFirst: boolean): string {
  if (!isFirst) return groupHeading(paint, group);
  const heads = cellsText(HEADINGS, { visible, widths });
  return `${groupHeading(paint, group)}${paint.dim(heads.padStart(columns - group.length))}`;
}

type CellPlace = { readonly visible: readonly Cell[]; readonly widths: Readonly<Record<Cell, number>> };
type RowPlace = CellPlace & { readonly frame: TopFrame; readonly columns: number };

function cellsText(cells: Readonly<Record<Cell, string>>, { visible, widths }: CellPlace): string {
  return visible.map((name) => cells[name].padStart(widths[name])).join('');
}

function cellsOf(session: SessionInfo, group: ListedGroup, now: number): Readonly<Record<Cell, string>> {
  const { facts, running } = session;
  const share = running ? contextShare(running) : null;
  const cents = facts?.cents;
  const cost = `${isAtLeast(session) ? '≥' : ''}${cents === null ? '?' : formatMoney((cents ?? 0) / 100)}`;
  return {
    age: ageOf(session, group, now),
    turns: String(facts?.turns ?? 0),
    context: share === null ? '' : `${Math.round(share * 100)}%`,
    cost: cost.replace(/^≥\$0$/, '$0'),
  };
}

function rowLines(
  row: GroupedSession,
  cells: Readonly<Record<Cell, string>>,
  { frame, columns, ...place }: RowPlace,
  isSelected: boolean,
): readonly string[] {
  const { session, group } = row;
  const title = titleInTree(row, oneLine(session.title, 200) || session.session);
  const what = oneLine(doesText(session, frame.approvals.get(session.session), group), 200);
  const numbers = cellsText(cells, place);
  const room = columns - numbers.length - 2;
  const mark = isSelected ? '▸' : ' ';
  if (columns < CARDS) {
    const first = `${mark} ${padCell(title, room)}${numbers}`;
    return what === '' ? [first] : [first, `    ${padCell(what, columns - 4)}`];
  }
  const wide = Math.max(16, Math.floor(room * 0.55));
  return [`${mark} ${padCell(title, wide - 1)} ${padCell(what, room - wide)}${numbers}`];
}

function padCell(text: string, width: number): string {
  const cut = truncateToWidth(text, width);
  return cut + ' '.repeat(Math.max(0, width - displayWidth(cut)));
}

function ageOf({ approvals = [], startedAt, running, closedAt }: SessionInfo, group: ListedGroup, now: number): string {
  const times = approvals.map(({ askedAt }) => askedAt ?? now);
  const since =
    group === 'NEEDS YOU' && times.length > 0
      ? Math.min(...times)
      : group === 'WORKING' || group === 'STUCK'
        ? (running?.lastSign ?? startedAt)
        : (closedAt ?? startedAt);
  return now - since < 2_000 ? 'now' : shortAge(now - since).replace(/^(\d+) (\w)\w*$/, '$1$2');
}

function doesText(session: SessionInfo, waiting: readonly WaitingApproval[] = [], group: ListedGroup): string {
  const { approvals = [], running, parkedUntil, last, waitsFor } = session;
  const [first] = waiting;
  const [pending] = approvals;
  if (group === 'NEEDS YOU' && first)
    return `${first.question ? 'asks:' : first.tool} ${callWhat(first.tool, first.input, 80)}`;
  if (group === 'NEEDS YOU' && pending) return pending.question ? 'asks you' : pending.tool;
  if (waitsFor !== undefined) return `waits for host ${waitsFor}`;
  if (session.phase === 'waiting_worker') return `no worker: ${session.taskQueue}`;
  if (session.atBudget) return 'at its budget';
  if (group === 'PARKED') return parkedUntil === undefined ? 'parked' : `resumes at ${formatClock(parkedUntil)}`;
  if (running && (group === 'WORKING' || group === 'STUCK')) return nowText(running, 80) || 'works';
  if (group === 'WORKING') return 'works';
  return last ? endWords(last.terminal) : '';
}

/** The time of day by the terminal's clock. */
function formatClock(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}
