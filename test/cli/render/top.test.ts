// The screen of `perdure top`.
import { expect, test } from 'vitest';
import { createPaint } from '../../../client/paint.ts';
import { orderInGroups } from '../../../cli/render/session-groups.ts';
import { listText } from '../../../cli/commands/list.ts';
import { firstOfTop, type TopFrame, type TopLook, topLines } from '../../../cli/render/top.ts';
import type { WaitingApproval } from '../../../client/sessions/waiting-approval.ts';
import type { SessionDescription } from '../../../client/sessions/info.ts';
import { displayWidth } from '../../../client/render/width.ts';
import { description } from '../../client/support.ts';

const none = { running: 0, waiting_worker: 0, waiting_approval: 0, parked: 0, idle: 0, closed: 0 };
const frame: TopFrame = { counts: none, sessions: [], approvals: new Map(), trouble: null, filter: '' };
const now = Date.UTC(2026, 0, 2);
const look: TopLook = { now, columns: 80, sort: 'age', selected: null, note: null };
const lines = (changes: Partial<TopFrame>, more: Partial<TopLook> = {}) =>
  topLines(createPaint(false), { ...frame, ...changes }, { ...look, ...more });
const one = (session: string, changes: Partial<SessionDescription>): SessionDescription =>
  description({
    session: session as SessionDescription['session'],
    title: session,
    startedAt: now - 60_000,
    ...changes,
  });

const facts = { turns: 7, tokens: 10, cents: 412 };
const sessions = [
  one('s-idle', { phase: 'idle' }),
  one('s-works', { phase: 'running', facts }),
  one('s-asks', { phase: 'waiting_approval', facts }),
  one('s-parked', { phase: 'parked', parkedUntil: now + 60_000 }),
];

test('sessions stand in groups, what needs a person first, with turns and cost within 80 columns (F21)', () => {
  const input = { command: 'make deploy' };
  const asked = [{ tool: 'bash', input, call: '1.1.0', session: 's-asks' } as unknown as WaitingApproval];
  const shown = lines({ sessions, approvals: new Map([['s-asks', asked]]), counts: { ...none, waiting_approval: 1 } });
  expect(shown[0]).toBe('Perdure  1 needs you · 0 working');
  expect(shown.slice(2).map((line) => line.trim().split(/\s+/)[0])).toEqual([
    'NEEDS',
    's-asks',
    'WORKING',
    's-works',
    'PARKED',
    's-parked',
    'IDLE',
    's-idle',
  ]);
  expect(shown[3]).toMatch(/^ {2}s-asks +bash make deploy .* 7 +≥\$4\.12$/);
  expect(shown.find((line) => line.includes('s-parked'))).toContain('resumes at ');
  expect(shown.every((line) => displayWidth(line) < 80)).toBe(true);
});

test('the selected row is marked and stays in view, and the keys are in the last row (O19)', () => {
  const many = Array.from({ length: 50 }, (_, at) => one(`s-${at}`, { phase: 'idle' }));
  const shown = lines({ sessions: many }, { rows: 12, selected: 's-40' });
  expect(shown).toHaveLength(12);
  expect(shown.filter((line) => line.startsWith('▸'))).toEqual([expect.stringContaining('s-40')]);
  expect(shown.at(-1)).toMatch(/a allow {2}d deny .* s sort {2}q leave$/);
  expect(lines({ sessions: many }, { rows: 12, selected: 's-40', note: 'allowed' }).at(-1)).toBe('allowed');
});

test('within a group the most expensive come first where they are sorted by cost (O19)', () => {
  const two = [
    one('s-cheap', { phase: 'running', facts }),
    one('s-dear', { phase: 'running', facts: { ...facts, cents: 900 } }),
  ];
  const names = (sort: TopLook['sort']) => orderInGroups(two, sort, now).map(({ session }) => session.session);
  expect(names('age')).toEqual(['s-cheap', 's-dear']);
  expect(names('cost')).toEqual(['s-dear', 's-cheap']);
});

test('a server that does not answer is said above what was seen last, and so is the filter (O19)', () => {
  const shown = lines({ filter: 'phase:parked', trouble: 'the server is away', sessions });
  expect(shown.slice(1, 3)).toEqual(['filter: phase:parked', '! the server is away']);
  expect(lines({}).slice(1)).toEqual(['No sessions yet']);
  expect(lines({ filter: 'x' }).at(-1)).toBe('No sessions match this filter');
});

const bad = { run: 1, terminal: { reason: 'model_error', detail: 'x' } } as unknown as SessionDescription['last'];
type Id = SessionDescription['session'];
const agentOf = (parent: string) => ({
  ...facts,
  agent: { type: 'general', parent: parent as Id, root: parent as Id, depth: 1 },
});
const family = [
  one('s-agent', { phase: 'waiting_approval', facts: agentOf('s-calls') }),
  one('s-other', { phase: 'running', facts }),
  one('s-calls', { phase: 'running', facts }),
  one('s-done', { phase: 'closed', status: 'completed', last: bad, facts: agentOf('s-calls') }),
  one('s-lost', { phase: 'running', facts: agentOf('s-gone') }),
  one('s-bad', { phase: 'idle', last: bad, facts }),
];

test('agents stand below their caller, in the group of the most urgent of them, and keys begin at what waits (O19)', () => {
  const shown = lines({ sessions: family }, { columns: 120 }).slice(2);
  expect(shown.map((line) => line.trim().split(/ {2,}/)[0])).toEqual([
    'NEEDS YOU',
    's-calls',
    '└ s-agent',
    '└ s-done',
    'FAILED',
    's-bad',
    'WORKING',
    's-other',
    'agent of s-gone: s-lost',
  ]);
  const rows = orderInGroups(family, 'age', now);
  expect(firstOfTop(rows, now)?.session.session).toBe('s-agent');
});

test('a list on a terminal stands in the same groups; piped, or sorted by a filter, it has none (O19)', () => {
  const list = (columns: number | null, filter = '', shown = family) =>
    listText(
      createPaint(false, () => columns),
      filter,
      shown,
      now,
    )
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split('  ')[0]);
  const grouped = 'NEEDS YOU s-calls s-agent s-done FAILED s-bad WORKING s-other s-lost';
  expect(list(80).join(' ')).toBe(grouped);
  expect(list(null).join(' ')).toBe('s-calls s-agent s-done s-other s-lost s-bad');
  expect(list(80, 'sort:cost')).toEqual(family.map(({ session }) => session));
  expect(list(80, 'failed', family.slice(-1))).toEqual(['s-bad']);
});

test('the head counts what the groups show (O19)', () => {
  const counts = { ...none, waiting_approval: 1, running: 3, idle: 1, closed: 1 };
  expect(lines({ sessions: family, counts })[0]).toBe('Perdure  1 needs you · 1 failed · 2 working');
});

test('parents in a circle, which a foreign client may name, stand once each', () => {
  const circle = [one('s-a', { facts: agentOf('s-b') }), one('s-b', { facts: agentOf('s-a') })];
  expect(
    orderInGroups(circle, 'age', now)
      .map(({ session }) => session.session)
      .toSorted(),
  ).toEqual(['s-a', 's-b']);
});

test.each([120, 80, 60, 50, 40, 30])('on %d columns no number and no key is cut (O19)', (columns) => {
  const dear = [
    one('s-dear', { title: 'A title '.repeat(20), phase: 'running', facts: { ...facts, cents: 123_456_78 } }),
  ];
  const shown = lines({ sessions: dear }, { columns, selected: 's-dear' });
  expect(shown.every((line) => displayWidth(line) < columns)).toBe(true);
  expect(shown.find((line) => line.startsWith('▸'))).toContain('≥$123456.78');
  const keys = shown.at(-1)?.split('  ') ?? [];
  expect(keys).toEqual(expect.arrayContaining(['a allow', 'd deny']));
  expect(keys.every((key) => /^\S+ [a-z]+$/.test(key))).toBe(true);
});
