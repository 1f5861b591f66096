// How the fleet stood over time: from the looks of a process, and from a Prometheus.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { fleetHistorian } from '../../../page/fleet/fleet-history.ts';
import { readPrometheusAddress } from '../../../page/fleet/prometheus-range.ts';
import type { SessionActivity, RunningState } from '../../../client/sessions/running/running-row.ts';
import type { RunSummary } from '../../../workflows/contract/session.ts';
import { FleetCards, plotsOf } from '../../../page/fleet/fleet-cards.tsx';
import { htmlOf } from '../../../page/layout.tsx';
import { addToUsage } from '../../../page/usage/usage-page.tsx';
import type { SessionDescription } from '../../../client/sessions/info.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { description } from '../../client/support.ts';

/** There are too many sessions to add up. */
const unknown = (): Promise<null> => Promise.resolve(null);
const MINUTE = 60_000;
const START = Date.UTC(2026, 10, 24);
const counts = { running: 2, waiting_worker: 1, waiting_approval: 1 };
const session = (cents: number, tokens: number, last: RunSummary | null = null) =>
  description({ facts: { turns: 1, tokens, cents, model: 'claude-a' }, last });
const badEnd: RunSummary = {
  run: 1,
  terminal: { reason: 'model_error', detail: 'x' },
  turns: 1,
  iterations: 1,
  head: null,
  messages: [],
};

test('a process knows what was spent and what failed since its first look, and nothing from before (O4)', async () => {
  let now = START;
  const { note, read } = fleetHistorian(
    { count: () => Promise.resolve(3), prometheus: null, startedSince: unknown },
    () => now,
  );
  expect((await read('1h')).since).toBeNull();
  note({ at: now, counts, sessions: [session(500, 1_000)] });
  now += MINUTE;
  note({ at: now, counts: { ...counts, running: 5 }, sessions: [session(650, 4_000, badEnd)] });
  note({ at: now, counts, sessions: [session(700, 5_000, badEnd)] });
  const { points, closed, source, since } = await read('1h');
  expect([points.length, closed.length, source, since]).toEqual([60, 60, 'here', START]);
  expect(points.at(-3)).toMatchObject({ working: null, cost: null, tokens: null });
  expect(points.at(-2)).toMatchObject({ working: 3, waiting: 1, cost: {}, tokens: { all: 0 }, badRuns: 0 });
  expect(points.at(-1)).toMatchObject({ working: 6, cost: { 'claude-a': 2 }, tokens: { all: 4_000 }, badRuns: 1 });
  const day = await read('24h');
  expect(day.points.at(-1)).toMatchObject({ at: START, working: 6, cost: { 'claude-a': 2 }, badRuns: 1 });
});

test('what was spent and what failed in a span is that of the sessions that began in it, whoever looked (O4)', async () => {
  const started = (name: string, ago: number, facts: object, more: Partial<SessionDescription> = {}) => ({
    ...description({ facts: { turns: 1, tokens: 100, cents: 500, model: 'claude-a', ...facts }, ...more }),
    session: name as SessionId,
    startedAt: START - ago,
  });
  const sessions = [
    started('s-1', 60 * MINUTE, {}, { last: badEnd, phase: 'closed' }),
    // Its caller has what it took in its own numbers.
    started('s-2', MINUTE, { agent: { parent: 's-1', type: 'x' }, cents: 200, tokens: 40, model: 'claude-b' }),
    // Asked to go on, it has not failed.
    started('s-3', MINUTE, { cents: 100, tokens: 1 }, { last: badEnd, phase: 'running' }),
  ];
  const asked: number[] = [];
  const startedSince = (hours: number) => Promise.resolve((asked.push(hours), sessions));
  const history = await fleetHistorian(
    { count: () => Promise.resolve(0), prometheus: null, startedSince },
    () => START,
  ).read('24h');
  const plots = plotsOf(history);
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  expect([sum(plots.cents), sum(plots.tokens), sum(plots.failed), plots.spentSince]).toEqual([600, 101, 1, null]);
  expect(history.points.at(-2)).toMatchObject({ cost: { 'claude-a': 1, 'claude-b': 2 } });
  expect(asked).toEqual([24]);
  const { total } = addToUsage(sessions);
  expect([total.cents, total.tokens]).toEqual([600, 101]);
  const cards = htmlOf(FleetCards({ working: 1, of: 1, waiting: [], plots, span: '24h', isFiltered: false }));
  for (const part of ['$6.00', '24 h', 'as on the Usage page']) expect(cards).toContain(part);
});

test('where the sums are not known, the cards say since when they count (O4)', async () => {
  const { note, read } = fleetHistorian(
    { count: () => Promise.resolve(0), prometheus: null, startedSince: unknown },
    () => START,
  );
  note({ at: START - MINUTE, counts, sessions: [] });
  const cards = htmlOf(
    FleetCards({
      working: 1,
      of: 1,
      waiting: [],
      plots: plotsOf(await read('24h')),
      span: '24h',
      isFiltered: false,
    }),
  );
  expect(cards.replaceAll(/<[^>]+>/g, '')).toContain('since 2026-11-23 23:59');
  expect(cards).not.toContain('as on the Usage page');
});

test('requests that failed are counted once, however often a look sees them (O4)', async () => {
  const doing = (attempt: number, since: number): SessionActivity => ({
    kind: 'model',
    step: 'callModel',
    since,
    attempt,
    failure: '529',
    isTaken: true,
    worker: null,
    call: null,
    agents: 0,
  });
  const asking = (attempt: number, since: number) => ({
    ...session(1, 1),
    running: { doing: [doing(attempt, since)] } as unknown as RunningState,
  });
  const { note, read } = fleetHistorian(
    { count: () => Promise.resolve(0), prometheus: null, startedSince: unknown },
    () => START,
  );
  for (const [attempt, since] of [
    [1, 1],
    [3, 1],
    [3, 1],
    [2, 9],
  ] as const)
    note({ at: START, counts, sessions: [asking(attempt, since)] });
  // A look that does not reach the run, and one after it.
  for (const found of [session(1, 1), asking(2, 10)]) note({ at: START, counts, sessions: [found] });
  expect((await read('1h')).points.at(-1)?.failedCalls).toBe(3);
});

test('what a session had before it was first seen counts where it began since the first look (O4)', async () => {
  const { note, read } = fleetHistorian(
    { count: () => Promise.resolve(0), prometheus: null, startedSince: unknown },
    () => START,
  );
  const old = session(900, 900, badEnd);
  const fresh = { ...old, session: 's-new' as SessionId, startedAt: START };
  const fork = { ...fresh, session: 's-fork' as SessionId, forkedFrom: { session: old.session, position: 1 } };
  note({ at: START, counts, sessions: [old] });
  for (let look = 0; look < 2; look += 1) note({ at: START, counts, sessions: [old, fresh, fork] });
  const point = { cost: { 'claude-a': 9 }, tokens: { all: 900 }, badRuns: 1, failedCalls: 1 };
  expect((await read('1h')).points.at(-1)).toMatchObject(point);
});

test('failed calls, which a page alone sees, stand with the time since when it looks (O4)', async () => {
  const { note, read } = fleetHistorian(
    { count: () => Promise.resolve(0), prometheus: null, startedSince: () => Promise.resolve([]) },
    () => START,
  );
  note({ at: START - MINUTE, counts, sessions: [] });
  const plots = plotsOf(await read('24h'));
  const cards = htmlOf(FleetCards({ working: 1, of: 1, waiting: [], plots, span: '24h', isFiltered: false }));
  expect(cards.replaceAll(/<[^>]+>/g, '')).toContain('0 failed model calls since 2026-11-23 23:59');
});

test('a rate of spending that money shows as nothing is left out (O4)', async () => {
  const { read } = fleetHistorian(
    { count: () => Promise.resolve(0), prometheus: null, startedSince: unknown },
    () => START,
  );
  const plots = plotsOf(await read('1h'));
  const cards = (rate: number): string =>
    htmlOf(FleetCards({ working: 1, of: 1, waiting: [], plots: { ...plots, rate }, span: '1h', isFiltered: false }));
  expect(cards(0.004)).not.toContain('/min');
  expect(cards(0.5)).toContain('$0.0050/min');
});

test('stretches that are over are counted once by visibility, and one that cannot be counted is unknown (O4)', async () => {
  let asked = 0;
  let fails = false;
  const count = (): Promise<number> => {
    asked += 1;
    return fails ? Promise.reject(new Error('away')) : Promise.resolve(1);
  };
  const { read } = fleetHistorian({ count, prometheus: null, startedSince: unknown }, () => START);
  await read('24h');
  const first = asked;
  fails = true;
  const { closed } = await read('24h');
  expect(asked - first).toBeLessThan(4);
  expect([closed[0], closed.at(-1)]).toEqual([1, null]);
});

test('a Prometheus tells the range, and one that does not answer is said and done without (O4)', async () => {
  const asked: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    const search = new URL(request.url ?? '', 'http://x').searchParams;
    asked.push(search);
    const metric = { gen_ai_request_model: 'claude-a', gen_ai_token_type: 'input' };
    response.end(JSON.stringify({ data: { result: [{ metric, values: [[Number(search.get('end')), '7']] }] } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const prometheus = readPrometheusAddress(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const { read } = fleetHistorian({ count: () => Promise.resolve(0), prometheus, startedSince: unknown }, () => START);
  const { points, source } = await read('7d');
  expect(source).toBe('prometheus');
  expect(points[0]).toMatchObject({ working: null, cost: null });
  const known = { working: 7, waiting: 7, cost: { 'claude-a': 7 }, tokens: { input: 7 }, badRuns: 7, failedCalls: 7 };
  expect(points.at(-1)).toMatchObject(known);
  expect(asked.map((search) => search.get('step'))).toEqual(Array.from({ length: 6 }, () => '10800'));
  const away = fleetHistorian(
    { count: () => Promise.resolve(0), prometheus: 'http://127.0.0.1:1', startedSince: unknown },
    () => START,
  );
  expect(await away.read('1h')).toMatchObject({
    source: 'here',
    trouble: expect.stringMatching(/^Prometheus could not/),
  });
  expect(() => readPrometheusAddress('nowhere')).toThrow(/PERDURE_PROMETHEUS is no address/);
});
