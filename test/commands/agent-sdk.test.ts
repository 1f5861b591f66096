// Programs for `perdure/agent-sdk` as their users start them: killed at the moments that hurt, and
// started again.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { gate, type ParsedRequest, reply, text, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor } from '../support/cli.ts';
import { pngOf } from '../support/images.ts';
import { killWhen } from '../support/kill-when.ts';
import { until } from '../support/until.ts';

const examples = join(import.meta.dirname, '../../examples/agent-sdk');
/** By which a program is known when it is started again. */
const named = { PERDURE_SESSION: 'desk 7' };

type Asked = { readonly path: string; readonly body: Readonly<Record<string, unknown>>; readonly key: string };

/**
 * What the example's tools and `canUseTool` ask. The first of each request of `held` is never
 * answered.
 */
async function shop(held: readonly string[], answers: Readonly<Record<string, (asked: Asked) => string>>) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void textOf(request).then((body) => {
      const one = {
        path: request.url ?? '',
        body: JSON.parse(body) as Asked['body'],
        key: String(request.headers['idempotency-key'] ?? ''),
      };
      asked.push(one);
      const isFirst = asked.filter(({ path }) => path === one.path).length === 1;
      if (!isFirst || !held.includes(one.path)) response.end(answers[one.path]?.(one) ?? '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const of = (path: string): readonly Asked[] => asked.filter((one) => one.path === path);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, of };
}

type Told = { readonly type: string; readonly subtype?: string; readonly uuid: string; readonly session_id: string };

/** Starts of one program in one folder; `told` has the messages of all of them. */
function program(
  script: string,
  place: { readonly cwd: string; readonly data: string; readonly env: NodeJS.ProcessEnv },
) {
  const told: Told[] = [];
  const folder = join(place.data, 'programs');
  const noted = (): number =>
    readdirSync(folder)
      .filter((file) => file.endsWith('.log'))
      .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n').slice(0, -1))
      .filter((line) => !line.endsWith(' 0')).length;
  const stored = () =>
    told.filter(({ type, subtype }) => type === 'assistant' || type === 'user' || subtype === 'compact_boundary');
  const start = (...args: readonly string[]) => {
    const child = spawn(process.execPath, [join(examples, script), ...args], {
      ...place,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let [rest, err] = ['', ''];
    child.stdout.on('data', (bytes: Buffer) => {
      const lines = (rest + bytes.toString()).split('\n');
      rest = lines.pop() ?? '';
      told.push(...lines.map((line) => JSON.parse(line) as Told));
    });
    child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()));
    const status = new Promise<number | null>((resolve) => child.once('close', resolve));
    return {
      err: () => err,
      status,
      /** Throws what it said when it ends before. */
      reaches: (probe: () => boolean) =>
        until(() => {
          if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}: ${err}`);
          return probe();
        }),
      /** Once it has asked for the message after the last one, so that it has received that. */
      kill: async () => {
        await killWhen(child, () => noted() === stored().length);
        await status;
      },
    };
  };
  return { start, told, stored };
}

test('a program that is killed while it decides, pays and listens ends with each effect and message once (Q7 Q8 Q9)', async () => {
  const held = gate();
  onTestFinished(held.release);
  let listens = true;
  const refund = (order: string, cents: number) => toolUse('mcp__shop__refund', { order, cents });
  // By what it is asked, for a busy machine may ask again.
  const model = await modelFor(({ messages: { length } }) => {
    if (length === 1) return reply([text('Looking.'), toolUse('mcp__shop__orders', { customer: 'ada' })]);
    if (length === 3) return reply([refund('a-1', 1200), refund('a-2', 90_000)]);
    return listens ? { ...reply('Paid.'), hold: held.hold, holdAfterEvent: 2 } : reply('Paid a-1; a-2 is too much.');
  });
  const paid = new Map<string, unknown>();
  const desk = await shop(['/approvals', '/refunds'], {
    '/orders': () => 'a-1 (1200 cents), a-2 (90000 cents)',
    '/approvals': ({ body }) => JSON.stringify({ allowed: body['order'] === 'a-1', why: 'that is too much' }),
    '/refunds': ({ key, body }) => {
      paid.set(key, body);
      return 'paid';
    },
  });
  const place = cliPlace(model);
  const { start, told, stored } = program('refunds.mjs', {
    ...place,
    env: { ...place.env, ...named, SHOP_URL: desk.url },
  });

  const deciding = start();
  await deciding.reaches(() => desk.of('/approvals').length === 1);
  await deciding.kill();
  const paying = start();
  await paying.reaches(() => desk.of('/refunds').length === 1);
  await paying.kill();
  const listening = start();
  await listening.reaches(() => model.requests.some(({ body }) => (body as ParsedRequest).messages.length === 5));
  await listening.kill();
  listens = false;
  const last = start();
  expect({ status: await last.status, err: last.err() }).toEqual({ status: 0, err: expect.any(String) as string });

  expect([...paid.values()]).toEqual([{ order: 'a-1', cents: 1200 }]);
  expect(new Set(desk.of('/refunds').map(({ key }) => key)).size).toBe(1);
  const kinds = ['assistant', 'user', 'assistant', 'user', 'user', 'assistant'];
  expect(stored().map(({ type }) => type)).toEqual(kinds);
  expect(new Set(stored().map(({ uuid }) => uuid)).size).toBe(kinds.length);
  expect(new Set(told.map(({ session_id: session }) => session)).size).toBe(1);
  expect(told.filter(({ type }) => type === 'result')).toMatchObject([
    {
      subtype: 'success',
      result: 'Paid a-1; a-2 is too much.',
      num_turns: 3,
      permission_denials: [{ tool_name: 'mcp__shop__refund', tool_input: { order: 'a-2', cents: 90_000 } }],
    },
  ]);
  expect(model.problems).toEqual([]);
});

test('a program that PERDURE_SESSION names is answered from the store when it asks again (Q9)', async () => {
  const model = await modelFor([reply('Nothing was returned.')]);
  const place = cliPlace(model);
  const { start, told } = program('refunds.mjs', { ...place, env: { ...place.env, ...named } });
  for (const _ of [1, 2]) expect(await start().status).toBe(0);
  expect(told.map(({ type }) => type)).toEqual(['system', 'assistant', 'result', 'system', 'result']);
  expect(told.at(-1)).toEqual(told[2]);
  expect(model.requests).toHaveLength(1);
});

/** What the model was sent as images, by request. */
const imagesIn = (body: unknown): readonly string[] =>
  [...JSON.stringify(body).matchAll(/"data":"([^"]+)"/g)].map(([, data = '']) => data);

test('streaming input goes on after a kill with the message it was at, images and interrupts included (Q7 Q9)', async () => {
  const [first, third] = [gate(), gate()];
  onTestFinished(() => [first, third].forEach(({ release }) => release()));
  const long = reply([text('on and on '.repeat(100))]);
  const model = await modelFor([
    { ...reply('Cut off.'), hold: first.hold, holdAfterEvent: 2 },
    reply('A grey line.'),
    { ...long, hold: third.hold, holdAfterEvent: 7 },
    { ...reply('Cut off.'), hold: third.hold, holdAfterEvent: 2 },
    reply('Another line.'),
  ]);
  const place = cliPlace(model);
  const data = [1, 2, 3].map((width) => pngOf(width, 1));
  for (const [at, bytes] of data.entries()) writeFileSync(join(place.cwd, `${at + 1}.png`), bytes);
  const { start, told, stored } = program('pictures.mjs', { ...place, env: { ...place.env, ...named } });

  const beginning = start('.');
  await beginning.reaches(() => model.requests.length === 1);
  await beginning.kill();
  const going = start('.');
  await going.reaches(() => model.requests.length === 4);
  await going.kill();
  const before = told.length;
  const last = start('.');
  expect({ status: await last.status, err: last.err() }).toMatchObject({ status: 0 });

  const texts = stored().map((message) =>
    JSON.stringify(message)
      .match(/"text":"([^"]*)"/)?.[1]
      ?.slice(0, 20),
  );
  expect(texts.filter((each) => each === 'A grey line.')).toHaveLength(1);
  expect(texts.at(-1)).toBe('Another line.');
  expect(new Set(stored().map(({ uuid }) => uuid)).size).toBe(stored().length);
  const results = new Map(told.filter(({ type }) => type === 'result').map((result) => [result.uuid, result]));
  expect([...results.values()]).toMatchObject([
    { subtype: 'success', result: 'A grey line.' },
    { subtype: 'error_during_execution', terminal_reason: 'aborted_streaming' },
    { subtype: 'success', result: 'Another line.' },
  ]);
  // Whoever waits for results gets those of its earlier messages again, under the same ids.
  expect(told.slice(before).filter(({ type }) => type === 'result')).toHaveLength(3);
  const sent = model.requests.map(({ body }) => imagesIn(body));
  const base64 = data.map((bytes) => bytes.toString('base64'));
  expect(sent).toEqual([1, 1, 2, 3, 3].map((count) => base64.slice(0, count)));
  expect(model.problems).toEqual([]);
});

test('hooks of a program are asked again after a kill, and what they say holds (Q7 Q8 L89)', async () => {
  const model = await modelFor([
    reply([
      toolUse('Write', { file_path: 'secret.txt', content: 'x' }),
      toolUse('Write', { path: 'draft.md', content: '4.2' }),
    ]),
    reply('There they are.'),
    reply([toolUse('write', { path: 'NOTES.md', content: '4.2' })]),
    reply('Now they are.'),
  ]);
  const guard = await shop(['/guard', '/audit'], {
    '/guard': ({ body }) => (String(body['file_path']).includes('secret') ? 'not that file' : ''),
    '/audit': () => '',
  });
  const place = cliPlace(model);
  const { start, told, stored } = program('guarded.mjs', {
    ...place,
    env: { ...place.env, ...named, GUARD_URL: guard.url },
  });

  const asking = start();
  await asking.reaches(() => guard.of('/guard').length === 1);
  await asking.kill();
  const telling = start();
  await telling.reaches(() => guard.of('/audit').length === 1);
  await telling.kill();
  const last = start();
  expect({ status: await last.status, err: last.err() }).toMatchObject({ status: 0 });

  expect(readdirSync(place.cwd).toSorted()).toEqual(['NOTES.md', 'draft.md']);
  expect(guard.of('/guard')[0]?.body).toEqual({ file_path: 'secret.txt', content: 'x' });
  expect(guard.of('/audit').at(-1)?.body).toEqual({ tool: 'Write', input: { file_path: 'NOTES.md', content: '4.2' } });
  const sent = model.requests.map(({ body }) => JSON.stringify(body));
  expect(sent[0]).toContain('The release is 4.2, of today.');
  expect(sent[1]).toContain('not that file');
  expect(sent[2]).toContain('NOTES.md is missing.');
  expect(new Set(stored().map(({ uuid }) => uuid)).size).toBe(stored().length);
  expect(told.at(-1)).toMatchObject({ type: 'result', subtype: 'success', result: 'Now they are.' });
  expect(model.problems).toEqual([]);
});
