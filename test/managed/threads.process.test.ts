// Agents of a roster as a program of the SDK meets them (G68): `perdure serve` and a worker in
// processes of their own, killed while an agent works in its thread.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import type { AgentCreateParams } from '@anthropic-ai/sdk/resources/beta/agents';
import type {
  BetaManagedAgentsEventParams,
  BetaManagedAgentsSessionEvent,
  BetaManagedAgentsStreamSessionEvents,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, onTestFinished, test } from 'vitest';
import { gate, reply, type ScriptedModelOptions, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { collect } from './staged.ts';
import { serveManaged } from './served.ts';

const say = (words: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text: words }] });
const give = (type: string, prompt: string) => toolUse('agent', { description: prompt, prompt, type });
const typesOf = (events: readonly { readonly type: string }[]): readonly string[] =>
  events.map(({ type }) => type).filter((type) => !type.startsWith('span.'));

type Tools = NonNullable<AgentCreateParams['tools']>;
const toolset: Tools = [{ type: 'agent_toolset_20260401' }];

async function coordinated(script: ScriptedModelOptions['script'], tools: Tools = toolset) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  const client = await serveManaged(place);
  const worker = await readyWorker(place);
  const writer = await client.beta.agents.create({
    name: 'Writer',
    description: 'Writes files.',
    model: { id: 'claude-sonnet-5-5', effort: 'low' },
    system: 'You write files.',
    tools,
  });
  const agent = await client.beta.agents.create({
    name: 'Lead',
    model: 'claude-opus-5-5',
    system: 'You lead.',
    multiagent: { type: 'coordinator', agents: [writer.id, { type: 'self' }] },
  });
  const { id } = await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
  const listed = () => collect<BetaManagedAgentsSessionEvent>(client.beta.sessions.events.list(id));
  const threads = () => collect(client.beta.sessions.threads.list(id));
  const inThread = (thread: string) =>
    collect<BetaManagedAgentsSessionEvent>(client.beta.sessions.threads.events.list(thread, { session_id: id }));
  const send = (words: string) => client.beta.sessions.events.send(id, { events: [say(words)] });
  return { client, model, place, worker, writer, agent, id, listed, threads, inThread, send };
}

test('an agent of the roster works in a thread, also after its worker was killed (G68 G31)', async () => {
  const { hold, release } = gate();
  onTestFinished(release);
  const { client, model, place, worker, writer, id, listed, threads, inThread, send } = await coordinated([
    reply([give('Writer', 'Write a.txt.')]),
    reply([toolUse('write', { file_path: 'a.txt', content: 'Hello.\n' })]),
    reply('This is never ended.', { hold, holdAfterEvent: 4 }),
    reply('I wrote a.txt.'),
    reply('It is written.'),
  ]);
  const streamed: BetaManagedAgentsStreamSessionEvents[] = [];
  const stream = await client.beta.sessions.events.stream(id);
  await send('Have a.txt written.');
  const whole = (async () => {
    for await (const event of stream) {
      streamed.push(event);
      if (event.type === 'session.status_idle') return;
    }
  })();
  await model.waitForRequest(3);
  await until(async () => (await listed()).some(({ type }) => type === 'session.thread_status_running'));
  const [primary, child] = await threads();
  expect(primary).toMatchObject({ parent_thread_id: null, status: 'running', agent: { name: 'Lead' } });
  expect(child).toMatchObject({
    parent_thread_id: primary?.id,
    session_id: id,
    status: 'running',
    agent: { id: writer.id, name: 'Writer', system: 'You write files.', version: 1 },
  });
  const before = [await listed(), await inThread(child!.id)] as const;
  expect(typesOf(before[0])).toEqual([
    'user.message',
    'session.status_running',
    'session.thread_created',
    'agent.thread_message_sent',
    'session.thread_status_running',
  ]);
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  await readyWorker(place);
  await whole;
  const events = await listed();
  expect(events.slice(0, before[0].length)).toEqual(before[0]);
  expect(await listed()).toEqual(events);
  expect(streamed.filter((event) => 'processed_at' in event && event.processed_at !== null)).toEqual(events);
  expect(typesOf(events).slice(typesOf(before[0]).length)).toEqual([
    'session.thread_status_idle',
    'agent.thread_message_received',
    'session.thread_status_terminated',
    'agent.message',
    'session.usage',
    'session.status_idle',
  ]);
  expect(events.find(({ type }) => type === 'session.thread_status_idle')).toMatchObject({
    agent_name: 'Writer',
    session_thread_id: child?.id,
    stop_reason: { type: 'end_turn' },
  });
  const told = events.find(({ type }) => type === 'agent.thread_message_received');
  expect(JSON.stringify(told)).toContain('I wrote a.txt.');
  const own = await inThread(child!.id);
  expect(own.slice(0, before[1].length)).toEqual(before[1]);
  expect(await inThread(child!.id)).toEqual(own);
  expect(typesOf(own)).toEqual([
    'agent.thread_message_received',
    'session.thread_status_running',
    'agent.tool_use',
    'agent.tool_result',
    'agent.message',
    'agent.thread_message_sent',
    'session.thread_status_idle',
    'session.thread_status_terminated',
  ]);
  expect(own[0]).toMatchObject({ content: [{ text: 'Write a.txt.' }], from_session_thread_id: primary?.id });
  const ids = [...events, ...own].map((event) => event.id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(readFileSync(join(place.root, 'agents', id, 'a.txt'), 'utf8')).toBe('Hello.\n');
  const again = await client.beta.sessions.threads.events.stream(
    child!.id,
    { session_id: id },
    {
      headers: { 'last-event-id': '0' },
    },
  );
  expect(await collect<BetaManagedAgentsStreamSessionEvents>(again)).toEqual(own);
  const [lead, done] = await threads();
  const { usage } = await client.beta.sessions.retrieve(id);
  expect(done?.status).toBe('terminated');
  expect((lead?.usage?.output_tokens ?? 0) + (done?.usage?.output_tokens ?? 0)).toBe(usage.output_tokens);
  expect(done?.usage?.output_tokens).toBeGreaterThan(0);
  const [first, second] = model.requests.map(({ body }) => body as { model: string; tools?: { name: string }[] });
  expect([first?.model, second?.model]).toEqual(['claude-opus-5-5', 'claude-sonnet-5-5']);
  expect(first?.tools?.map(({ name }) => name)).toEqual(['agent']);
  expect(second?.tools?.map(({ name }) => name)).not.toContain('agent');
});

test('agents work side by side, one that is not in the roster never, and an interrupt ends them (G68)', async () => {
  const { hold, release } = gate();
  onTestFinished(release);
  const { client, model, id, listed, threads, inThread, send } = await coordinated([
    reply([give('Nobody', 'x')]),
    reply([give('Lead', 'Think.'), give('Writer', 'Write.')]),
    reply('One that goes on and on.', { hold, holdAfterEvent: 4 }),
    reply('Another one.', { hold, holdAfterEvent: 4 }),
  ]);
  await send('Go.');
  await model.waitForRequest(4);
  await until(async () => (await threads()).length === 3);
  const refused = (await listed()).filter(({ type }) => type.startsWith('agent.tool_'));
  expect(refused).toMatchObject([{ type: 'agent.tool_use', name: 'agent' }, { is_error: true }]);
  const [, ...both] = await threads();
  expect(both.map(({ agent }) => ('name' in agent ? agent.name : '')).toSorted()).toEqual(['Lead', 'Writer']);
  const running = await collect(client.beta.sessions.threads.list(id, { statuses: ['running'] }));
  expect(running).toHaveLength(3);
  await client.beta.sessions.events.send(id, { events: [{ type: 'user.interrupt' }] });
  await until(async () => (await listed()).at(-1)?.type === 'session.status_idle');
  const ends = (await listed()).filter((event) => event.type === 'session.thread_status_idle');
  expect(ends.map(({ stop_reason }) => stop_reason.type)).toEqual(['end_turn', 'end_turn']);
  for (const { id: thread } of both) {
    const retrieved = await client.beta.sessions.threads.retrieve(thread, { session_id: id });
    expect(retrieved.status).toBe('terminated');
    expect((await inThread(thread)).length).toBeGreaterThan(0);
  }
  const page = await client.beta.sessions.threads.list(id, { limit: 2 });
  expect([page.data.length, (await page.getNextPage()).data.length]).toEqual([2, 1]);
  const archived = await client.beta.sessions.threads.archive(both[0]!.id, { session_id: id });
  expect(archived.archived_at).not.toBeNull();
  await client.beta.sessions.delete(id);
  await expect(client.beta.sessions.threads.list(id)).rejects.toBeInstanceOf(Anthropic.NotFoundError);
});

const asking: Tools = [
  { type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } },
  { type: 'custom', name: 'get_order', description: 'Looks up.', input_schema: { type: 'object' } },
];

test('calls of a thread that wait are shown in the session and settled there, over kills (G68 G38)', async () => {
  const { client, place, worker, id, listed, threads, inThread, send } = await coordinated(
    [
      reply([give('Writer', 'Write order 7.')]),
      reply([toolUse('get_order', { id: '7' }), toolUse('write', { file_path: 'a.txt', content: '7' })]),
      reply('Written.'),
      reply('All is done.'),
    ],
    asking,
  );
  const settle = (event: BetaManagedAgentsEventParams) => client.beta.sessions.events.send(id, { events: [event] });
  const last = async () => (await listed()).at(-1);
  const waitsFor = async (count: number): Promise<readonly string[]> => {
    let ids: readonly string[] = [];
    await until(async () => {
      const event = await last();
      ids =
        event?.type === 'session.status_idle' && event.stop_reason.type === 'requires_action'
          ? event.stop_reason.event_ids
          : [];
      return ids.length === count;
    });
    return ids;
  };
  await send('Go.');
  const [custom = '', write = ''] = await waitsFor(2);
  const [, child] = await threads();
  expect(child?.status).toBe('idle');
  expect((await client.beta.sessions.retrieve(id)).status).toBe('idle');
  const waiting = await listed();
  const shown = waiting.filter((event) => 'session_thread_id' in event && event.type.startsWith('agent.'));
  expect(shown).toMatchObject([
    { id: custom, type: 'agent.custom_tool_use', name: 'get_order', input: { id: '7' }, session_thread_id: child?.id },
    { id: write, type: 'agent.tool_use', name: 'write', evaluated_permission: 'ask', session_thread_id: child?.id },
  ]);
  const own = (await inThread(child!.id)).map((event) => event.id);
  expect(own).toEqual(expect.arrayContaining([custom, write]));
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  expect(await listed()).toEqual(waiting);
  await readyWorker(place);
  await expect(send('Are you there?')).rejects.toThrow(/waiting on responses to events/);
  const allow = { type: 'user.tool_confirmation' as const, tool_use_id: write, result: 'allow' as const };
  const { data = [] } = await settle(allow);
  expect(data).toMatchObject([{ ...allow, session_thread_id: child?.id }]);
  expect((await settle(allow)).data).toEqual(data);
  expect(await waitsFor(1)).toEqual([custom]);
  await settle({
    type: 'user.custom_tool_result',
    custom_tool_use_id: custom,
    content: [{ type: 'text', text: 'sold' }],
  });
  await until(async () => {
    const event = await last();
    return event?.type === 'session.status_idle' && event.stop_reason.type === 'end_turn';
  });
  const events = await listed();
  expect(events.slice(0, waiting.length)).toEqual(waiting);
  expect(await listed()).toEqual(events);
  expect(typesOf(events).slice(typesOf(waiting).length)).toEqual([
    'user.tool_confirmation',
    'session.thread_status_idle',
    'session.usage',
    'session.status_idle',
    'user.custom_tool_result',
    'session.thread_status_running',
    'session.status_running',
    'session.thread_status_idle',
    'agent.thread_message_received',
    'session.thread_status_terminated',
    'agent.message',
    'session.usage',
    'session.status_idle',
  ]);
  expect(readFileSync(join(place.root, 'agents', id, 'a.txt'), 'utf8')).toBe('7');
  expect(JSON.stringify(await inThread(child!.id))).toContain('sold');
});
