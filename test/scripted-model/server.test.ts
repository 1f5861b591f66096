import { connect } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { fault, gate, reply, startScriptedModel } from '../../scripted-model/index.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { hello, model, post } from './support.ts';

const ok = reply('ok', { times: 'any' });

test('requests are remembered with what was sent, by whom and how it ended, and never with a key', async () => {
  const server = await model([ok]);
  await post(server, hello, { 'x-api-key': 'a secret key', 'user-agent': 'tester' });
  expect(server.requests[0]).toMatchObject({ n: 1, body: hello, status: 200, step: 0, ended: 'finished' });
  expect(server.requests[0]?.headers).toMatchObject({ 'user-agent': 'tester', 'x-api-key': '(set)' });
  expect(JSON.stringify(server.requests)).not.toContain('a secret key');
});

test('the memory of requests can be bounded', async () => {
  const last = await model([ok], { keep: 'last' });
  const none = await model([ok], { keep: 'none' });
  for (const server of [last, none]) for (let n = 0; n < 3; n += 1) await post(server, hello);
  expect(last.requests.map(({ n }) => n)).toEqual([3]);
  expect(none.requests).toEqual([]);
  await expect(none.waitForRequest(1)).rejects.toThrow('dropped it');
});

test('a test can wait for a request before it comes', async () => {
  const { hold, release } = gate();
  const server = await model([reply('ok', { hold })]);
  const second = server.waitForRequest(1);
  const answer = post(server, { ...hello, stream: true });
  expect((await second).body).toMatchObject(hello);
  release();
  expect((await (await answer).text()).length).toBeGreaterThan(0);
});

test('closing ends idle connections, streams that wait, and requests that never finish', async () => {
  const server = await startScriptedModel({ script: [fault({ silenceAfterEvent: 1 }), ok] });
  const stream = await post(server, { ...hello, stream: true });
  await post(server, hello);
  const half = connect(server.port, '127.0.0.1');
  half.on('error', () => undefined);
  await once(half, 'connect');
  half.write('POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{');
  const ended = Promise.all([new Promise((resolve) => half.on('close', resolve)), stream.text().catch(() => 'broken')]);
  await server.close();
  expect((await ended)[1]).toBe('broken');
  await expect(fetch(server.url)).rejects.toThrow('fetch failed');
});

test('each answer is a line of the log', async () => {
  const lines: string[] = [];
  const server = await model([reply('ok'), fault({ status: 529 })], { log: (line) => lines.push(line) });
  await post(server, hello);
  await post(server, hello);
  await post(server, { ...hello, max_tokens: undefined }, {}, '/v1/messages/count_tokens');
  expect(lines).toEqual([
    'POST /v1/messages → 200 (request 1, replies.0, finished)',
    'POST /v1/messages → 529 (request 2, replies.1, finished)',
    'POST /v1/messages/count_tokens → 200',
  ]);
});

test('two servers can run at once, and a port that is taken is an error', async () => {
  const one = await model([ok]);
  const two = await model([ok]);
  expect(one.port).not.toBe(two.port);
  await expect(startScriptedModel({ script: [], port: one.port })).rejects.toThrow('EADDRINUSE');
});

test('a request costs time in proportion to its length, up to 1 MB', async () => {
  const server = await model([ok], { keep: 'none' });
  const turn = [
    { role: 'user', content: 'x'.repeat(10_000), cache_control: undefined },
    { role: 'assistant', content: 'line\n'.repeat(1_000) },
  ];
  /**
   * The least of some times, in milliseconds: collecting garbage makes a time longer and never
   * shorter.
   */
  const leastTime = async (turns: number): Promise<number> => {
    const messages = [...Array.from({ length: turns }, () => turn).flat(), { role: 'user', content: 'end' }];
    const body = JSON.stringify({ ...hello, stream: true, cache_control: { type: 'ephemeral' }, messages });
    expect(body.length).toBeGreaterThan(turns * 15_000);
    const times = [];
    for (let n = 0; n < 20; n += 1) {
      const asked = async (): Promise<void> => {
        const response = await post(server, body);
        await response.text();
        expect(response.status).toBe(200);
      };
      times.push(await cpuTime(asked));
    }
    return Math.min(...times);
  };
  const [short, long] = [await leastTime(8), await leastTime(66)];
  console.info(`requests of 0.12 MB and 1 MB take ${short.toFixed(1)} and ${long.toFixed(1)} ms`);
  // Eight times as much, where it is linear; sixty-four times, where it is quadratic.
  expect(long).toBeLessThan(short * 24);
});
