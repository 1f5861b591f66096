// A Redis that cannot be used: one sentence says which, why and what to do, and no secret.
import { randomUUID } from 'node:crypto';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { redisLive } from '../../../store/live/redis-live.ts';
import { liveUrlProblem, addressWithoutSecrets } from '../../../store/live/redis-link.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { redisServer, type RedisServer } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { watcher } from '../../support/watcher.ts';

const session = 's-1' as SessionId;

let redis: RedisServer;
beforeAll(async () => (redis = await redisServer('--requirepass', 'pass-word')));
afterAll(() => redis.kill());

const withPassword = (url: string): string => url.replace('redis://', 'redis://:pass-word@');

function channel(url: string) {
  const lines: string[] = [];
  const live = redisLive({ url, scope: randomUUID(), log: (_, message) => lines.push(message) });
  onTestFinished(live.close);
  return { live, lines };
}

function listening(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer(onConnection);
  onTestFinished(() => void server.close());
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(`redis://127.0.0.1:${(server.address() as AddressInfo).port}/0`)),
  );
}

const named = (url: string, host: string): string => url.replace('redis://', `redis://${host}@`);

test.each<[string, () => Promise<string>, string]>([
  [
    'nothing that listens',
    () => Promise.resolve('redis://some-one:secret-word@127.0.0.1:9/0'),
    'nothing answers there',
  ],
  ['no such host', () => Promise.resolve('redis://:secret-word@nowhere.invalid:6379'), 'its host is not known'],
  ['a wrong password', () => Promise.resolve(named(redis.url, ':secret-word')), 'its user or password is wrong'],
  ['a wrong user', () => Promise.resolve(named(redis.url, 'some-one:secret-word')), 'its user or password is wrong'],
  ['no password', () => Promise.resolve(redis.url), 'it wants a password: give it in PERDURE_LIVE'],
  [
    'a database that is not there',
    () => Promise.resolve(withPassword(redis.url).replace(/0$/, '99')),
    'it has no database of that number',
  ],
  [
    'a web server',
    async () => named(await listening((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')), ':secret-word'),
    'something else than a Redis answers there',
  ],
])('%s: one sentence that names the address, what to do, and no secret (W5)', async (_, urlOf, sentence) => {
  const url = await urlOf();
  const { live, lines } = channel(url);
  const problem = await live.check();
  expect(problem).toContain(`the Redis at ${addressWithoutSecrets(url)} cannot be used: ${sentence}`);
  const seen = watcher(live, session);
  await live.open({ session, step: 1, attempt: 1, activity: 'commit' }).end({ type: 'fate', fate: 'done' });
  await until(() => seen.troubles.length === 1 && lines.length === 1);
  expect(seen.troubles[0]).toBe(problem);
  expect(lines[0]).toContain(sentence);
  expect([problem, ...seen.troubles, ...lines].join('\n')).not.toMatch(/secret-word|some-one|pass-word|\n.*\n.*\n/);
});

test('a Redis that can be used has no problem', async () => {
  expect(await channel(withPassword(redis.url)).live.check()).toBeNull();
});

test.each([
  'localhost:6379',
  'http://localhost:6379',
  'redis://',
  'redis://host:port',
  'redis://host/zero',
  'redis://host/0?password=secret-word',
  'redis://:%zz@host/0',
  '/run/redis.sock',
])('PERDURE_LIVE=%s is refused in one line, without what it says (W5)', (url) => {
  expect(liveUrlProblem(url)).toMatch(/^PERDURE_LIVE is no address of a Redis: give redis:\/\/[^\n]+$/);
  expect(liveUrlProblem(url)).not.toContain('secret-word');
});

test.each(['redis://host', 'redis://host:6379/3', 'rediss://user:p%40ss@host.example:6380/0'])(
  'PERDURE_LIVE=%s is taken',
  (url) => {
    expect(liveUrlProblem(url)).toBeUndefined();
  },
);
