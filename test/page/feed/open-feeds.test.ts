// Feeds that viewers share: which stay open when their viewers have left.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openFeeds, type OpenFeeds, withFeed } from '../../../page/feed/event-stream.ts';

type Feed = { readonly key: string; close(): void };

const opened: string[] = [];
const closed: string[] = [];
let feeds: OpenFeeds<string, Feed>;

beforeEach(() => {
  vi.useFakeTimers();
  opened.length = closed.length = 0;
  feeds = openFeeds<string, Feed>((key) => {
    opened.push(key);
    return Promise.resolve({ key, close: () => void closed.push(key) });
  }, 5_000);
});
afterEach(() => {
  vi.useRealTimers();
});

const look = (key: string): Promise<string> => withFeed(feeds, key, (feed) => feed.key);

test('a feed stays open for its next viewer, and is closed when none comes (O13)', async () => {
  expect([await look('a'), await look('a')]).toEqual(['a', 'a']);
  expect(opened).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([closed, feeds.size]).toEqual([['a'], 0]);
});

test('a visitor who looks at many things leaves only the last few open, and no watched one is closed (O13)', async () => {
  const { leave } = await feeds.enter('watched');
  for (const key of ['a', 'b', 'c', 'd', 'a', 'e', 'f']) await look(key);
  await vi.advanceTimersByTimeAsync(0);
  expect(opened).toEqual(['watched', 'a', 'b', 'c', 'd', 'e', 'f']);
  expect([closed, feeds.size]).toEqual([['b', 'c'], 5]);
  leave();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(feeds.size).toBe(0);
});

test('a viewer who leaves after all was closed opens nothing again', async () => {
  const { leave } = await feeds.enter('a');
  feeds.close();
  leave();
  await vi.advanceTimersByTimeAsync(5_000);
  expect([feeds.size, closed]).toEqual([0, ['a']]);
});
