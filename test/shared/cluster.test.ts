// A cluster as people run it: hosts with disks and workspaces of their own, one Temporal server,
// one bucket and one Redis between them.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { gate, reply, toolUse, type ScriptedModel } from '../../scripted-model/index.ts';
import { cliPlace, jsonLines, modelFor, readyWorker, type Command } from '../support/cli.ts';
import { ownNamespace } from '../support/own-namespace.ts';
import { redisServer } from '../support/redis-server.ts';
import { BUCKET, S3_KEYS } from '../support/s3-gateway.ts';
import { until } from '../support/until.ts';

async function cluster(model: ScriptedModel) {
  const redis = await redisServer('--requirepass', 'pass-word');
  onTestFinished(redis.kill);
  const shared = {
    ...S3_KEYS,
    ...(await ownNamespace(inject('temporalAddress'))),
    AWS_ENDPOINT_URL_S3: inject('s3Endpoint'),
    PERDURE_STORE: `s3://${BUCKET}/${randomUUID()}`,
    PERDURE_LIVE: redis.url.replace('redis://', 'redis://:pass-word@'),
  };
  const host = (name: string) => {
    const place = cliPlace(model);
    Object.assign(place.env, shared, { PERDURE_HOST: name });
    return place;
  };
  return { redis, host };
}

const said = (command: Command): string =>
  jsonLines(command.out())
    .map(({ type, text }) => (type === 'text_delta' ? String(text) : ''))
    .join('');

test('started here, watched there live, approved elsewhere, run where the folder is; the Redis dies meanwhile (W5 W7)', async () => {
  const [first, last] = [gate(), gate()];
  const model = await modelFor([
    reply(
      [
        { type: 'text', text: 'I will ask, and then write what was decided. '.repeat(8) },
        toolUse('bash', { command: 'rm -f x && echo done > effect.log' }),
      ],
      {
        hold: first.hold,
        holdAfterEvent: 5,
      },
    ),
    reply('Without a live channel.', { hold: last.hold }),
    reply('All is live again.'),
  ]);
  const { redis, host } = await cluster(model);
  const [one, two, client] = [host('host-one'), host('host-two'), host('a-client')];
  const workers = [await readyWorker(one), await readyWorker(two)];
  const id = (await two.run('start', 'Do it.')).out.trim();
  const watching = client.start(['watch', '--json', id]);
  // While the reply is still being streamed.
  await until(() => said(watching).startsWith('I will'));
  first.release();
  const asked = await until(async () => {
    const { out } = await one.run('approvals', '--json');
    return jsonLines(out).find(({ session }) => session === id) ?? null;
  });
  await redis.kill();
  await until(() => watching.err().includes('each step is shown when it is stored, for now'));
  expect(await client.run('approve', id, String(asked.call))).toMatchObject({ status: 0 });
  await until(() => existsSync(join(two.cwd, 'effect.log')));
  expect(readFileSync(join(two.cwd, 'effect.log'), 'utf8')).toBe('done\n');
  expect(existsSync(join(one.cwd, 'effect.log'))).toBe(false);
  await redis.start();
  await until(() => watching.err().includes('the live channel is back'));
  last.release();
  expect(await watching.status).toBe(0);
  expect(jsonLines(watching.out()).at(-1)).toMatchObject({ type: 'result', text: 'Without a live channel.' });
  const all = [watching, ...workers].map((command) => command.out() + command.err()).join('');
  expect(all).not.toContain('pass-word');
  expect((await client.run('doctor')).out).toMatch(/live channel +redis:\/\/127/);
  for (const running of workers) running.signal('SIGTERM');
  expect(await Promise.all(workers.map(({ status }) => status))).toEqual([0, 0]);
});

test('a session whose host is gone waits for it, which list, show and watch say, and goes on there (W7)', async () => {
  const { host } = await cluster(await modelFor([reply('One.'), reply('Two.')]));
  const [one, two] = [host('host-one'), host('host-two')];
  const first = await readyWorker(one);
  const ran = await one.run('run', '--json', 'hi');
  const id = String(jsonLines(ran.out).at(-1)?.sessionId);
  first.signal('SIGKILL');
  await first.status;
  const second = await readyWorker(two);
  expect(await two.run('send', id, 'more')).toMatchObject({ status: 0 });
  await until(async () => (await two.run('list')).out.includes('waiting for host host-one'));
  expect((await two.run('show', id)).out).toContain('waiting for host host-one');
  const watching = two.start(['watch', '--json', id]);
  await until(() => watching.err().includes(`session ${id} waits for host host-one, which has its folder`));
  const back = await readyWorker(one);
  expect(await watching.status).toBe(0);
  expect(jsonLines(watching.out()).at(-1)).toMatchObject({ type: 'result', text: 'Two.' });
  for (const running of [second, back]) running.signal('SIGTERM');
  await Promise.all([second.status, back.status]);
});

test('a client without the Redis sees the same run in the end; one with another store is told where it is (W1 W5)', async () => {
  const { host } = await cluster(await modelFor([reply('Hello.')]));
  const works = host('host-one');
  const running = await readyWorker(works);
  const id = (await works.run('start', 'hi')).out.trim();
  const plain = host('a-client');
  delete plain.env['PERDURE_LIVE'];
  const watched = await plain.run('watch', '--json', id);
  expect(jsonLines(watched.out).at(-1)).toMatchObject({ type: 'result', text: 'Hello.' });
  const stranger = host('a-stranger');
  stranger.env['PERDURE_STORE'] = `s3://${BUCKET}/elsewhere`;
  for (const command of ['watch', 'show', 'send']) {
    const refused = await stranger.run(command, id, ...(command === 'send' ? ['more'] : []));
    expect(refused.err).toMatch(
      /^perdure: session \S+ is kept in store \S+, and here is store \S+: set PERDURE_STORE/m,
    );
    expect(refused.err).not.toContain('damaged');
  }
  running.signal('SIGTERM');
  await running.status;
});

test('a PERDURE_LIVE that is no address is refused in one line, without what it says (W5)', async () => {
  const place = cliPlace(null);
  const command = place.start(['list'], { env: { PERDURE_LIVE: 'redis://me:pass-word@host:port' } });
  expect(await command.status).not.toBe(0);
  expect(command.err()).toMatch(/^perdure: PERDURE_LIVE is no address of a Redis: give redis:[^\n]*\n$/);
  expect(command.err()).not.toContain('pass-word');
});
