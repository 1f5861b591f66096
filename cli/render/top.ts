// Formats the screen of `perdure top`: sessions in groups by what they need, the title first. Pure.
import type { Paint } from '../../client/paint.ts';
import { oneLine } from '../../client/paint.ts';
import { nowText } from '../../client/render/now-words.ts';
import { compactInput } from '../../client/render/tool-lines.ts';
import { endWords } from '../../client/render/ending-words.ts';
import { displayWidth, truncateToWidth } from '../../client/render/width.ts';
import type { SessionCounts } from '../../client/sessions/find/count-sessions.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import { contextShare } from '../../client/sessions/running/running-row.ts';
import { isAtLeast, isSilentSession } from '../../client/sessions/running/with-running.ts';
import type { WaitingApproval } from '../../client/sessions/waiting-approval.ts';
import { formatMoney, shortAge } from '../../client/units.ts';

export type TopFrame = {
  readonly counts: SessionCounts;
  readonly sessions: readonly SessionInfo[];
  /** Calls that wait, by their session. */
  readonly approvals: ReadonlyMap<string, readonly WaitingApproval[]>;
  /** Why the last look failed; the rest shows the look before it. */
  readonly trouble: string | null;
  readonly filter: string;
};

export type TopSort = 'age' | 'cost' | 'title';
export const SORTS: readonly TopSort[] = ['age', 'cost', 'title'];

export type TopLook = {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly columns: number;
  /** Absent: all rows, and no keys. */
  readonly rows?: number;
  readonly sort: TopSort;
  /** The session that the keys act on; null without keys. */
  readonly selected: string | null;
  /** A line for the person in the place of the keys. */
  readonly note: string | null;
};

const GROUPS = ['NEEDS YOU', 'STUCK', 'WORKING', 'PARKED', 'IDLE', 'ENDED'] as const;
type Group = (typeof GROUPS)[number];

const COLOURS: Readonly<Record<Group, 'yellow' | 'red' | 'cyan' | 'dim'>> = {
  'NEEDS YOU': 'yellow',
  STUCK: 'red',
  WORKING: 'cyan',
  PARKED: 'dim',
  IDLE: 'dim',
  ENDED: 'dim',
};

/** The keys, and a shorter row of them that fits 80 columns. */
const KEYS_ROWS = [
  '↑↓ move  ↵ follow  l look  a allow  d deny  i interrupt  o open  / filter  s sort  q leave',
  '↑↓ ↵ follow  l look  a allow  d deny  i stop  o open  / filter  s sort  q leave',
] as const;

function groupOf(session: SessionInfo, now: number): Group {
  if (session.status !== 'open') return 'ENDED';
  if (session.phase === 'waiting_approval') return 'NEEDS YOU';
  if (session.phase === 'waiting_worker' || session.waitsFor !== undefined || isSilentSession(session, now))
    return 'STUCK';
  return session.phase === 'running' ? 'WORKING' : session.phase === 'parked' ? 'PARKED' : 'IDLE';
}

/** Returns the sessions in the order of the screen. */
export function orderTop({ sessions }: Pick<TopFrame, 'sessions'>, sort: TopSort, now: number): readonly SessionInfo[] {
  const key = (session: SessionInfo): number | string =>
    sort === 'cost' ? -(session.facts?.cents ?? 0) : sort === 'title' ? session.title.toLowerCase() : 0;
  const rank = (session: SessionInfo): number => GROUPS.indexOf(groupOf(session, now));
  return sessions.toSorted((one, other) => {
    const [first, second] = [key(one), key(other)];
    return rank(one) - rank(other) || (first < second ? -1 : first > second ? 1 : 0);
  });
}

const WIDTHS = { age: 6, turns: 5, context: 5, cost: 8 } as const;
const FIXED = WIDTHS.age + WIDTHS.turns + WIDTHS.context + WIDTHS.cost;
const NARROWEST = 40;

/** Returns at most `rows` lines without line breaks. */
export function topLines(paint: Paint, frame: TopFrame, look: TopLook): readonly string[] {
  const { now, rows = Number.POSITIVE_INFINITY, selected, note } = look;
  const columns = Math.max(NARROWEST, look.columns - 1);
  const { counts, trouble, filter } = frame;
  const head = [
    headLine(paint, counts),
    ...(filter === '' ? [] : [paint.dim(`filter: ${filter}`)]),
    ...(trouble === null ? [] : [paint.yellow(`! ${trouble}`)]),
  ];
  const keys = KEYS_ROWS.find((row) => displayWidth(row) <= columns) ?? KEYS_ROWS[1];
  const foot = selected === null && note === null ? [] : ['', note ?? paint.dim(keys)];
  if (frame.sessions.length === 0)
    return [...head, filter === '' ? 'no sessions yet' : 'no session fits the filter', ...foot].slice(0, rows);
  const lines: { readonly text: string; readonly isSelected: boolean }[] = [];
  let group: Group | null = null;
  for (const session of orderTop(frame, look.sort, now)) {
    const next = groupOf(session, now);
    if (next !== group)
      lines.push({ text: groupLine(paint, next, { columns, isFirst: group === null }), isSelected: false });
    group = next;
    const isSelected = session.session === selected;
    const text = rowText(session, { frame, now, columns, group: next, isSelected });
    lines.push({
      text: isSelected ? inverse(paint, text) : next === 'IDLE' || next === 'ENDED' ? paint.dim(text) : text,
      isSelected,
    });
  }
  const room = Math.max(1, rows - head.length - 1 - foot.length);
  const at = Math.max(
    0,
    lines.findIndex(({ isSelected }) => isSelected),
  );
  const from = Math.max(0, Math.min(at - room + 2, lines.length - room));
  const shown = lines.slice(from, from + room).map(({ text }) => text);
  return [...head, '', ...shown, ...foot].map((line) => truncateToWidth(line, columns));
}

const inverse = (paint: Paint, text: string): string => (paint.on ? `\u001b[7m${text}\u001b[27m` : text);

function headLine(paint: Paint, counts: SessionCounts): string {
  const parts = [
    [counts.waiting_approval, counts.waiting_approval === 1 ? 'needs you' : 'need you', paint.yellow],
    [counts.running, 'working', paint.cyan],
    [counts.waiting_worker, 'without a worker', paint.red],
    [counts.parked, 'parked', paint.dim],
    [counts.idle, 'idle', paint.dim],
    [counts.closed, 'ended', paint.dim],
  ] as const;
  const there = parts.filter(([count, words]) => count > 0 || words === 'working');
  return `${paint.bold('Perdure')}  ${there.map(([count, words, colour]) => colour(`${count} ${words}`)).join(' · ')}`;
}

function groupLine(paint: Paint, group: Group, { columns, isFirst }: { columns: number; isFirst: boolean }): string {
  if (!isFirst) return paint[COLOURS[group]](group);
  const heads = columnsText({ age: 'AGE', turns: 'TURN', context: 'CTX', cost: 'COST' });
  return `${paint[COLOURS[group]](group)}${paint.dim(heads.padStart(columns - group.length))}`;
}

function columnsText(cells: Readonly<Record<keyof typeof WIDTHS, string>>): string {
  return (Object.keys(WIDTHS) as (keyof typeof WIDTHS)[]).map((name) => cells[name].padStart(WIDTHS[name])).join('');
}

type RowPlace = {
  readonly frame: TopFrame;
  readonly now: number;
  readonly columns: number;
  readonly group: Group;
  readonly isSelected: boolean;
};

function rowText(session: SessionInfo, { frame, now, columns, group, isSelected }: RowPlace): string {
  const { facts, running, title } = session;
  const share = running ? contextShare(running) : null;
  const cents = facts?.cents;
  const cells = columnsText({
    age: ageOf(session, group, now),
    turns: String(facts?.turns ?? 0),
    context: share === null ? '' : `${Math.round(share * 100)}%`,
    cost: `${isAtLeast(session) ? '≥' : ''}${cents === null ? '?' : formatMoney((cents ?? 0) / 100)}`.replace(
      /^≥\$0$/,
      '$0',
    ),
  });
  const room = columns - FIXED - 2;
  const wide = Math.max(16, Math.floor(room * 0.55));
  const name = padCell(`${session.facts?.agent ? '└ ' : ''}${oneLine(title, 200) || session.session}`, wide - 1);
  const what = padCell(oneLine(doesText(session, frame.approvals.get(session.session), group), 200), room - wide - 1);
  return `${isSelected ? '▸' : ' '} ${name} ${what} ${cells}`;
}

function padCell(text: string, width: number): string {
  const shown = truncateToWidth(text, width);
  return shown + ' '.repeat(Math.max(0, width - displayWidth(shown)));
}

function ageOf({ approvals = [], startedAt, running, closedAt }: SessionInfo, group: Group, now: number): string {
  const asked = approvals.map(({ askedAt }) => askedAt ?? now);
  const since =
    group === 'NEEDS YOU' && asked.length > 0
      ? Math.min(...asked)
      : group === 'WORKING' || group === 'STUCK'
        ? (running?.lastSign ?? startedAt)
        : (closedAt ?? startedAt);
  return now - since < 2_000 ? 'now' : shortAge(now - since).replace(/^(\d+) (\w)\w*$/, '$1$2');
}

function doesText(session: SessionInfo, waiting: readonly WaitingApproval[] = [], group: Group): string {
  const { approvals = [], running, parkedUntil, last, waitsFor } = session;
  const [first] = waiting;
  const [pending] = approvals;
  if (group === 'NEEDS YOU' && first)
    return first.question ? `asks: ${compactInput(first.input, 80)}` : `${first.tool} ${compactInput(first.input, 80)}`;
  if (group === 'NEEDS YOU' && pending) return pending.question ? 'asks you' : pending.tool;
  if (waitsFor !== undefined) return `waits for host ${waitsFor}`;
  if (session.phase === 'waiting_worker') return `no worker: ${session.taskQueue}`;
  if (group === 'PARKED') return parkedUntil === undefined ? 'parked' : `goes on at ${formatClock(parkedUntil)}`;
  if (running && (group === 'WORKING' || group === 'STUCK')) return nowText(running, 80) || 'works';
  if (group === 'WORKING') return 'works';
  return last ? endWords(last.terminal) : '';
}

/** The time of day by the terminal's clock. */
function formatClock(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}
