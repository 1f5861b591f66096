// The live channel on a Redis that is missing, refuses, freezes, dies and comes back empty: writers
// do not wait for it, and watchers are told in one sentence.
import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { LiveWriter } from '../../../store/live/events.ts';
import { redisLive } from '../../../store/live/redis-live.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { redisServer, type RedisServer } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { watcher } from '../../support/watcher.ts';

const session = 's-1' as SessionId;
const done = { type: 'fate', fate: 'done' } as const;
const stored = { type: 'fate', fate: 'stored', head: 'h' as Hash } as const;

let redis: RedisServer;
beforeAll(async () => (redis = await redisServer('--requirepass', 'pass-word')));
afterEach(() => redis.start());
afterAll(() => redis.kill());

const withPassword = (url: string): string => url.replace('redis://', 'redis://:pass-word@');

function channel(url = withPassword(redis.url)) {
  const lines: string[] = [];
  const live = redisLive({ url, scope: randomUUID(), log: (_, message) => lines.push(message) });
  onTestFinished(live.close);
  const open = (step: number): LiveWriter => live.open({ session, step, attempt: 1, activity: 'callModel' });
  return { live, lines, open };
}

function say(writer: LiveWriter, text: string): void {
  writer.write({ type: 'text_delta', iteration: 1, index: 0, text });
}

/** A connection of our own, to look at what is there. */
function inspector(): Redis {
  const own = new Redis(withPassword(redis.url));
  onTestFinished(() => own.disconnect());
  return own;
}

function listening(onConnection: (socket: Socket) => void): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(onConnection);
  onTestFinished(() => void server.close());
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      resolve({ server, url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}/0` });
    }),
  );
}

test('a Redis that dies takes no writer along; watchers are told once, and see the next steps when it is back (W5)', async () => {
  const { live, lines, open } = channel();
  const seen = watcher(live, session);
  const first = open(1);
  say(first, 'before');
  await seen.sees((items) => items.length === 1);
  await redis.kill();
  say(first, ', meanwhile');
  await first.end(stored);
  await until(() => seen.troubles.length === 1 && lines.length === 1);
  expect(seen.troubles[0]).toContain(`the Redis at ${redis.url} cannot be used: `);
  await redis.start();
  await until(() => seen.troubles.length === 2);
  expect(seen.troubles[1]).toBeNull();
  const second = open(2);
  say(second, 'after');
  await second.end(stored);
  await seen.sees((items) => items.length === 3);
  expect(seen.said()).toEqual(['before', ', meanwhile', 'after']);
  expect(lines).toEqual([
    expect.stringMatching(/^watchers of running sessions see each step when it is stored/),
    expect.stringMatching(/is back/),
  ]);
});

test('lines whose acknowledgement was lost are sent again, and seen once (W5)', async () => {
  let cut = false;
  const { url } = await listening((socket) => {
    const { port } = new URL(redis.url);
    const upstream = connect(Number(port), '127.0.0.1');
    socket.pipe(upstream);
    upstream.on('data', (bytes) => {
      if (cut) {
        cut = false;
        socket.destroy();
      } else socket.write(bytes);
    });
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  });
  const scope = randomUUID();
  const writing = redisLive({ url: withPassword(url), scope });
  const reading = redisLive({ url: withPassword(redis.url), scope });
  onTestFinished(writing.close);
  const seen = watcher(reading, session);
  const writer = writing.open({ session, step: 1, attempt: 1, activity: 'callModel' });
  say(writer, 'one');
  await seen.sees((items) => items.length === 1);
  cut = true;
  say(writer, 'two');
  await until(() => !cut);
  say(writer, 'three');
  await writer.end(stored);
  await seen.sees((items) => items.length === 3);
  expect(seen.said()).toEqual(['one', 'two', 'three']);
});

test('more than may be held is lost to watchers, is said once, and how the attempt ended is told (W5)', async () => {
  const { live, lines, open } = channel();
  const seen = watcher(live, session);
  const writer = open(1);
  say(writer, 'one');
  await seen.sees((items) => items.length === 1);
  await redis.kill();
  await until(() => seen.troubles.length === 1);
  for (let n = 0; n < 100; n += 1) say(writer, 'x'.repeat(20_000));
  await writer.end(stored);
  await redis.start();
  const next = open(2);
  say(next, 'two');
  await next.end(stored);
  await seen.sees((items) => items.some((item) => item.type === 'text_delta' && item.text === 'two'));
  expect(seen.said()).toEqual(['one', 'two']);
  expect(lines.filter((line) => line.startsWith('watchers miss a part of step 1'))).toHaveLength(1);
});

test('a Redis that is frozen holds up nobody who writes (W5)', async () => {
  const { live, open } = channel();
  const seen = watcher(live, session);
  const first = open(1);
  say(first, 'one');
  await seen.sees((items) => items.length === 1);
  process.kill(redis.pid(), 'SIGSTOP');
  try {
    for (let step = 2; step <= 50; step += 1) {
      const writer = open(step);
      say(writer, 'x'.repeat(20_000));
      const work = writer.end(done).then(() => live.forgetBefore(session, step));
      expect(await Promise.race([work.then(() => 'at once'), turn('later')])).toBe('at once');
    }
  } finally {
    process.kill(redis.pid(), 'SIGCONT');
  }
  const last = open(51);
  say(last, 'last');
  await last.end(stored);
  await seen.sees((items) => items.some((item) => item.step === 51));
});

test('all that is written expires, and the stream of one attempt is bounded (W5)', async () => {
  const own = inspector();
  await own.flushall();
  const { live, open } = channel();
  const writer = open(1);
  for (let n = 0; n < 1_500; n += 1) {
    say(writer, 'x'.repeat(16_000));
    if (n % 20 === 0) await until(async () => (await own.keys('*')).length === 2);
  }
  await writer.end(done);
  await live.close();
  const keys = await own.keys('*');
  expect(keys).toHaveLength(2);
  for (const key of keys) expect(await own.ttl(key)).toBeGreaterThan(23 * 3_600);
  const [stream = ''] = keys.filter((key) => !key.endsWith('}'));
  expect(await own.xlen(stream)).toBeLessThan(800);
});

test('a process has one subscription for all watchers of a session, and none when they have gone (W5)', async () => {
  const own = inspector();
  const { live } = channel();
  const watchers = [1, 2, 3].map(() => watcher(live, session));
  const counts = async (): Promise<unknown[]> => {
    const channels = (await own.pubsub('CHANNELS', 'perdure:*')) as string[];
    return channels.length === 0 ? [] : own.pubsub('NUMSUB', ...channels);
  };
  await until(async () => (await counts())[1] === 1);
  for (const one of watchers) await one.stop();
  await until(async () => (await counts()).length === 0);
});

test('two stores on one Redis do not see each other’s sessions (W5)', async () => {
  const [mine, other] = [channel(), channel()];
  const [seen, strange] = [watcher(mine.live, session), watcher(other.live, session)];
  const writer = mine.open(1);
  say(writer, 'mine');
  await writer.end(done);
  await seen.sees((items) => items.length === 1);
  const writes = other.open(1);
  say(writes, 'other');
  await writes.end(done);
  await strange.sees((items) => items.length === 1);
  expect(strange.said()).toEqual(['other']);
});
