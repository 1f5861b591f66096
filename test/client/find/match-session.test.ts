import { expect, test } from 'vitest';
import { compileFilter } from '../../../client/sessions/find/compile-filter.ts';
import { matchesFilter, sortSessions } from '../../../client/sessions/find/match-session.ts';
import { parseFilter } from '../../../client/sessions/find/parse-filter.ts';
import type { RunningState } from '../../../client/sessions/running/running-row.ts';
import { isAtLeast, isSilentSession, withRunning } from '../../../client/sessions/running/with-running.ts';
import type { SessionInfo } from '../../../client/sessions/info.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';

const NOW = Date.UTC(2026, 10, 24);
const MINUTE = 60_000;

const session: SessionInfo = {
  session: 's-1' as SessionId,
  status: 'open',
  phase: 'waiting_approval',
  head: null,
  cwd: '/work/shop',
  title: 'Fix the lamp shop',
  runs: 2,
  last: {
    run: 1,
    terminal: { reason: 'model_error', detail: 'Overloaded' },
    turns: 3,
    iterations: 3,
    head: null,
    messages: [],
  },
  startedAt: NOW - 90 * MINUTE,
  closedAt: null,
  configuration: null,
  taskQueue: 'perdure',
  facts: {
    model: 'claude-sonnet-5',
    turns: 7,
    tokens: 120_000,
    cents: 150,
    waitingSince: NOW - 20 * MINUTE,
    tags: { team: 'web', ticket: '41' },
  },
};
const row: RunningState = {
  session: session.session,
  at: NOW,
  doing: [],
  turns: 9,
  tokens: 900,
  cents: 12.5,
  isLeast: false,
  model: 'claude-a',
  context: null,
  lastSign: NOW,
  lastHour: [],
};
const old: SessionInfo = { ...session, session: 's-0' as SessionId, phase: 'idle', last: null };
const { facts: _, ...bare } = old;

const fits = (query: string, which: SessionInfo = session) => matchesFilter(parseFilter(query), which, NOW);

test.each([
  'phase:waiting cost>1 model:sonnet tag:team=web "lamp"',
  'model:SONNET',
  'model=claude-sonnet-5',
  'tag:team,nobody',
  'error:overloaded',
  'reason:model_error,timeout',
  'waiting>10m -waiting>1h',
  'age>1h age<2h',
  'folder:/work id=s-1 title:shop runs>=2 tokens>100k turns<=7 cost=1.5',
  '-phase:closed status:open',
  'ticket=41'.replace('=', '" "').replace(/^/, '"').replace(/$/, '"'),
])('%s means the session (O3)', (query) => {
  expect(fits(query)).toBe(true);
});

test.each(['phase:idle', 'cost>1.5', 'model=sonnet', 'tag:team=we', '"lamps"', '-tag:team', 'waiting>1h', 'agent:x'])(
  '%s does not mean the session (O3)',
  (query) => {
    expect(fits(query)).toBe(false);
  },
);

test('what lists call failed is found by that word, and so is what a failure ended (O3)', () => {
  const rests = { ...session, phase: 'idle' } as const;
  const stopped = { ...rests, last: { ...rests.last, terminal: { reason: 'aborted_tools' } } } as SessionInfo;
  const killed = { ...bare, status: 'terminated', phase: 'closed' } as const;
  for (const query of ['failed', 'phase:failed', 'phase:failed,running', 'failed lamp'])
    expect([fits(query, rests), fits(query, stopped), fits(query)]).toEqual([true, false, false]);
  expect([fits('failed', killed), fits('-failed', killed), fits('-failed', rests), fits('-failed')]).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

test('a value that is not known fits no comparison, and any with a minus before it (O3)', () => {
  expect(fits('cost>0', bare)).toBe(false);
  expect(fits('-cost>0', bare)).toBe(true);
  expect(fits('reason:completed', bare)).toBe(false);
});

test('only a run that should go on by itself is idle, and one that was not looked at fits no span (F8)', () => {
  const running = { ...row, lastSign: NOW - 6 * 60_000 };
  const silent = { ...session, phase: 'running', running } as const;
  expect(fits('idle>5m', silent)).toBe(true);
  expect(fits('idle>7m', silent)).toBe(false);
  expect(fits('idle>5m', { ...silent, phase: 'waiting_approval' })).toBe(false);
  const unlooked = { ...session, phase: 'running' } as const;
  expect(fits('idle>5m', unlooked)).toBe(false);
  expect([isSilentSession(silent, NOW), isSilentSession(unlooked, NOW)]).toEqual([true, false]);
});

test('a row replaces the numbers of a list, which are marked where they are less than what was spent (F7)', () => {
  const listed = { ...session, phase: 'running', facts: { turns: 1, tokens: 5, cents: 0 } } as const;
  expect(isAtLeast(listed)).toBe(true);
  const shown = withRunning(listed, row);
  expect(shown.facts).toMatchObject({ turns: 9, tokens: 900, cents: 12.5, model: 'claude-a' });
  expect(isAtLeast(shown)).toBe(false);
  expect(isAtLeast(withRunning(listed, { ...row, isLeast: true }))).toBe(true);
  expect(isAtLeast({ ...listed, phase: 'idle' })).toBe(false);
  // Visibility may know of a later moment.
  expect(withRunning({ ...listed, facts: { turns: 10, tokens: 1_000, cents: null } }, row).facts).toMatchObject({
    turns: 10,
    tokens: 1_000,
    cents: null,
  });
});

test('sessions are sorted as asked, those without a value last (O3)', () => {
  const cheap = { ...session, session: 's-2' as SessionId, facts: { turns: 1, tokens: 1, cents: 5 } };
  const order = (query: string) =>
    sortSessions(parseFilter(query), [bare, session, cheap], NOW).map((each) => each.session);
  expect(order('sort:cost')).toEqual(['s-2', 's-1', 's-0']);
  expect(order('sort:-cost')).toEqual(['s-1', 's-2', 's-0']);
  expect(order('')).toEqual(['s-0', 's-1', 's-2']);
});

const OPEN = `ExecutionStatus = 'Running'`;
const SESSIONS = `WorkflowType = 'perdure.agentSession' AND ExecutionStatus != 'ContinuedAsNew'`;

test.each([
  ['', '', true],
  ['cost>1', ` AND (PerdureCents > 100 OR PerdureTurns IS NULL)`, true],
  ['-turns>5', ` AND ((PerdureTurns <= 5) OR PerdureTurns IS NULL)`, true],
  ['phase:closed', ` AND ExecutionStatus != 'Running'`, true],
  ['tag:team=web', ` AND (PerdureTags IN ('team=web') OR PerdureTurns IS NULL)`, true],
  ['tag:team "x"', '', false],
  [
    'failed',
    ` AND (ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut') OR PerdureReason NOT IN ('completed', 'aborted_streaming', 'aborted_tools') OR PerdureTurns IS NULL)`,
    false,
  ],
  ['-failed', '', false],
  // An execution may go on with a session that is older.
  ['age<1h', ` AND StartTime >= '2026-11-23T23:00:00.000Z'`, false],
  ['age<999999999999d', ` AND StartTime >= '1970-01-01T00:00:00.000Z'`, false],
  [`model="it's"`, '', false],
  ['idle>5m', ` AND (${OPEN} AND (PerdurePhase IN ('running') OR PerdurePhase IS NULL))`, false],
  [
    'phase:waiting',
    ` AND (${OPEN} AND (PerdurePhase IN ('waiting_approval') OR PerdureWaitingSince IS NOT NULL OR PerdurePhase IS NULL))`,
    false,
  ],
  ['waiting>999999999999d', ` AND (PerdureWaitingSince <= '1970-01-01T00:00:00.000Z' OR PerdureTurns IS NULL)`, true],
  ['waiting>10m', ` AND (PerdureWaitingSince <= '2026-11-23T23:50:00.000Z' OR PerdureTurns IS NULL)`, true],
])('%s is narrowed by the server as far as it can be (O3)', (query, clause, exact) => {
  expect(compileFilter(parseFilter(query), { attributes: true, now: NOW })).toEqual({
    query: SESSIONS + clause,
    exact,
  });
});

test('without attributes the status, the id and the age alone are asked of the server (O1 O3)', () => {
  const { query } = compileFilter(parseFilter('cost>1 status:open age<1h id=s-1'), { attributes: false, now: NOW });
  expect(query).toBe(
    `${SESSIONS} AND ExecutionStatus IN ('Running') AND StartTime >= '2026-11-23T23:00:00.000Z' AND WorkflowId IN ('s-1')`,
  );
});

test('only sessions in which something waits for a person are read for the inbox, where the server can tell (O4 O13)', () => {
  const open = SESSIONS.replace("ExecutionStatus != 'ContinuedAsNew'", "ExecutionStatus = 'Running'");
  const asked = { open: true, waiting: true, now: NOW };
  const told = ' AND (PerdureWaitingSince IS NOT NULL OR PerdureTurns IS NULL)';
  expect(compileFilter({ terms: [] }, { ...asked, attributes: true }).query).toBe(open + told);
  expect(compileFilter({ terms: [] }, { ...asked, attributes: false }).query).toBe(open);
});
