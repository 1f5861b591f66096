// One subscription for all who watch a session, and what each of them is given.
import { expect, test } from 'vitest';
import type { Told } from '../../../activities/live/events.ts';
import { eventStream } from '../../../client/page/feed/event-stream.ts';
import { changeRing } from '../../../client/page/feed/ring.ts';
import { stagedPage } from '../../support/page-ports.ts';
import { user } from '../../support/transcript.ts';
import { until } from '../../support/until.ts';

const delta = (text: string): Told => ({ type: 'text_delta', iteration: 1, index: 0, text, step: 3, attempt: 1 });

async function reader(answer: Response) {
  const stream = answer.body?.getReader();
  const decoder = new TextDecoder();
  let heard = '';
  return {
    hear: async (words: string): Promise<string> => {
      while (!heard.includes(words)) heard += decoder.decode((await stream?.read())?.value);
      return heard;
    },
    leave: () => stream?.cancel(),
  };
}

test('twenty viewers of a session cost one subscription, and each hears every word (O13)', async () => {
  let subscriptions = 0;
  const staged = await stagedPage({ entries: [user('x')] });
  const { page, live, ask } = staged;
  const viewers = await Promise.all(Array.from({ length: 20 }, async () => reader(await ask('/sessions/s-1/live'))));
  subscriptions = page.feeds.size;
  for (const { hear } of viewers) await hear('event: reset');
  const { feed, leave } = await page.feeds.enter('s-1' as never);
  const late = await Promise.all(
    Array.from({ length: 20 }, async () =>
      reader(await ask(`/sessions/s-1/live?from=${feed.ring.epoch}.${feed.ring.now}`)),
    ),
  );
  live.push(delta('one '));
  live.push(delta('two'));
  for (const { hear } of late) expect(await hear('two')).toContain('one ');
  expect(subscriptions).toBe(1);
  for (const { leave: go } of late) await go();
  leave();
  page.close();
});

test('a viewer that reads nothing costs nothing, and is told to begin again when it reads (O13)', async () => {
  const ring = changeRing(10_000);
  const slow = await reader(eventStream(ring, `${ring.epoch}.0`, () => undefined));
  for (let n = 0; n < 1_000; n += 1) ring.push({ do: 'text', id: 'x', text: `word ${n} ` });
  expect(ring.since(0)).toBeNull();
  expect(ring.since(ring.now - 5)?.changes.length).toBe(5);
  await slow.hear('event: reset');
});

test('a place of another process, or none, begins again (O10)', async () => {
  const ring = changeRing();
  for (const from of ['', 'other.0', `${ring.epoch}.99`, `${ring.epoch}.-1`, `${ring.epoch}.x`]) {
    let left = 0;
    const { hear } = await reader(eventStream(ring, from, () => (left += 1)));
    await hear('event: reset');
    await until(() => left === 1);
  }
});

test('words that a late viewer missed come as one change, in their order (O10)', async () => {
  const ring = changeRing();
  for (const text of ['a', 'b', 'c']) ring.push({ do: 'text', id: 'x', text });
  const { hear, leave } = await reader(eventStream(ring, `${ring.epoch}.0`, () => undefined));
  expect(await hear('abc')).toContain('[{"do":"text","id":"x","text":"abc"}]');
  await leave();
});

test('what an attempt said that died is struck; the prompt and why it waits stay (O5)', async () => {
  const { page, live } = await stagedPage();
  const { feed, leave } = await page.feeds.enter('s-1' as never);
  live.push({ type: 'user', id: 'm-1' as never, text: 'the prompt', step: 3, attempt: 1 });
  live.push(delta('never counted'));
  live.push({ type: 'retry', iteration: 1, failures: 1, delayMs: 30_000, error: '429 slow down', step: 3, attempt: 1 });
  live.push({ type: 'tombstone', step: 3, attempt: 1, iteration: 1, why: 'it was cut' });
  await until(() => feed.voided.length === 1);
  expect(feed.voided[0]?.html).toContain('never counted');
  for (const part of ['the prompt', '429 slow down', '30.0 s']) expect(feed.pieces.html).toContain(part);
  expect(feed.pieces.html).not.toContain('never counted');
  leave();
  page.close();
});

test('markup in what is said as it is said stays text (O12)', async () => {
  const { page, live } = await stagedPage();
  const { feed, leave } = await page.feeds.enter('s-1' as never);
  live.push(delta('<img src=x onerror=alert(1)>\u001b[2J'));
  live.push({ type: 'user', id: '"><script>' as never, text: '<script>', step: 3, attempt: 1 });
  await until(() => feed.pieces.html.includes('&lt;script&gt;'));
  expect(feed.pieces.html).not.toMatch(/<(img|script)/);
  leave();
  page.close();
});
