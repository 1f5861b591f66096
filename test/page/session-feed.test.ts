// One subscription for all who watch a session, and what each of them is given.
import { expect, test } from 'vitest';
import type { ChannelItem } from '../../store/live/events.ts';
import { StoreError } from '../../store/values/store.ts';
import { eventStream } from '../../page/feed/event-stream.ts';
import { changeRing } from '../../page/feed/ring.ts';
import { ownAccess } from '../../page/hosting/access.ts';
import { htmlOf } from '../../page/layout.tsx';
import { OpsPage } from '../../page/page-app.tsx';
import { Banner } from '../../page/session/frame.tsx';
import { ClientProblem } from '../../client/problem.ts';
import { letInWith, PAGE_HOST, SECRETS, stagedPage } from '../support/page-ports.ts';
import { reply, user } from '../support/transcript.ts';
import { until } from '../support/until.ts';

const delta = (text: string): ChannelItem => ({
  type: 'text_delta',
  iteration: 1,
  index: 0,
  text,
  step: 3,
  attempt: 1,
});

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

test('a comparison with a session that is not there leaves no viewer behind (O13)', async () => {
  const { page, ports, ask } = await stagedPage({ entries: [user('x')] });
  const { describe } = ports;
  Object.assign(ports, {
    describe: (id: string) =>
      id === 's-2' ? Promise.reject(new ClientProblem('no_session', 'no session s-2')) : describe(id),
  });
  expect((await ask('/compare?a=s-1&b=s-2')).status).toBe(404);
  expect(page.feeds.watchers).toBe(0);
  page.close();
});

test('two hundred tabs on a session are one subscription and one look at a time, and leave nothing when they go (O13)', async () => {
  let subscriptions = 0;
  const { page, ask } = await stagedPage({
    entries: [user('x')],
    ports: {
      live: async function* (_, signal) {
        subscriptions += 1;
        yield* [] as ChannelItem[];
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        subscriptions -= 1;
      },
    },
  });
  const { feed, leave } = await page.feeds.enter('s-1' as never);
  const place = `${feed.ring.epoch}.${feed.ring.now}`;
  const tabs = await Promise.all(
    Array.from({ length: 200 }, async () => reader(await ask(`/sessions/s-1/live?from=${place}`))),
  );
  expect([page.feeds.size, page.feeds.watchers, subscriptions]).toEqual([1, 201, 1]);
  feed.ring.push({ do: 'text', id: 'x', text: 'for all' });
  for (const { hear } of tabs) await hear('for all');
  for (const tab of tabs) await tab.leave();
  leave();
  await until(() => page.feeds.watchers === 0);
  page.close();
  await until(() => subscriptions === 0);
});

test('a session that is deleted while it is watched is said to be gone, and what was shown stays (O10)', async () => {
  let gone = false;
  const { page, ports } = await stagedPage({ entries: [user('still here')] });
  const { describe } = ports;
  const deleted = new OpsPage(
    {
      ...ports,
      describe: (id) => (gone ? Promise.reject(new ClientProblem('no_session', `no session ${id}`)) : describe(id)),
    },
    ownAccess(SECRETS, () => PAGE_HOST),
  );
  const { feed, leave } = await deleted.feeds.enter('s-1' as never);
  gone = true;
  feed.wake();
  await until(() => feed.standing.troubles.some(({ kind }) => kind === 'gone'));
  expect(feed.standing.items.all).toHaveLength(1);
  const answer = await deleted.app.request('/sessions/s-1', {
    headers: { host: PAGE_HOST, authorization: letInWith(SECRETS.key) },
  });
  const text = await answer.text();
  expect([text.includes('still here'), text.includes('no longer exists on the server')]).toEqual([true, true]);
  leave();
  deleted.close();
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
  for (const part of ['the prompt', 'Attempt 1 failed: 429 slow down', 'retry after 30.0 s'])
    expect(feed.pieces.html).toContain(part);
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

test('what the channel tells again of a reply that was stored when it began is shown once, and struck where it died (O5 O10)', async () => {
  const said = reply([{ type: 'text', text: 'Stored words.', citations: null }], { iteration: 1 });
  const { page, live, ports } = await stagedPage({ entries: [user('x'), said] });
  const { feed, leave } = await page.feeds.enter('s-1' as never);
  live.push(delta('Died words.'));
  live.push({ type: 'tombstone', step: 3, attempt: 1, iteration: 1, why: 'it was cut' });
  live.push({ ...delta('Stored words.'), attempt: 2 });
  live.push({ ...delta(' More.'), attempt: 2 });
  await until(() => feed.voided.length === 1);
  expect(feed.voided[0]?.html).toContain('Died words.');
  const news = { ...delta('A summing up.'), step: 5 } as ChannelItem;
  live.push({ type: 'stored', step: 3, attempt: 2, head: (await ports.head('s-1' as never))! });
  live.push(news);
  await until(() => feed.pieces.html.includes('A summing up.'));
  const shown = JSON.stringify(feed.ring.since(0)?.changes);
  expect(shown).toContain('A summing up.');
  expect(shown).not.toContain('Stored words.');
  expect(shown).not.toContain('More.');
  expect(feed.pieces.html).not.toContain('Stored words.');
  leave();
  page.close();
});

test('a store that cannot be read is told as such while it lasts, and not as a server that is down (O10)', async () => {
  let isDown = false;
  const { page, ports } = await stagedPage({ entries: [user('here')] });
  const down = (): Promise<never> => Promise.reject(new StoreError('unavailable', 'the store is not there'));
  const torn = new OpsPage(
    { ...ports, recent: (session) => (isDown ? down() : ports.recent(session)) },
    ownAccess(SECRETS, () => PAGE_HOST),
  );
  const { feed, leave } = await torn.feeds.enter('s-1' as never);
  const kinds = () => feed.standing.troubles.map(({ kind }) => kind);
  isDown = true;
  feed.wake();
  await until(() => kinds().length > 0);
  expect(kinds()).toEqual(['store']);
  isDown = false;
  feed.wake();
  await until(() => kinds().length === 0);
  leave();
  torn.close();
  page.close();
});

test('the words of a library about a server that does not answer stand behind Details (O7)', () => {
  const banner = (kind: 'server' | 'worker'): string =>
    htmlOf(Banner({ trouble: { kind, title: 'It is so.', detail: 'metadata filters: 0.001s' } }));
  expect(banner('server')).toMatch(/<b>It is so\.<\/b><details[^>]*><summary>Details<\/summary> metadata/);
  expect(banner('worker')).not.toContain('<details');
});
