// perdure serve as programs use it: a stream that is taken up after its server was killed, and the
// examples of docs/http.md.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { routes } from '../../page/api/routes.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker, type Command } from '../support/cli.ts';
import { shellBlocks } from '../support/documents.ts';
import { heldToSchema } from '../support/held-to-schema.ts';
import { until } from '../support/until.ts';

type Place = ReturnType<typeof cliPlace>;
type Served = { readonly command: Command; readonly api: string; readonly token: string };

async function serve(place: Place, port: number): Promise<Served> {
  const command = place.start(['serve', '--port', `${port}`]);
  await until(() => command.out().includes('page '));
  const [, api = ''] = /^api {2}(\S+)\n/.exec(command.out()) ?? [];
  expect(api).toBe(`http://127.0.0.1:${port}/api/v1`);
  const token = (await place.run('serve', '--token')).out.trim();
  // What is printed may be kept in a log.
  expect([token.length, command.out().includes(token), command.err().includes(token)]).toEqual([32, false, false]);
  return { command, api, token };
}

type Asked = { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> };

/** Answers are held to what the document says of them. */
async function ask({ api, token }: Served, name: string, path: string, { body, headers = {} }: Asked = {}) {
  const response = await fetch(`${api}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const operation = routes.find((one) => one.name === name);
  const answer: unknown = await response.json();
  expect([response.status, answer]).toEqual([operation?.status, answer]);
  return operation?.answer.parse(answer) as Readonly<Record<string, unknown>>;
}

type Heard = { readonly id: string; readonly event: Readonly<Record<string, unknown>> };

/** Calls `hear` with each event until the stream ends or breaks. */
async function listen({ api, token }: Served, path: string, last: string | null, hear: (heard: Heard) => void) {
  const headers = { authorization: `Bearer ${token}`, ...(last === null ? {} : { 'last-event-id': last }) };
  const response = await fetch(`${api}${path}`, { headers });
  let rest = '';
  try {
    for await (const bytes of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      const parts = (rest + Buffer.from(bytes).toString()).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        const [, id = '', data = ''] = /^id: (.*)\ndata: (.*)$/m.exec(part) ?? [];
        if (data !== '') hear({ id, event: heldToSchema(JSON.parse(data) as Heard['event']) });
      }
    }
  } catch {
    // The server was killed.
  }
  return response.status;
}

/** Less what was taken back. */
function standing(heard: readonly Heard[]): readonly Heard['event'][] {
  let shown: Heard['event'][] = [];
  for (const { event } of heard) {
    if (event['type'] !== 'tombstone') shown.push(event);
    else shown = shown.filter((one) => one['step'] !== event['step'] || one['attempt'] !== event['attempt']);
  }
  return shown;
}

const textOf = (events: readonly Heard['event'][]): string =>
  events.map((event) => (event['type'] === 'text_delta' ? String(event['text']) : '')).join('');

test('a stream goes on after its server was killed: nothing is missed, nothing stands twice (Q11)', async () => {
  const { hold, release } = gate();
  const SAID = 'This is said slowly, and goes on for a while.';
  const model = await modelFor([
    reply([toolUse('glob', { pattern: '*' })]),
    reply(SAID, { hold, holdAfterEvent: 4, deltaChars: 10 }),
  ]);
  const place = cliPlace(model);
  const port = await findFreePort();
  const first = await serve(place, port);
  await readyWorker(place);
  const start = { body: { prompt: 'Look.' }, headers: { 'idempotency-key': 'k-1' } };
  const sent = await ask(first, 'start', '/sessions', start);
  expect(await ask(first, 'start', '/sessions', start)).toEqual(sent);
  const session = String(sent['session']);
  const heard: Heard[] = [];
  const path = `/sessions/${session}/events?message=k-1`;
  const broken = listen(first, path, null, (one) => heard.push(one));
  await until(() => textOf(heard.map(({ event }) => event)).includes('This is'));
  process.kill(first.command.pid, 'SIGKILL');
  await Promise.all([first.command.status, broken]);
  const before = heard.length;
  const second = await serve(place, port);
  expect(second.token).toBe(first.token);
  const again = listen(second, path, heard.at(-1)?.id ?? null, (one) => heard.push(one));
  await until(() => heard.length > before);
  release();
  expect(await again).toBe(200);
  const shown = standing(heard);
  expect(textOf(shown)).toBe(SAID);
  const types = shown.map((event) => event['type']).filter((type) => type !== 'text_delta');
  for (const once of ['run_start', 'user', 'tool_use', 'tool_end', 'run_end', 'result'])
    expect([once, types.filter((type) => type === once).length]).toEqual([once, 1]);
  expect(types.filter((type) => type === 'request_start')).toHaveLength(2);
  expect(shown.at(-1)).toMatchObject({ type: 'result', reason: 'completed', text: SAID });
  expect(await listen(second, path, heard.at(-1)?.id ?? null, () => undefined)).toBe(204);
  await read(second, session);
});

/** What can be read of a session that has answered. */
async function read(served: Served, session: string): Promise<void> {
  const { result } = await ask(served, 'result', `/sessions/${session}/result`);
  expect(result).toMatchObject({ reason: 'completed', run: 1 });
  await until(async () => (await ask(served, 'describe', `/sessions/${session}`))['phase'] === 'idle');
  expect(await ask(served, 'describe', `/sessions/${session}`)).toMatchObject({ phase: 'idle', runs: 1 });
  const { entries } = (await ask(served, 'transcript', `/sessions/${session}/transcript`)) as {
    entries: { entry: { kind: string } }[];
  };
  expect(entries.map(({ entry }) => entry.kind)).toEqual(
    expect.arrayContaining(['user', 'reply', 'outcomes', 'run_ended']),
  );
  // The list lags behind.
  await until(async () => {
    const { sessions } = (await ask(served, 'list', '/sessions?filter=phase:idle')) as {
      sessions: { session: string }[];
    };
    return sessions.length === 1 && sessions[0]?.session === session;
  });
  expect(await ask(served, 'allApprovals', '/approvals')).toEqual({ approvals: [] });
}

let examples: readonly string[];
beforeAll(() => {
  examples = shellBlocks('docs/http.md').map(({ code }) => code);
});

test('the examples of docs/http.md do what the page says (Q11)', async () => {
  const place = cliPlace(await modelFor([reply('Hello.'), reply('Goodbye.')]));
  const { api, token, command } = await serve(place, await findFreePort());
  onTestFinished(() => command.signal('SIGTERM'));
  await readyWorker(place);
  const env = { PATH: process.env.PATH, API: api, TOKEN: token, SESSION: '' };
  const run = async (text = ''): Promise<string> => (await promisify(execFile)('sh', ['-ec', text], { env })).stdout;
  const [start, follow, resume, more, find] = examples;
  const sent = JSON.parse(await run(start)) as { readonly session: string; readonly messageId: string };
  expect(sent.messageId).toBe('order-1');
  env.SESSION = sent.session;
  expect(await run(follow)).toMatch(/"type":"result"/);
  expect(await run(resume)).toMatch(/"type":"result"/);
  expect(await run(more)).toContain('"messageId":"order-2"');
  await until(async () => {
    const { last } = (await ask({ api, token, command }, 'describe', `/sessions/${sent.session}`)) as {
      last: { run: number };
    };
    return last.run === 2;
  });
  await until(async () => (await run(find)).includes(`"title":"Say hello."`));
  expect(examples).toHaveLength(5);
  command.signal('SIGTERM');
  expect(await command.status).toBe(0);
});

test('a new address of the page is to be had as long as it is served (O12)', async () => {
  const place = cliPlace(null);
  const none = await place.run('page', '--address');
  expect([none.status, none.out]).toEqual([2, '']);
  expect(none.err).toMatch(/no page is served from the data folder \S+: `perdure page` serves it\n$/);
  const { command } = await serve(place, await findFreePort());
  const first = await place.run('page', '--address');
  expect([first.status, first.err]).toEqual([0, '']);
  const [, printed = ''] = /^page (\S+)$/m.exec(command.out()) ?? [];
  const [, address = ''] = /^page (\S+)\n$/.exec(first.out) ?? [];
  expect(new URL(address).origin).toBe(new URL(printed).origin);
  expect(address).not.toBe(printed);
  expect((await place.run('page', '--address', '--metrics', '1')).err).toContain(
    '--address cannot be combined with other options',
  );
  command.signal('SIGTERM');
  expect(await command.status).toBe(0);
});

test('a port that is taken is refused in a sentence (Q11)', async () => {
  const place = cliPlace(null);
  const { command, api } = await serve(place, await findFreePort());
  const { port } = new URL(api);
  const taken = place.start(['serve', '--port', port]);
  expect(await taken.status).not.toBe(0);
  expect(taken.err()).toContain(`port ${port} of this machine is taken: give --port another`);
  command.signal('SIGTERM');
  expect(await command.status).toBe(0);
});
