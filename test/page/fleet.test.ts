// All sessions, the frame, new tasks, workers and usage, asked as a browser would ask. No port is
// opened.
import { expect, test } from 'vitest';
import { restAfter } from '../../page/fleet/fleet-feed.tsx';
import { fleetAddress, fleetQuery, readFleetView, sortColumnOf, wholeFilter } from '../../page/fleet/fleet-view.ts';
import { countStrayed } from '../../page/frame/health.ts';
import type { RunningState } from '../../client/sessions/running/running-row.ts';
import { byUrgency, groupSessions, treeRows } from '../../page/fleet/urgency.ts';
import { runEnded, runStarted } from '../support/transcript.ts';
import type { FrameState } from '../../page/frame/frame-state.tsx';
import { addToUsage, usageCsv } from '../../page/usage/usage-page.tsx';
import type { OpenedServer } from '../../client/runtime/open-server.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { hashOf } from '../../store/values/store.ts';
import { description } from '../client/support.ts';
import { noSessions, stagedPage } from '../support/page-ports.ts';

const viewOf = (query: string) => readFleetView(new URLSearchParams(query));

test('a view of all sessions is its address, and what goes without saying is not in it (O3 O4)', () => {
  expect(fleetQuery(viewOf(''))).toBe('');
  expect(fleetQuery(viewOf('tab=nowhere&span=1y&flat=2'))).toBe('');
  const view = viewOf('q=cost%3E1&tab=stuck&flat=1&span=7d&after=x');
  expect(viewOf(fleetQuery(view))).toEqual(view);
  expect(wholeFilter(view)).toBe('cost>1 phase:running idle>5m');
  expect(fleetAddress(view, { tab: 'all', flat: false })).toBe('/?q=cost%3E1&span=7d');
  expect(sortColumnOf('"a b" sort:cost tag:x="y z"', '-turns')).toBe('"a b" tag:x="y z" sort:-turns');
});

test('a list is looked at every two seconds, and one that takes long to read takes a quarter of the time at most (O13)', () => {
  expect([0, 500, 4_000].map(restAfter)).toEqual([2_000, 2_000, 12_000]);
});

const agent = (id: string, parent: string): SessionInfo =>
  info(id, { agent: { type: 'explore', parent: parent as SessionId, root: 'a' as SessionId, depth: 1 } });

const info = (id: string, facts: Partial<NonNullable<SessionInfo['facts']>> = {}): SessionInfo =>
  description({ session: id as SessionId, facts: { turns: 1, tokens: 10, cents: 4, ...facts } });

test('agents stand below the session that called them, and a circle of parents ends (O4 L66)', () => {
  const rows = treeRows([
    agent('c', 'b'),
    info('a'),
    agent('b', 'a'),
    agent('x', 'y'),
    agent('p', 'q'),
    agent('q', 'p'),
  ]);
  expect(rows.map(({ session, depth }) => [session.session, depth])).toEqual([
    ['a', 0],
    ['b', 1],
    ['c', 2],
    ['x', 0],
    ['p', 0],
    ['q', 1],
  ]);
});

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 29);
const failedRun = {
  run: 1,
  terminal: { reason: 'model_error', detail: 'x' },
  turns: 1,
  iterations: 1,
  head: null,
  messages: [],
} as const;

test('where nobody has chosen an order the list begins with who needs a person, is stuck, failed today, works (O4)', () => {
  const at = (id: string, hoursAgo: number, more: Partial<SessionInfo>): SessionInfo => ({
    ...info(id),
    startedAt: NOW - hoursAgo * HOUR,
    ...more,
  });
  const running = (lastSign: number) => ({ lastSign, doing: [] }) as unknown as RunningState;
  const sessions = [
    at('idle-new', 1, { phase: 'idle' }),
    at('working', 2, { phase: 'running', running: running(NOW) }),
    at('failed-long-ago', 80, { phase: 'idle', last: failedRun }),
    at('failed', 90, { phase: 'idle', last: failedRun }),
    at('parked', 3, { phase: 'parked' }),
    at('stuck', 9, { phase: 'running', running: running(NOW - HOUR) }),
    at('of-an-agent', 8, { phase: 'running', running: running(NOW) }),
    { ...agent('asks', 'of-an-agent'), phase: 'waiting_approval' as const },
    at('idle-old', 2, { phase: 'idle' }),
  ];
  const ends = new Map([
    ['idle-old', NOW - 1],
    ['idle-new', NOW - HOUR],
    ['failed', NOW - HOUR],
    ['failed-long-ago', NOW - 50 * HOUR],
  ]);
  expect(byUrgency(treeRows(sessions), ends, NOW).map(({ session }) => session.session)).toEqual([
    'of-an-agent',
    'asks',
    'stuck',
    'failed',
    'working',
    'parked',
    'idle-old',
    'idle-new',
    'failed-long-ago',
  ]);
});

test('a finished row says when its run has ended, and those who need a person are on the first page (O4)', async () => {
  const ended = Date.now() - 90_000;
  const entries = [runStarted(1), runEnded(1)].map((entry) =>
    entry.kind === 'run_ended' ? { ...entry, ended: { ...entry.ended, at: ended } } : entry,
  );
  const asked: (string | undefined)[] = [];
  const { text } = await stagedPage({
    entries,
    ports: {
      page: ({ filter } = {}) => {
        asked.push(filter);
        const waiting = { ...info('s-waits'), phase: 'waiting_approval' as const };
        return Promise.resolve({
          sessions: filter === 'phase:waiting_approval' ? [waiting] : [],
          next: filter === '' ? 'more' : null,
        });
      },
    },
  });
  expect(await text('/')).toContain('id="row-s-waits"');
  expect(asked).toContain('phase:waiting_approval');
  const idle = await stagedPage({ entries });
  expect(await idle.text('/')).toMatch(new RegExp(`data-label="Last activity"[^]*?data-at="${ended}"`));
});

test('a fork stands below the session that it comes from, marked as one, and each keeps its own state (O4 T10)', async () => {
  const fork = (id: string, session: string): SessionInfo => ({
    ...info(id),
    phase: 'running',
    forkedFrom: { session: session as SessionId, position: 3 },
  });
  const sessions = [
    fork('f', 'a'),
    { ...agent('g', 'f'), title: 'of the fork' },
    info('a'),
    agent('b', 'a'),
    fork('o', 'gone'),
  ];
  expect(treeRows(sessions).map(({ session, depth, below }) => [session.session, depth, below.length])).toEqual([
    ['a', 0, 1],
    ['f', 1, 1],
    ['g', 2, 0],
    ['b', 1, 0],
    ['o', 0, 0],
  ]);
  const { text } = await stagedPage({ ports: { page: () => Promise.resolve({ sessions, next: null }) } });
  const page = await text('/');
  expect(page.indexOf('id="row-a"')).toBeLessThan(page.indexOf('id="row-f"'));
  expect(page).toContain('<a href="/sessions/a">fork</a> · ');
  expect(page).toContain('<a href="/sessions/gone">fork</a> · ');
  expect((await text('/?flat=1')).indexOf('id="row-f"')).toBeLessThan((await text('/?flat=1')).indexOf('id="row-a"'));
});

test('rows stand together by what a person asks for, in the order of the list (O4)', () => {
  const sessions = [
    info('a', { tags: { team: 'web' } }),
    info('daily-20261128T060000Z', { tags: { schedule: 'daily' } }),
    agent('b', 'a'),
    info('c', { tags: { team: 'web' } }),
  ];
  const groups = (by: Parameters<typeof groupSessions>[1]) =>
    groupSessions(sessions, by).map(({ name, rows }) => [name, rows.map(({ session }) => session.session[0]).join('')]);
  expect(groups('tag')).toEqual([
    ['team=web', 'ac'],
    ['schedule=daily', 'd'],
    ['no tag', 'b'],
  ]);
  expect(groups('agent')).toEqual([
    ['no agent', 'adc'],
    ['explore', 'b'],
  ]);
  expect(groups('schedule')).toEqual([
    ['no schedule', 'abc'],
    ['daily', 'd'],
  ]);
  expect(groups('parent')).toEqual([
    ['no parent', 'adc'],
    ['a', 'b'],
  ]);
});

test('a list of which only a part was searched or counted says so, and what makes it whole (O3 O4)', async () => {
  const cut = 'only the newest 10,000 sessions were sorted: narrow the filter';
  const part = { page: () => Promise.resolve({ sessions: [info('a')], next: 'more', note: cut }) };
  const { text } = await stagedPage({ ports: part });
  const shown = await text('/?q=lamp');
  expect(shown).toMatch(
    /id="notes" role="status"><small>only the newest 10,000 sessions were sorted: narrow the filter; the newest sessions were searched so far, [^<]*or go on to older ones<\/small>/,
  );
  const whole = await stagedPage();
  expect(await whole.text('/')).toContain('<div id="notes" hidden');
});

test('kept views have their counts, and an address that is none has no count (O4)', async () => {
  const asked: (string | undefined)[] = [];
  const counts = ({ filter }: { readonly filter?: string } = {}) => {
    asked.push(filter);
    return Promise.resolve({ ...noSessions, idle: 3, closed: 1 });
  };
  const { text } = await stagedPage({ ports: { counts } });
  const query = ['/?tab=stuck', '/?q=fase%3Arunning', '/workers']
    .map((one) => `at=${encodeURIComponent(one)}`)
    .join('&');
  expect(JSON.parse(await text(`/views?${query}`))).toEqual([4, null, null]);
  expect(asked).toEqual(['phase:running idle>5m']);
});

test('usage counts what an agent took once, and its table runs no formula (O4)', () => {
  const {
    total,
    agent: types,
    tag,
  } = addToUsage([info('a', { cents: 10, tokens: 100, tags: { team: '=HYPERLINK("x")' } }), agent('b', 'a')]);
  expect(total).toMatchObject({ sessions: 2, tokens: 100, cents: 10 });
  expect(types).toMatchObject([
    { name: '(no agent)', cents: 6, tokens: 90 },
    { name: 'explore', cents: 4, tokens: 10 },
  ]);
  const row = { name: '=1+1', sessions: 1, turns: 1, tokens: 1, cents: 100 };
  expect(usageCsv({ total, day: [], model: [row], agent: [], tag, cut: false }).split('\r\n')[1]).toBe(
    "model,'=1+1,1,1,1,1.0000",
  );
});

const none = { confined: 0, refused: 0, unconfined: 0 };

test('the frame says how commands run, and where they are refused (O10)', async () => {
  const snapshots = { bytes: 0, diskBytes: 1_000, isFull: false };
  const look = async (commands: typeof none) => {
    const health = { server: { ms: 4 }, store: { ms: 4 }, workers: 2, commands, snapshots };
    const { ask } = await stagedPage({ ports: { health: () => Promise.resolve(health) } });
    return (await (await ask('/frame')).json()) as FrameState;
  };
  const text = 'server 4 ms · 2 workers · store 4 ms';
  const unknown = await look(none);
  expect([unknown.health.text, unknown.alarms]).toEqual([text, '']);
  const allowed = await look({ confined: 1, refused: 0, unconfined: 1 });
  expect([allowed.health.text, allowed.alarms]).toEqual([`${text} · commands confined, unconfined`, '']);
  const refused = await look({ ...none, refused: 1 });
  expect(refused.health.text).toBe(`${text} · commands refused`);
  expect(refused.alarms).toContain('1 worker can’t run commands.');
});

test('the frame says what waits, how the parts are, and that no worker polls (O10)', async () => {
  const snapshots = { bytes: 0, diskBytes: 1_000, isFull: false };
  const health = { server: { ms: 4 }, store: { problem: 'it is gone' }, workers: 0, commands: none, snapshots };
  const { ask } = await stagedPage({
    seen: { phase: 'waiting_worker' },
    ports: { health: () => Promise.resolve(health) },
  });
  const frame = (await (await ask('/frame')).json()) as FrameState;
  expect(frame.counts).toEqual({ inbox: 0, sessions: 1, schedules: 0, workers: 0 });
  expect(frame.health).toEqual({ state: 'fail', text: 'server 4 ms · no worker · store not responding' });
  for (const part of ['No worker is running.', '1 session is paused', 'The store can’t be read.', 'it is gone'])
    expect(frame.alarms).toContain(part);
});

test('a banner counts the open sessions whose store was emptied or replaced, on a server of our own alone (O10)', async () => {
  const sessions = [{ ...info('a'), store: 'before' }, { ...info('b'), store: 'now' }, info('c')];
  const asked: unknown[] = [];
  const page = (which: unknown) => (asked.push(which), Promise.resolve({ sessions, next: null }));
  const opened = { embedded: {}, sessions: { page }, storeId: () => Promise.resolve('now') } as unknown as OpenedServer;
  expect(await countStrayed(opened)).toBe(1);
  expect(await countStrayed({ ...opened, embedded: null })).toBe(0);
  expect(asked).toEqual([{ filter: 'status:open', size: 1_000 }]);
  const alarms = async (strayed: number): Promise<string> => {
    const { ask } = await stagedPage({ ports: { strayedCount: () => Promise.resolve(strayed) } });
    return ((await (await ask('/frame')).json()) as FrameState).alarms;
  };
  expect(await alarms(2)).toContain('Transcripts of 2 open sessions are missing.');
  expect(await alarms(0)).toBe('');
});

test('a new task starts with its limits and tags, and a tag that is none is refused in a sentence (O8)', async () => {
  const started: unknown[] = [];
  const { post } = await stagedPage({
    ports: {
      start: (...given) => {
        started.push(given);
        return Promise.resolve({ session: 's-9' as SessionId, messageId: 'm' as never });
      },
    },
  });
  const form = {
    task: 'Fix it.',
    cwd: '/w',
    model: '',
    permissionMode: 'plan',
    maxBudgetUsd: '2',
    maxTurns: '',
    tags: 'team=web',
  };
  const answer = await post('/tasks', form);
  expect([answer.status, answer.headers.get('hx-redirect')]).toEqual([200, '/sessions/s-9']);
  expect(started).toEqual([
    ['Fix it.', { cwd: '/w', permissionMode: 'plan', maxBudgetUsd: 2, tags: { team: 'web' }, querySource: 'page' }],
  ]);
  const refused = await post('/tasks', { ...form, tags: 'web' });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('write name=value')]);
});

test('a filter that finds nothing says which state it may have meant (O3 O4)', async () => {
  const { text } = await stagedPage({ ports: { page: () => Promise.resolve({ sessions: [], next: null }) } });
  expect(await text('/?q=faild')).toContain('Did you mean <code>failed</code>?');
  expect(await text('/?q=report')).not.toContain('Did you mean');
});

test('many sessions are reached by a filter, and no more than the person was asked about (O4)', async () => {
  const two = [info('s-1'), info('s-2')];
  const { post, done } = await stagedPage({ ports: { page: () => Promise.resolve({ sessions: two, next: null }) } });
  const by = (count: number) => post('/bulk', { action: 'interrupt', filter: 'phase:running', count });
  expect(await (await by(1)).text()).toBe('more than the 1 you were asked about match now: nothing was done');
  expect(done).toEqual([]);
  expect(await (await by(2)).text()).toBe('Asked 2 sessions to interrupt.');
  expect(done).toEqual(['interrupt', 'interrupt']);
  const ended = await post('/bulk', { action: 'cancel', sessions: ['s-1'] });
  expect([await ended.text(), done.at(-1)]).toEqual(['Asked 1 session to end.', 'cancel']);
});

test('a worker stands with its version and its slots where the server keeps heartbeats (O4 O10)', async () => {
  const beat = {
    identity: '1@host',
    version: '0.1.0',
    commands: 'refused',
    deployment: 'agents:7',
    at: 0,
    isLive: true,
    endedAt: null,
  } as const;
  const beats = [
    { ...beat, queue: 'perdure', slots: { used: 3, most: 100 } },
    { ...beat, queue: 'perdure-records', slots: null },
    { ...beat, queue: 'perdure.gone', slots: null, isLive: false },
  ];
  const workers = await (await stagedPage({ ports: { beats: () => Promise.resolve(beats) } })).text('/workers');
  expect(workers).toContain(
    '<td>0.1.0<small>deployment agents:7</small><small>commands refused</small></td><td><small>perdure · 3 of 100 in use</small><small>perdure-records</small></td>',
  );
  expect(workers).not.toContain('doesn’t store worker heartbeats');
});

test('workers stand with their queues, usage with its groups, and both are pages of the frame (O4)', async () => {
  const { text } = await stagedPage();
  const workers = await text('/workers');
  for (const part of ['1@host', 'any worker', 'aria-current="page" title="Workers"']) expect(workers).toContain(part);
  expect(workers).toContain('This server doesn’t store worker heartbeats');
  const usage = await text('/usage?days=30');
  for (const part of ['By day', 'By model', 'By agent type', 'By tag', '/usage.csv?days=30'])
    expect(usage).toContain(part);
});

test('money has two decimals from a cent on, and numbers are parted alike in every table (O4)', async () => {
  const taken = [info('a', { cents: 0.66, tokens: 1_656 }), info('b', { cents: 4_457.3, tokens: 133_900_000 })];
  const { text } = await stagedPage({ ports: { page: () => Promise.resolve({ sessions: taken, next: null }) } });
  const usage = await text('/usage?days=30');
  expect(usage).toContain('$44.58');
  expect(usage).not.toMatch(/\$\d+\.\d{3}/);
});

test('under a filter the cards and what waits are of the sessions that it leaves; sums say that they are of all (O4)', async () => {
  const approval = {
    call: '1.1.0',
    tool: 'bash',
    reason: 'it changes things',
    inputHash: 'h',
    head: hashOf(Buffer.from('x')),
    index: 0,
    deadline: 1,
    session: 's-1' as SessionId,
    input: { command: 'make' },
  };
  const { text } = await stagedPage({
    ports: {
      inbox: () => Promise.resolve([approval]),
      counts: (asked) => Promise.resolve({ ...noSessions, running: (asked?.filter ?? '') === '' ? 9 : 2 }),
      page: () => Promise.resolve({ sessions: [], next: null }),
    },
  });
  const cardsOf = async (path: string): Promise<string> =>
    ((await text(path)).split('id="cards"')[1] ?? '')
      .split('class="fleet-bar"')[0]
      ?.replaceAll(/<svg.*?<\/svg>|<[^>]+>/gs, ' ')
      .replaceAll(/\s+/g, ' ') ?? '';
  expect(await cardsOf('/?q=tag:x')).toMatch(/Working 2 of 2 .*Needs you 0 .*24 h · all sessions/);
  const all = await cardsOf('/');
  expect(all).toMatch(/Needs you 1 .*1 needs you/);
  expect(all).not.toContain('all sessions');
});
