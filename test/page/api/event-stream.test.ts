// Event streams of the HTTP API: how they begin, fail and end.
import { expect, test } from 'vitest';
import type { PagePorts } from '../../../page/ports.ts';
import { ClientProblem } from '../../../client/problem.ts';
import { noRecentRequests } from '../../../client/sessions/history/recent.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import { runOf } from './staged-run.ts';
import { problemFrom, stagedApi, token } from './staged-api.ts';

const idle = { phase: 'idle', runs: 1, last: { run: 1, messages: ['m-1'] } as never } as const;

test('events have the place of who has seen them, and after the result nothing is to come (Q11)', async () => {
  const asked: unknown[] = [];
  const run = runOf(3, 1);
  const follow: PagePorts['follow'] = async function* (session, options = {}) {
    asked.push([session, options.messageId, options.after]);
    yield* run;
  };
  const { ask } = await stagedApi({ seen: idle, ports: { follow } });
  const answer = await ask('/sessions/s-1/events?message=m-1');
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  const text = await answer.text();
  // Some clients take a frame without data for an event.
  const frames = text.split('\n\n').filter((frame) => frame !== '');
  expect(frames.filter((frame) => !/^data: /m.test(frame))).toEqual([]);
  const events = frames.map((frame) => frame.replace(/^retry: 1000\n/, ''));
  expect(events.map((part) => JSON.parse(part.split('data: ')[1] ?? '') as unknown)).toEqual(run);
  expect(events[0]).toMatch(/^id: 1\.0;100\.1\n/);
  expect(events.at(-1)).toMatch(/^id: over\n/);
  expect((await ask('/sessions/s-1/events', { headers: { 'last-event-id': 'over' } })).status).toBe(204);
  expect((await ask('/sessions/s-1/events?after=1')).status).toBe(204);
  await (await ask('/sessions/s-1/events?after=0.0', { headers: { 'last-event-id': '1.1' } })).text();
  expect(asked).toEqual([
    ['s-1', 'm-1', undefined],
    ['s-1', undefined, { run: 1, iteration: 1 }],
  ]);
  for (const wrong of ['?after=x', '?after=1&message=m', '?after=1.2.3'])
    expect((await ask(`/sessions/s-1/events${wrong}`)).status).toBe(400);
});

test('a stream that fails tells the problem, and whether to come again (Q11)', async () => {
  const failing = (error: Error): PagePorts['follow'] =>
    // oxlint-disable-next-line require-yield
    async function* () {
      throw error;
    };
  for (const [error, id] of [
    [new ClientProblem('closed', 'it is closed'), 'id: over\n'],
    [new ClientProblem('unanswered', 'no answer'), ''],
  ] as const) {
    const { ask } = await stagedApi({ ports: { follow: failing(error) } });
    const text = await (await ask('/sessions/s-1/events')).text();
    expect(text).toBe(
      `retry: 1000\n${id}event: problem\ndata: ${JSON.stringify(JSON.parse(text.split('data: ')[1] ?? ''))}\n\n`,
    );
    expect(text).toContain(error.message);
  }
});

test('one person has a hundred streams at most, which leaves room for others; metrics count them (Q11 O14)', async () => {
  const follow: PagePorts['follow'] = async function* (_, { signal } = {}) {
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
    yield* [];
  };
  const { ask, page } = await stagedApi({ ports: { follow } });
  const open: Response[] = [];
  for (let n = 0; n < 100; n += 1) open.push(await ask('/sessions/s-1/events'));
  expect(await problemFrom(ask('/sessions/s-1/events'))).toMatchObject({ status: 503, kind: 'busy' });
  const other = await ask('/sessions/s-1/events', { headers: { authorization: `Bearer ${token('look')}` } });
  expect(other.status).toBe(200);
  expect(page.api.listeners).toBe(101);
  await open[0]?.body?.cancel();
  expect(page.api.listeners).toBe(100);
  expect((await ask('/sessions/s-1/events')).status).toBe(200);
  page.close();
});

test('a listener that leaves ends what follows for it, and a server that closes ends all (Q11)', async () => {
  const signals: AbortSignal[] = [];
  const follow: PagePorts['follow'] = async function* (_, { signal } = {}) {
    if (signal) signals.push(signal);
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
    yield* [];
  };
  const { ask, page } = await stagedApi({ ports: { follow } });
  const [one, other] = [await ask('/sessions/s-1/events'), await ask('/sessions/s-1/events')];
  const reader = one.body?.getReader();
  await reader?.read();
  const reading = reader?.read();
  const left = other.text();
  await reader?.cancel();
  await reading;
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  page.close();
  await left;
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
});

test('a message that was never sent to the session is a problem, one on its way or taken by any run is followed (Q11)', async () => {
  const sent = { id: 'm-2', body: { kind: 'text', text: 'On.' } } as never;
  const recent = () => Promise.resolve({ ...noRecentRequests, messages: [sent], before: ['m-3'] });
  const transcript: PagePorts['transcript'] = async function* () {
    yield { position: 0, entry: { kind: 'user', id: 'm-4' as MessageId, body: { kind: 'text', text: 'Before.' } } };
  };
  const { ask, page } = await stagedApi({ seen: idle, ports: { recent, transcript } });
  for (const known of ['m-1', 'm-2', 'm-3', 'm-4'])
    expect((await ask(`/sessions/s-1/events?message=${known}`)).status).toBe(200);
  expect(await problemFrom(ask('/sessions/s-1/events?message=m-5'))).toEqual({
    status: 404,
    kind: 'no_message',
    detail: 'session s-1 was never sent message "m-5": send it first',
  });
  expect(await problemFrom(ask('/sessions/s-2/events?message=m-1'))).toMatchObject({ status: 404, kind: 'no_session' });
  // Whoever comes again was given its place for a message that was sent.
  const again = { headers: { 'last-event-id': '1.1' } };
  expect((await ask('/sessions/s-1/events?message=m-5', again)).status).toBe(200);
  page.close();
});
