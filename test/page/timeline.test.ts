// The timeline and the plots of a session, from a transcript and the steps that a history tells.
import { expect, test } from 'vitest';
import type { Entry } from '../../store/log/entries.ts';
import { barOf } from '../../client/sessions/history/bars.ts';
import { columnsOf } from '../../page/timeline/clock-rows.ts';
import { iterationsOf, stepsByIteration } from '../../client/sessions/history/iterations.ts';
import { transcriptItems } from '../../client/sessions/history/items.ts';
import type { Step } from '../../client/sessions/history/steps.ts';
import { stagedPage } from '../support/page-ports.ts';
import {
  boundary,
  callBlock,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  user,
} from '../support/transcript.ts';

const step = (changes: Partial<Step>): Step => ({
  name: 'callModel',
  run: 1,
  iteration: 1,
  askedAt: 0,
  beganAt: 10,
  endedAt: 1_000,
  attempt: 1,
  worker: 'host-a/12345678/77/1',
  failure: null,
  decided: false,
  delegated: false,
  endsCalls: [],
  ...changes,
});

function iterations(...entries: Entry[]) {
  const items = transcriptItems();
  items.add(entries);
  return iterationsOf(items.all);
}

const spend = (input: number, cacheRead: number, usd: number) => ({
  usage: { input, output: 0, cacheRead, cacheWrite: 0 },
  usd,
});

test('there is an iteration for each pass of the loop, with why it went round and how the run ended (O6)', () => {
  const [first, second] = iterations(
    runStarted(1),
    user('x'),
    reply([callBlock('a')]),
    outcomes(outcome(0, 'y')),
    { kind: 'transition', iteration: 3, reason: 'reactive_compact_retry' },
    boundary('summary', 1),
    reply([textBlock('done')], { iteration: 3 }),
    runEnded(1),
  );
  expect([first?.transitions, first?.compacted, first?.ended]).toEqual([[], false, null]);
  expect([second?.iteration, second?.transitions, second?.compacted]).toEqual([3, ['reactive_compact_retry'], true]);
  expect(second?.ended?.terminal.reason).toBe('completed');
});

test('an iteration that stored nothing has its bar between the others, and so has one that goes on (O6)', async () => {
  const entries = [reply([textBlock('a')]), reply([textBlock('b')], { iteration: 3 })];
  const steps = [1, 2, 3, 4].map((iteration) => step({ iteration, endedAt: iteration === 4 ? null : 20 }));
  const { text } = await stagedPage({ entries, ports: { steps: () => Promise.resolve(steps) } });
  const page = await text('/sessions/s-1/timeline');
  expect([...page.matchAll(/id="(t-[\d-]+)"/g)].map(([, id]) => id)).toEqual(['t-1-1', 't-1-2', 't-1-3', 't-1-4']);
});

test('a bar has the model, its tools, waits, parkings and what nobody worked on (O6)', () => {
  const [one] = iterations(runStarted(1), reply([callBlock('a')], { at: 600 }));
  const bar = barOf(
    one!,
    [
      step({ attempt: 2, beganAt: 400, failure: 'activity Heartbeat timeout', lost: true }),
      step({ name: 'runTool', askedAt: 1_000, beganAt: 1_001, endedAt: 1_100 }),
      step({ name: 'runTool', askedAt: 61_100, beganAt: 61_101, endedAt: 61_200, decided: true, worker: 'other' }),
      step({ name: 'callModel', askedAt: 61_300, beganAt: null, endedAt: null, worker: null }),
    ],
    90_000,
  );
  expect(bar.segments.map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ['gap', 0, 400],
    ['model', 400, 600],
    ['tools', 600, 1_000],
    ['tools', 1_001, 1_100],
    ['waiting', 1_100, 61_100],
    ['tools', 61_101, 61_200],
    ['gap', 61_300, 90_000],
  ]);
  expect(bar.segments[0]?.what).toBe('an attempt died: activity Heartbeat timeout, 400 ms');
  expect([bar.died, bar.open, bar.workers]).toEqual([1, true, ['host-a/12345678/77/1', 'other']]);
  const lost = barOf(
    one!,
    [step({ attempt: 2, beganAt: null, endedAt: null, lost: true, aliveUntil: 60_000 })],
    90_000,
  );
  expect(lost.segments.map(({ kind, from, to, what }) => [kind, from, to, what])).toEqual([
    ['lost', 0, 60_000, 'the model, lost with its worker, 1 min'],
    ['gap', 60_000, 90_000, 'an attempt died, 30.0 s'],
  ]);
  const retried = barOf(one!, [step({ attempt: 3, beganAt: 400, failure: '529 overloaded' })], 90_000);
  expect(retried.segments[0]).toMatchObject({ kind: 'retry', what: '2 attempts failed: 529 overloaded, 400 ms' });
  const parked = barOf(one!, [step({ endedAt: 100 }), step({ askedAt: 5_100, beganAt: 5_110, endedAt: 5_200 })], 0);
  expect(parked.segments.map(({ kind }) => kind)).toEqual(['model', 'parked', 'model']);
});

test('a call that the workflow carried out lasts until the step that records it, which may be of the next iteration (O6 L62)', () => {
  const [one, two] = iterations(
    runStarted(1),
    reply([callBlock('wait')], { at: 600 }),
    outcomes(outcome(0, 'over')),
    reply([textBlock('done')], { iteration: 2, at: 61_900 }),
  );
  const steps = stepsByIteration([
    step({}),
    step({ name: 'compact', iteration: 2, askedAt: 61_000, beganAt: 61_001, endedAt: 61_400, endsCalls: [4] }),
    step({ iteration: 2, askedAt: 61_500, beganAt: 61_501, endedAt: 62_000, endsCalls: [4] }),
    step({ iteration: 3, askedAt: 92_000, beganAt: 92_001, endedAt: 93_000, endsCalls: [9] }),
    step({ name: 'findReply', iteration: null, askedAt: 93_001, beganAt: 93_002, endedAt: 93_500 }),
    step({ name: 'commit', iteration: null, askedAt: 93_600, beganAt: 93_601, endedAt: 93_700, endsCalls: [9] }),
  ]);
  const segments = (of: typeof one, name: string) =>
    barOf(of!, steps.get(name) ?? [], 0).segments.map(({ kind, from, to }) => [kind, from, to]);
  expect(segments(one, '1.1').at(-1)).toEqual(['tools', 1_000, 61_000]);
  expect(segments(two, '1.2')).toEqual([
    ['context', 61_001, 61_400],
    ['model', 61_501, 62_000],
    ['tools', 62_000, 92_000],
  ]);
  expect(steps.get('1.3')?.map(({ name }) => name)).toEqual(['callModel']);
});

test('without a history a bar shows how long the tools took, and says so (O6)', async () => {
  const entries = [runStarted(1), reply([callBlock('a')], { at: 600 }), outcomes(outcome(0, 'y'))];
  const { text } = await stagedPage({ entries });
  const page = await text('/sessions/s-1/timeline');
  expect(page).toContain('Temporal no longer has this history');
  expect(page).toContain('the longest tool, 1 ms');
});

test('plots have the context, tokens and cost of each run, and what came from the cache (O7)', () => {
  const columns = columnsOf(
    iterations(
      runStarted(1),
      reply([textBlock('a')], { spend: spend(100, 0, 1) }),
      reply([textBlock('b')], { iteration: 2, spend: spend(50, 150, 2) }),
      runEnded(1),
      runStarted(2),
      boundary('short', 1),
      reply([textBlock('c')], { spend: spend(10, 0, 4) }),
    ),
  );
  expect(columns.map(({ context, runTokens, runUsd, cached }) => [context, runTokens, runUsd, cached])).toEqual([
    [100, 100, 1, 0],
    [200, 300, 3, 0.75],
    [10, 10, 4, 0],
  ]);
  expect(columns.map(({ compactions }) => compactions)).toEqual([0, 0, 1]);
});

test('five thousand iterations are 200 bars and at most 240 columns, and a link leads to any of them (O6 O7)', async () => {
  const entries = Array.from({ length: 5_000 }, (_, at) =>
    reply([textBlock('x')], { iteration: at + 1, at: at * 1_000 }),
  );
  const asked: unknown[] = [];
  const steps = (...range: unknown[]): Promise<readonly Step[]> => {
    asked.push(range);
    return Promise.resolve([step({ iteration: 2_000, askedAt: 5 })]);
  };
  const { text } = await stagedPage({ entries, ports: { steps } });
  const newest = await text('/sessions/s-1/timeline');
  expect(newest.match(/class="iteration"/g)).toHaveLength(200);
  expect(newest.match(/class="hit"/g)).toHaveLength(4 * 239);
  expect([newest.includes('id="t-1-4801"'), newest.includes('id="t-1-4800"')]).toEqual([true, false]);
  const linked = await text('/sessions/s-1/timeline?at=1.2000');
  expect(linked).toContain('href="/sessions/s-1?at=1.2000#it-1-2000"');
  expect(linked).toContain('host-a 77');
  expect(asked).toEqual([
    ['s-1', 4_799_000, null],
    ['s-1', 1_978_000, 2_179_000],
  ]);
});

test('a history that cannot be read is told, and the timeline is there (O10)', async () => {
  const { text } = await stagedPage({
    entries: [reply([textBlock('x')])],
    ports: { steps: () => Promise.reject(new Error('<b>away</b>')) },
  });
  const page = await text('/sessions/s-1/timeline');
  expect(page).toContain('history can’t be read (&lt;b&gt;away&lt;/b&gt;)');
});

test('work that waits for a busy worker is queued; only a long wait is called one without a worker (O6)', () => {
  const [one] = iterations(runStarted(1), reply([callBlock('a')], { at: 600 }));
  const kindsOf = (beganAt: number | null, now: number) =>
    barOf(one!, [step({ name: 'runTool', askedAt: 0, beganAt, endedAt: null })], now).segments.map(({ kind }) => kind);
  expect(kindsOf(900, 2_000)).toEqual(['queue', 'tools']);
  expect(kindsOf(null, 900)).toEqual(['queue']);
  expect(kindsOf(null, 5_000)).toEqual(['gap']);
  expect(kindsOf(6_000, 7_000)).toEqual(['gap', 'tools']);
});

test('a part of a long session is told as one, with the time of both (O6)', async () => {
  const entries = Array.from({ length: 250 }, (_, at) =>
    reply([textBlock('on')], { iteration: at + 1, at: at * 1_000 }),
  );
  const { text } = await stagedPage({ entries });
  expect(await text('/sessions/s-1/timeline')).toMatch(/<b>Iterations 51–250 of 250, 3 min \d+ s of .+<\/b>/);
  const whole = await stagedPage({ entries: entries.slice(0, 3) });
  expect(await whole.text('/sessions/s-1/timeline')).toMatch(/<b>3 iterations, [^<]* s<\/b>/);
});

test('the colours that are explained are those that are there (O5)', async () => {
  const { text } = await stagedPage({
    entries: [reply([textBlock('a')])],
    ports: { steps: () => Promise.resolve([step({})]) },
  });
  const map = await text('/sessions/s-1/map');
  expect([...map.matchAll(/class="key (\w+)"/g)].map(([, kind]) => kind)).toEqual(['model']);
});
