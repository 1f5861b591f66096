// Calls that wait for an app or a person, as a program of the SDK meets them: `perdure serve` and a
// worker in processes of their own, killed while calls wait and after they were settled.
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import type { AgentCreateParams } from '@anthropic-ai/sdk/resources/beta/agents';
import type {
  BetaManagedAgentsEventParams,
  BetaManagedAgentsSessionEvent,
  BetaManagedAgentsStreamSessionEvents,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { reply, type ScriptedModelOptions, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { errorOf } from './staged.ts';
import { expectWellFormed, serveManaged } from './served.ts';

type Tools = NonNullable<AgentCreateParams['tools']>;
type Listed = BetaManagedAgentsSessionEvent;

const order: Tools[number] = {
  type: 'custom',
  name: 'get_order',
  description: 'Looks up an order.',
  input_schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
};
const toolset = (policy: 'always_allow' | 'always_ask'): Tools[number] => ({
  type: 'agent_toolset_20260401',
  default_config: { permission_policy: { type: policy } },
});
const ask = (id: string) => toolUse('get_order', { id });
const write = (name: string) => toolUse('write', { file_path: name, content: 'x' });
const say = (words: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text: words }] });
const shipped = [{ type: 'text' as const, text: 'shipped' }];

async function managed(script: ScriptedModelOptions['script'], tools: Tools) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  const client = await serveManaged(place);
  const worker = await readyWorker(place);
  const agent = await client.beta.agents.create({ name: 'Clerk', model: 'claude-sonnet-5-5', system: 'Hi.', tools });
  const { id } = await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
  const { events } = client.beta.sessions;
  const listed = async (): Promise<readonly Listed[]> => {
    const all: Listed[] = [];
    for await (const event of events.list(id)) all.push(event);
    return all;
  };
  const send = (...sent: BetaManagedAgentsEventParams[]) => events.send(id, { events: sent });
  /** Resolves with the ids that the session waits for once it is idle with as many. */
  const waitsFor = (count: number): Promise<readonly string[]> =>
    until(async () => {
      const idle = (await listed()).at(-1);
      if (idle?.type !== 'session.status_idle') return false;
      const ids = idle.stop_reason.type === 'requires_action' ? idle.stop_reason.event_ids : [];
      return ids.length === count && ids;
    });
  const ended = (): Promise<unknown> =>
    until(async () => {
      const last = (await listed()).at(-1);
      return last?.type === 'session.status_idle' && last.stop_reason.type === 'end_turn';
    });
  return { client, model, place, worker, id, listed, send, waitsFor, ended };
}

const typesOf = (events: readonly { readonly type: string }[]): readonly string[] =>
  events.map(({ type }) => type).filter((type) => !type.startsWith('span.'));

test('a custom tool is answered by an app, and the stream, the list and the session agree (G38 G53)', async () => {
  const { client, id, listed, send, waitsFor, ended, model } = await managed(
    [reply([ask('7')]), reply('It has shipped.')],
    [order],
  );
  const streamed: BetaManagedAgentsStreamSessionEvents[] = [];
  const stream = await client.beta.sessions.events.stream(id);
  await send(say('Where is 7?'));
  for await (const event of stream) {
    streamed.push(event);
    if (event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn') break;
    if (event.type !== 'session.status_idle') continue;
    expect((await client.beta.sessions.retrieve(id)).status).toBe('idle');
    expect((await client.beta.sessions.list({ statuses: ['idle'] })).data).toHaveLength(1);
    const [use = ''] = await waitsFor(1);
    const refused = await errorOf(send(say('Are you there?')));
    expect(refused.message).toContain(`waiting on responses to events [${use}]`);
    const result = { type: 'user.custom_tool_result' as const, custom_tool_use_id: use };
    const { data = [] } = await send({ ...result, content: shipped });
    expect(data).toMatchObject([{ ...result, content: shipped, is_error: false }]);
    expect((await send({ ...result, content: shipped })).data).toEqual(data);
    const second = await errorOf(send({ ...result, content: [{ type: 'text', text: 'lost' }] }));
    expect([second.status, second.message]).toEqual([400, expect.stringContaining('settled already')]);
  }
  await ended();
  const events = await listed();
  expectWellFormed(events);
  expect(typesOf(events)).toEqual([
    'user.message',
    'session.status_running',
    'agent.custom_tool_use',
    'session.usage',
    'session.status_idle',
    'user.custom_tool_result',
    'session.status_running',
    'agent.message',
    'session.usage',
    'session.status_idle',
  ]);
  const processed = streamed.filter((event) => 'processed_at' in event && event.processed_at !== null);
  expect(processed).toEqual(events);
  expect(events.find(({ type }) => type === 'agent.custom_tool_use')).toMatchObject({
    name: 'get_order',
    input: { id: '7' },
  });
  expect(JSON.stringify(model.requests[1]?.body)).toContain('shipped');
});

test('asks are allowed or denied with a message, and what is left is told again (G39 G45 G52)', async () => {
  const { id, client, listed, send, waitsFor, ended } = await managed(
    [reply([ask('7'), write('a.txt')]), reply([write('b.txt')]), reply('Done.')],
    [toolset('always_ask'), order],
  );
  await send(say('Go.'));
  const [custom = '', file = ''] = await waitsFor(2);
  const uses = (await listed()).filter(({ type }) => type === 'agent.tool_use');
  expect(uses).toMatchObject([{ id: file, name: 'write', evaluated_permission: 'ask' }]);
  const deny = { type: 'user.tool_confirmation' as const, tool_use_id: file, result: 'deny' as const };
  expect((await errorOf(send({ ...deny, tool_use_id: custom }))).message).toContain('agent.custom_tool_use');
  expect((await errorOf(send({ ...deny, tool_use_id: 'sevt_x' }))).message).toContain('no call of this session');
  expect((await errorOf(send({ ...deny, result: 'allow', deny_message: 'x' }))).message).toContain(
    'deny_message goes with',
  );
  await send({ ...deny, deny_message: 'no files', session_thread_id: 'sthr_1' } as never);
  expect((await errorOf(send({ ...deny, result: 'allow' }))).message).toContain('settled already');
  expect(await waitsFor(1)).toEqual([custom]);
  expect((await client.beta.sessions.retrieve(id)).status).toBe('idle');
  await send({ type: 'user.custom_tool_result', custom_tool_use_id: custom, content: [], is_error: null });
  const [second = ''] = await waitsFor(1);
  expect(second).not.toBe(custom);
  await send({ type: 'user.tool_confirmation', tool_use_id: second, result: 'allow' });
  await ended();
  const events = await listed();
  expectWellFormed(events);
  expect(typesOf(events)).toEqual([
    'user.message',
    'session.status_running',
    'agent.tool_use',
    'agent.custom_tool_use',
    'session.usage',
    'session.status_idle',
    'user.tool_confirmation',
    'session.usage',
    'session.status_idle',
    'user.custom_tool_result',
    'session.status_running',
    'agent.tool_result',
    'agent.tool_use',
    'session.usage',
    'session.status_idle',
    'user.tool_confirmation',
    'session.status_running',
    'agent.tool_result',
    'agent.message',
    'session.usage',
    'session.status_idle',
  ]);
  const results = events.filter((event) => event.type === 'agent.tool_result');
  expect(results.map(({ is_error }) => is_error)).toEqual([true, false]);
  expect(JSON.stringify(results[0]?.content)).toContain('no files');
  expect(events.find(({ type }) => type === 'user.custom_tool_result')).toMatchObject({
    content: [{ type: 'text', text: '(no output)' }],
  });
});

test('an interrupt ends what waits: each call has an error result, and the next message runs (G45 L48)', async () => {
  const { listed, send, waitsFor, ended } = await managed(
    [reply([ask('7'), write('a.txt')]), reply('Hello again.')],
    [toolset('always_ask'), order],
  );
  await send(say('Go.'));
  const [custom = ''] = await waitsFor(2);
  await send({ type: 'user.interrupt' }, say('Something else.'));
  await until(async () => (await listed()).some(({ type }) => type === 'agent.message'));
  await ended();
  const events = await listed();
  expectWellFormed(events);
  const types = typesOf(events);
  expect(types.slice(types.indexOf('user.interrupt'), types.lastIndexOf('user.message'))).toEqual([
    'user.interrupt',
    'user.custom_tool_result',
    'agent.tool_result',
    'session.usage',
    'session.status_idle',
  ]);
  expect(events.find(({ type }) => type === 'user.custom_tool_result')).toMatchObject({
    custom_tool_use_id: custom,
    is_error: true,
  });
  const late = { type: 'user.custom_tool_result' as const, custom_tool_use_id: custom, content: shipped };
  expect((await errorOf(send(late))).message).toContain('settled already');
});

test('a worker killed while calls wait, and after one was settled, changes no event (G31 G37)', async () => {
  const { place, worker, listed, send, waitsFor, ended } = await managed(
    [reply([ask('7'), ask('8')]), reply('Both.')],
    [order],
  );
  await send(say('Go.'));
  const [first = '', second = ''] = await waitsFor(2);
  const waiting = await listed();
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  expect(await listed()).toEqual(waiting);
  const again = await readyWorker(place);
  const result = { type: 'user.custom_tool_result' as const, content: shipped };
  await send({ ...result, custom_tool_use_id: second });
  expect(await waitsFor(1)).toEqual([first]);
  const partly = await listed();
  expect(partly.slice(0, waiting.length)).toEqual(waiting);
  process.kill(again.pid, 'SIGKILL');
  await again.status;
  await readyWorker(place);
  await send({ ...result, custom_tool_use_id: first });
  await ended();
  const events = await listed();
  expect(events.slice(0, partly.length)).toEqual(partly);
  expectWellFormed(events);
  expect(await listed()).toEqual(events);
});

test('the SDK’s own runner of tools carries out custom calls until the turn ends (A1 G53)', async () => {
  const { client, id, listed, send, ended } = await managed(
    [reply([ask('7')]), reply([ask('8'), ask('9')]), reply('All three.')],
    [order],
  );
  await send(say('Go.'));
  const asked: unknown[] = [];
  const runner = client.beta.sessions.events.toolRunner(id, {
    maxIdleMs: 200,
    tools: [
      betaTool({
        name: 'get_order',
        description: 'Looks up an order.',
        inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
        run: (input) => {
          asked.push(input);
          return 'shipped';
        },
      }),
    ],
  });
  const done: boolean[] = [];
  for await (const call of runner) done.push(call.posted);
  await ended();
  expect(done).toEqual([true, true, true]);
  expect(asked).toEqual([{ id: '7' }, { id: '8' }, { id: '9' }]);
  expectWellFormed(await listed());
});

test('a system message goes with a message and a result, once and for good, whatever is killed (G31 G46)', async () => {
  const { place, worker, listed, send, waitsFor, ended, model } = await managed(
    [reply([ask('7')]), reply('Shipped.')],
    [order],
  );
  const system = (words: string) => ({
    type: 'system.message' as const,
    content: [{ type: 'text' as const, text: words }],
  });
  const { data: queued = [] } = await send(say('Where is 7?'), system('Be brief.'));
  expect(queued).toMatchObject([{ type: 'user.message' }, { ...system('Be brief.'), processed_at: null }]);
  const [use = ''] = await waitsFor(1);
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  await readyWorker(place);
  const result = { type: 'user.custom_tool_result' as const, custom_tool_use_id: use, content: shipped };
  const { data: stored = [] } = await send(result, system('Say no prices.'));
  await ended();
  const events = await listed();
  expectWellFormed(events);
  expect(typesOf(events)).toEqual([
    'user.message',
    'session.status_running',
    'system.message',
    'agent.custom_tool_use',
    'session.usage',
    'session.status_idle',
    'user.custom_tool_result',
    'session.status_running',
    'system.message',
    'agent.message',
    'session.usage',
    'session.status_idle',
  ]);
  const told = events.filter(({ type }) => type === 'system.message');
  expect(told.map(({ id }) => id)).toEqual([queued[1]?.id, stored[1]?.id]);
  expect(events).toEqual(expect.arrayContaining(stored));
  const messages = z
    .looseObject({ messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })) })
    .parse(model.requests.at(-1)?.body).messages;
  expect(messages.map(({ role }) => role)).toEqual(['user', 'system', 'assistant', 'user', 'system']);
  expect(
    messages.map(({ content }) => JSON.stringify(content)).filter((words) => words.includes('no prices')),
  ).toHaveLength(1);
  expect(model.problems).toEqual([]);
});
