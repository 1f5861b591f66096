// The Managed Agents API as a program uses it: the SDK with a base URL and a key, `perdure serve`
// and a worker in processes of their own, a scripted model.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import type {
  BetaManagedAgentsSessionEvent,
  BetaManagedAgentsStreamSessionEvents,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { gate, reply, type ScriptedModelOptions, text, thinking, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, type Command, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { expectWellFormed } from './served.ts';

type Place = ReturnType<typeof cliPlace>;
type Event = BetaManagedAgentsStreamSessionEvents;

async function serve(place: Place, port: number): Promise<Command> {
  const command = place.start(['serve', '--port', `${port}`, '--managed', join(place.root, 'agents')]);
  await until(() => command.out().includes('page '));
  expect(command.out()).toContain(`managed agents http://127.0.0.1:${port}\n`);
  onTestFinished(() => command.signal('SIGKILL'));
  return command;
}

async function managed(script: ScriptedModelOptions['script']) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  const port = await findFreePort();
  const server = await serve(place, port);
  const apiKey = (await place.run('serve', '--token')).out.trim();
  const client = new Anthropic({ apiKey, authToken: null, baseURL: `http://127.0.0.1:${port}`, logLevel: 'off' });
  const worker = await readyWorker(place);
  return { client, model, place, port, server, worker, apiKey };
}

async function newSession(client: Anthropic, tools = true): Promise<string> {
  const agent = await client.beta.agents.create({
    name: 'Coder',
    model: 'claude-sonnet-5-5',
    system: 'You write files.',
    ...(tools && { tools: [{ type: 'agent_toolset_20260401' as const }] }),
  });
  return (await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' })).id;
}

const say = (words: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text: words }] });

async function listed(client: Anthropic, session: string): Promise<readonly BetaManagedAgentsSessionEvent[]> {
  const events: BetaManagedAgentsSessionEvent[] = [];
  for await (const event of client.beta.sessions.events.list(session)) events.push(event);
  return events;
}

/** Collects the events of a stream until one fits. */
async function streamUntil(stream: AsyncIterable<Event>, into: Event[], isLast: (event: Event) => boolean) {
  for await (const event of stream) {
    into.push(event);
    if (isLast(event)) return;
  }
}

const isIdle = (event: Event): boolean => event.type === 'session.status_idle';
/** What was processed, without previews: an input is told once more before it is. */
const processed = (events: readonly Event[]) =>
  events.filter((event) => 'processed_at' in event && event.processed_at !== null);

test('a program of five lines has its answer, and list and stream say the same (G31 G34 G41)', async () => {
  const write = toolUse('write', { file_path: 'a.txt', content: 'Hello.\n' });
  const { client, place } = await managed([
    reply([thinking('A file.'), text('I write it.'), write]),
    reply('Written.'),
    reply('Again.'),
  ]);
  const session = await newSession(client);
  const events: Event[] = [];
  const stream = await client.beta.sessions.events.stream(session);
  const { data = [] } = await client.beta.sessions.events.send(session, { events: [say('Write a.txt.')] });
  await streamUntil(stream, events, isIdle);
  expect(processed(events).map(({ type }) => type)).toEqual([
    'user.message',
    'session.status_running',
    'span.model_request_start',
    'agent.thinking',
    'agent.message',
    'agent.tool_use',
    'span.model_request_end',
    'agent.tool_result',
    'span.model_request_start',
    'agent.message',
    'span.model_request_end',
    'session.usage',
    'session.status_idle',
  ]);
  expect(events.find((event) => event.type === 'agent.tool_use')).toMatchObject({
    name: 'write',
    input: { file_path: 'a.txt', content: 'Hello.\n' },
  });
  const messages = events.filter((event) => event.type === 'user.message');
  expect(new Set(messages.map(({ id }) => id))).toEqual(new Set([data[0]?.id]));
  expect(readFileSync(join(place.root, 'agents', session, 'a.txt'), 'utf8')).toBe('Hello.\n');
  const all = await listed(client, session);
  expectWellFormed(all);
  expect(processed(events)).toEqual(all);
  expect(all.at(-1)).toMatchObject({ stop_reason: { type: 'end_turn' } });
  const retrieved = await client.beta.sessions.retrieve(session);
  expect(retrieved).toMatchObject({ status: 'idle', agent: { name: 'Coder' }, environment_id: 'env_default' });
  expect(retrieved.usage.output_tokens).toBeGreaterThan(0);
  await client.beta.sessions.events.send(session, { events: [say('Once more.')] });
  await until(async () => (await listed(client, session)).filter(isIdle).length === 2);
  expect((await listed(client, session)).slice(0, all.length)).toEqual(all);
  const types = await client.beta.sessions.events.list(session, { types: ['agent.message'], order: 'desc', limit: 1 });
  expect(types.data).toMatchObject([{ content: [{ text: 'Again.' }] }]);
  await client.beta.sessions.delete(session);
  await expect(client.beta.sessions.retrieve(session)).rejects.toBeInstanceOf(Anthropic.NotFoundError);
});

test('a rewind by the HTTP API takes the id of a session, and its events follow (T1 G85)', async () => {
  const { client, apiKey } = await managed([reply('One.'), reply('Two.')]);
  const session = await newSession(client, false);
  for (const [count, words] of ['First.', 'Second.'].entries()) {
    await client.beta.sessions.events.send(session, { events: [say(words)] });
    await until(async () => (await listed(client, session)).filter(isIdle).length === count + 1);
  }
  const answer = await fetch(`${client.baseURL}/api/v1/sessions/${session}/rewind`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: '{}',
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
  const events = await listed(client, session);
  expectWellFormed(events);
  expect(events.flatMap((event) => (event.type === 'agent.message' ? event.content : []))).toMatchObject([
    { text: 'One.' },
  ]);
});

test('an interrupt ends the turn, and an archive the session and its stream (G22 G45)', async () => {
  const { hold, release } = gate();
  onTestFinished(release);
  const { client, model } = await managed([reply('This goes on and on.', { hold, holdAfterEvent: 4 })]);
  const session = await newSession(client, false);
  const events: Event[] = [];
  const stream = await client.beta.sessions.events.stream(session);
  const whole = streamUntil(stream, events, () => false);
  await client.beta.sessions.events.send(session, { events: [say('Go.')] });
  await model.waitForRequest(1);
  const busy = client.beta.sessions.delete(session);
  await expect(busy).rejects.toMatchObject({ status: 409 });
  await client.beta.sessions.events.send(session, { events: [{ type: 'user.interrupt' }] });
  await until(() => events.some(isIdle));
  await client.beta.sessions.archive(session);
  await whole;
  expect(events.at(-1)?.type).toBe('session.status_terminated');
  const all = await listed(client, session);
  expectWellFormed(all);
  expect(processed(events)).toEqual(all);
  const interrupts = events.filter(({ type }) => type === 'user.interrupt');
  expect(new Set(interrupts.map((event) => 'id' in event && event.id)).size).toBe(1);
  expect(all.filter(({ type }) => type === 'user.interrupt')).toHaveLength(1);
  await expect(client.beta.sessions.events.send(session, { events: [say('More.')] })).rejects.toThrow(
    /Cannot send events to archived session/,
  );
});

/** Each preview comes before its event, and is the beginning of it; none begins twice. */
function expectPrefixes(events: readonly Event[]): void {
  const starts = events.flatMap((event) => (event.type === 'event_start' ? [event.event.id] : []));
  expect(new Set(starts).size).toBe(starts.length);
  for (const id of starts) {
    const words = (event: Event): boolean => event.type === 'event_delta' && event.event_id === id;
    const at = events.findIndex((event) => event.type === 'agent.message' && event.id === id);
    if (at < 0) continue;
    expect(events.slice(at).some(words)).toBe(false);
    const preview = events.flatMap((event) =>
      words(event) && event.type === 'event_delta' ? [event.delta.content.text] : [],
    );
    const event = events[at];
    const whole =
      event?.type === 'agent.message' ? event.content.map((block) => ('text' in block ? block.text : '')) : [];
    expect(whole.join('').startsWith(preview.join(''))).toBe(true);
  }
}

test('a worker that is killed in the middle of a reply changes no event, and none comes twice (G31 G35)', async () => {
  const { hold, release } = gate();
  onTestFinished(release);
  const { client, model, place, worker } = await managed([
    reply([toolUse('write', { file_path: 'a.txt', content: '1' })]),
    reply('This is never ended.', { hold, holdAfterEvent: 4, deltaChars: 5 }),
    reply('Done, and in more than one piece.', { deltaChars: 5 }),
  ]);
  const session = await newSession(client);
  const events: Event[] = [];
  const stream = await client.beta.sessions.events.stream(session, { event_deltas: ['agent.message'] });
  const streamed = streamUntil(stream, events, isIdle);
  await client.beta.sessions.events.send(session, { events: [say('Go.')] });
  await model.waitForRequest(2);
  await until(() => events.some(({ type }) => type === 'event_delta'));
  const before = await listed(client, session);
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  expect(await listed(client, session)).toEqual(before);
  await readyWorker(place);
  await streamed;
  const all = await listed(client, session);
  expect(all.slice(0, before.length)).toEqual(before);
  expect(await listed(client, session)).toEqual(all);
  expectWellFormed(all);
  expect(processed(events)).toEqual(all);
  const ends = all.filter((event) => event.type === 'span.model_request_end');
  expect(ends.map(({ is_error }) => is_error)).toEqual([false, true, false]);
  expectPrefixes(events);
  const lost = events.flatMap((event) => (event.type === 'event_start' ? [event.event.id] : []))[0];
  expect(all.some(({ id }) => id === lost)).toBe(false);
});

test('a shell goes on where it was after its worker was killed, and the model knows the SDK’s inputs (G51)', async () => {
  const { client, model, place, worker } = await managed([
    reply([toolUse('bash', { command: 'mkdir -p a/b && cd a && export KEPT="x y" && pwd', timeout_ms: 60_000 })]),
    reply('Made.'),
    reply([toolUse('bash', { command: 'pwd; echo "$KEPT"; cd b' }), toolUse('read', { file_path: 'none' })]),
    reply([toolUse('bash', { command: 'pwd; echo "${KEPT-gone}"', restart: true })]),
    reply('Done.'),
  ]);
  const session = await newSession(client);
  const cwd = join(place.root, 'agents', session);
  const turn = async (words: string, idle: number): Promise<void> => {
    await client.beta.sessions.events.send(session, { events: [say(words)] });
    await until(async () => (await listed(client, session)).filter(isIdle).length === idle);
  };
  await turn('Go.', 1);
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  await readyWorker(place);
  await turn('Go on.', 2);
  const results = (await listed(client, session)).flatMap((event) =>
    event.type === 'agent.tool_result' ? event.content?.map((block) => ('text' in block ? block.text : '')) : [],
  );
  expect(results[0]).toBe(join(cwd, 'a'));
  expect(results[1]).toBe(`${join(cwd, 'a')}\nx y`);
  expect(results[2]).toContain('none');
  expect(results[3]).toBe(`${cwd}\ngone`);
  type Offered = { readonly tools: readonly { name: string; input_schema: { properties: object } }[] };
  const { tools } = (await model.waitForRequest(1)).body as Offered;
  expect(tools.map(({ name }) => name)).toEqual(['bash', 'edit', 'glob', 'grep', 'read', 'web_fetch', 'write']);
  expect(Object.keys(tools[0]?.input_schema.properties ?? {})).toEqual(['command', 'restart', 'timeout_ms']);
});

test('a server that is killed gives the same events again, and a stream goes on after the last (G41)', async () => {
  const { client, server, place, port, apiKey } = await managed([reply('One.'), reply('Two.')]);
  const session = await newSession(client, false);
  await client.beta.sessions.events.send(session, { events: [say('Go.')] });
  await until(async () => (await listed(client, session)).some(isIdle));
  const before = await listed(client, session);
  process.kill(server.pid, 'SIGKILL');
  await server.status;
  await serve(place, port);
  expect(await listed(client, session)).toEqual(before);
  const path = `http://127.0.0.1:${port}/v1/sessions/${session}/events/stream`;
  const read = async (last: string): Promise<readonly string[]> => {
    const stop = new AbortController();
    const headers = { 'x-api-key': apiKey, 'last-event-id': last };
    const response = await fetch(path, { headers, signal: stop.signal });
    let frames = '';
    for await (const bytes of response.body as AsyncIterable<Uint8Array>) {
      frames += Buffer.from(bytes).toString();
      if (frames.includes('session.status_idle')) break;
    }
    stop.abort();
    return [...frames.matchAll(/^event: (\S+)\nid: (\S+)\ndata: /gm)].map(([, , id = '']) => id);
  };
  const ids = before.map(({ id }) => id);
  expect(await read('0')).toEqual(ids);
  expect(await read(ids[1] ?? '')).toEqual(ids.slice(2));
  expect((await fetch(path, { headers: { 'x-api-key': apiKey, 'last-event-id': 'sevt_x' } })).status).toBe(400);
});

test('a title and metadata are told as they change, before the first message and after, also over kills (G27 G31)', async () => {
  const { client, place, port, server, worker } = await managed([reply('Yes.'), reply('Yes again.')]);
  const id = await newSession(client, false);
  const { sessions } = client.beta;
  const streamed: Event[] = [];
  const stream = await sessions.events.stream(id);
  const read = streamUntil(stream, streamed, ({ type }) => type === 'session.updated');
  await sessions.update(id, { title: 'Hello', metadata: { team: 'a' } });
  await sessions.update(id, { title: 'Hello' });
  await read;
  const early = await listed(client, id);
  expect(early).toMatchObject([{ type: 'session.updated', title: 'Hello', metadata: { team: 'a' } }]);
  expect(streamed).toEqual(early);
  const turn = async (count: number) => {
    await sessions.events.send(id, { events: [say('Well?')] });
    return until(async () => {
      const events = await listed(client, id);
      return events.filter(isIdle).length === count && events;
    });
  };
  const first = await turn(1);
  expect(first.slice(0, 2)).toMatchObject([early[0], { type: 'user.message' }]);
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  // Nobody works, and nobody has to.
  await sessions.update(id, { metadata: { team: null } });
  expect((await sessions.update(id, { title: 'Bye' })).title).toBe('Bye');
  server.signal('SIGKILL');
  await server.status;
  await serve(place, port);
  await readyWorker(place);
  const second = await turn(2);
  expectWellFormed(second);
  expect(second.slice(0, first.length)).toEqual(first);
  expect(second.slice(first.length, first.length + 2)).toMatchObject([
    { type: 'session.updated', title: 'Bye' },
    { type: 'user.message' },
  ]);
  expect(second[first.length]).not.toHaveProperty('metadata');
});
