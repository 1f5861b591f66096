// MCP servers of agents as a program uses them (G54): the SDK, `perdure serve` and workers in
// processes of their own, servers of the official project.
import type Anthropic from '@anthropic-ai/sdk';
import type { AgentCreateParams } from '@anthropic-ai/sdk/resources/beta/agents';
import type { BetaManagedAgentsSessionEvent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, test } from 'vitest';
import { reply, type ScriptedModelOptions, toolUse } from '../../scripted-model/index.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { filesWith } from '../support/files-with.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { everythingAt, holdingAt, oddAddress } from '../support/mcp/addresses.ts';
import { until } from '../support/until.ts';
import { configureManaged, serveManaged } from './served.ts';

type Known = Readonly<Record<string, { readonly headers?: Readonly<Record<string, string>> }>>;
type Servers = NonNullable<AgentCreateParams['mcp_servers']>;
type Tools = NonNullable<AgentCreateParams['tools']>;
type Event = BetaManagedAgentsSessionEvent;

async function managed(script: ScriptedModelOptions['script'], mcpServers: Known) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  configureManaged(place, { mcpServers });
  const client = await serveManaged(place, {});
  const worker = await readyWorker(place);
  return { client, model, place, worker };
}

async function newSession(client: Anthropic, mcp_servers: Servers, tools: Tools): Promise<string> {
  const agent = await client.beta.agents.create({ name: 'Caller', model: 'claude-sonnet-5-5', mcp_servers, tools });
  return (await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' })).id;
}

const server = (name: string, url: string) => ({ type: 'url' as const, name, url });
const toolset = (name: string, more: object = {}) => ({ type: 'mcp_toolset' as const, mcp_server_name: name, ...more });
const unasked = { default_config: { permission_policy: { type: 'always_allow' as const } } };

async function listed(client: Anthropic, session: string): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const event of client.beta.sessions.events.list(session)) events.push(event);
  return events;
}

const say = (words: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text: words }] });
const send = (
  client: Anthropic,
  session: string,
  events: Parameters<Anthropic['beta']['sessions']['events']['send']>[1]['events'],
) => client.beta.sessions.events.send(session, { events });

/** Waits for the idle after so many, and returns the events up to it. */
const idleAfter = (client: Anthropic, session: string, before: number): Promise<readonly Event[]> =>
  until(async () => {
    const events = await listed(client, session);
    return events.filter(({ type }) => type === 'session.status_idle').length > before ? events : null;
  });

const last = (events: readonly Event[]) =>
  events.findLast((event) => event.type === 'session.status_idle')?.stop_reason;
const uses = (events: readonly Event[]) => events.filter((event) => event.type === 'agent.mcp_tool_use');
const results = (events: readonly Event[]) =>
  events
    .filter((event) => event.type === 'agent.mcp_tool_result')
    .map(({ mcp_tool_use_id, is_error, content = [] }) => {
      const text = content.map((block) => ('text' in block ? block.text : '')).join('');
      return { of: mcp_tool_use_id, is_error, text };
    });
const errors = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === 'session.error' ? [event.error] : []));

/** The names of the tools that a request offered. */
const offeredIn = (body: unknown): readonly string[] =>
  (body as { readonly tools?: readonly { readonly name: string }[] }).tools?.map(({ name }) => name) ?? [];

test('calls of an agent’s server ask, run unasked or are no tools, as its policies say (G52 G54)', async () => {
  const { url } = await everythingAt('http');
  const { client, model } = await managed(
    [
      reply([toolUse('mcp__kit__echo', { message: 'one' }), toolUse('mcp__kit__get-sum', { a: 2, b: 3 })]),
      reply([toolUse('mcp__kit__echo', { message: 'two' }), toolUse('mcp__kit__get-env', {})]),
      reply('Done.'),
    ],
    { [url]: {} },
  );
  const configs = [
    { name: 'get-sum', permission_policy: { type: 'always_allow' as const } },
    { name: 'get-env', enabled: false },
  ];
  const session = await newSession(client, [server('kit', url)], [toolset('kit', { configs })]);
  await send(client, session, [say('Go.')]);
  const asked = await idleAfter(client, session, 0);
  const [echo, sum] = uses(asked);
  expect([echo, sum]).toMatchObject([
    { mcp_server_name: 'kit', name: 'echo', input: { message: 'one' }, evaluated_permission: 'ask' },
    { mcp_server_name: 'kit', name: 'get-sum', evaluated_permission: 'allow' },
  ]);
  expect(last(asked)).toEqual({ type: 'requires_action', event_ids: [echo?.id] });
  await send(client, session, [{ type: 'user.tool_confirmation', tool_use_id: echo!.id, result: 'allow' }]);
  const again = await idleAfter(client, session, 1);
  expect(results(again)).toEqual([
    { of: echo?.id, is_error: false, text: 'Echo: one' },
    { of: sum?.id, is_error: false, text: 'The sum of 2 and 3 is 5.' },
  ]);
  const second = uses(again)[2];
  expect(last(again)).toEqual({ type: 'requires_action', event_ids: [second?.id] });
  const deny = { type: 'user.tool_confirmation', result: 'deny', deny_message: 'not twice' } as const;
  await send(client, session, [{ ...deny, tool_use_id: second!.id }]);
  const all = await idleAfter(client, session, 2);
  expect(last(all)).toEqual({ type: 'end_turn' });
  expect(results(all).slice(2)).toMatchObject([
    { of: second?.id, is_error: true, text: expect.stringContaining('not twice') as unknown },
    { is_error: true, text: expect.stringContaining('There is no tool named') as unknown },
  ]);
  const offered = offeredIn((await model.waitForRequest(1)).body);
  expect(offered).toContain('mcp__kit__echo');
  expect(offered).not.toContain('mcp__kit__get-env');
  expect(offered.every((name) => name.startsWith('mcp__kit__') || name === 'find_tools')).toBe(true);
});

test('a server that is away, private or wants a login is an error of its session, which goes on (G40 G54)', async () => {
  const secret = 'sesame-of-the-host';
  const [gone, closed, open] = [
    `http://127.0.0.1:${await findFreePort()}/mcp`,
    await oddAddress({ token: () => 'Bearer other' }),
    await oddAddress({ token: () => `Bearer ${secret}` }),
  ];
  const hidden = await oddAddress();
  const known = {
    [gone]: {},
    [closed.settings.url]: {},
    [open.settings.url]: { headers: { Authorization: `Bearer ${secret}` } },
  };
  const { client, place, worker } = await managed([reply([toolUse('mcp__open__note', {})]), reply('Done.')], known);
  const session = await newSession(
    client,
    [
      server('gone', gone),
      server('closed', closed.settings.url),
      server('hidden', hidden.settings.url),
      server('open', open.settings.url),
    ],
    ['gone', 'closed', 'hidden', 'open'].map((name) => toolset(name, unasked)),
  );
  await send(client, session, [say('Go.')]);
  const events = await idleAfter(client, session, 0);
  expect(last(events)).toEqual({ type: 'end_turn' });
  expect(results(events)).toMatchObject([{ is_error: false, text: 'noted note' }]);
  const told = errors(events).map(
    (error) => `${error.type} ${'mcp_server_name' in error ? error.mcp_server_name : ''}`,
  );
  expect(told.toSorted()).toEqual([
    'mcp_authentication_failed_error closed',
    'mcp_connection_failed_error gone',
    'mcp_connection_failed_error hidden',
  ]);
  expect(errors(events).every(({ retry_status }) => retry_status.type === 'retrying')).toBe(true);
  expect(hidden.connections()).toBe(0);
  expect(open.seen).toContain(`Bearer ${secret}`);
  expect(JSON.stringify(events) + worker.out() + worker.err()).not.toContain(secret);
  expect(filesWith(place.data, secret)).toEqual([]);
});

test('a call whose worker is killed is not made again, and the next worker offers the same tools (G54 L40)', async () => {
  let calls = 0;
  const held = await holdingAt('http', async () => {
    calls += 1;
    return await new Promise(() => undefined);
  });
  const { url } = await everythingAt('http');
  const { client, model, place, worker } = await managed(
    [reply([toolUse('mcp__held__hold', {})]), reply('It is not known.'), reply('Once more.')],
    { [held.url]: {}, [url]: {} },
  );
  const servers = [server('held', held.url), server('kit', url)];
  const session = await newSession(client, servers, [toolset('held', unasked), toolset('kit')]);
  await send(client, session, [say('Go.')]);
  await until(() => calls === 1);
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  await readyWorker(place);
  const events = await idleAfter(client, session, 0);
  expect(last(events)).toEqual({ type: 'end_turn' });
  expect(results(events)).toMatchObject([
    { is_error: true, text: expect.stringContaining('outcome unknown') as unknown },
  ]);
  expect(calls).toBe(1);
  await send(client, session, [say('Again.')]);
  await idleAfter(client, session, 1);
  const requests = await Promise.all([1, 2, 3].map((n) => model.waitForRequest(n)));
  const tools = requests.map(({ body }) => JSON.stringify((body as { readonly tools?: unknown }).tools));
  expect(new Set(tools).size).toBe(1);
  expect(offeredIn(requests[0]?.body)).toContain('mcp__held__hold');
});

test('sessions whose servers have one name have each its own tools, and a fork those of its origin (G54)', async () => {
  const [kit, odd] = [await everythingAt('http'), await oddAddress()];
  const { client, model, place } = await managed(
    (_, n) => (n === 3 ? reply([toolUse('mcp__x__note', {})]) : reply('Done.')),
    { [kit.url]: {}, [odd.settings.url]: {} },
  );
  const open = (url: string) => newSession(client, [server('x', url)], [toolset('x', unasked)]);
  const [first, second] = [await open(kit.url), await open(odd.settings.url)];
  for (const session of [first, second]) {
    await send(client, session, [say('Go.')]);
    await idleAfter(client, session, 0);
  }
  const [one, two] = [await model.waitForRequest(1), await model.waitForRequest(2)].map(({ body }) => offeredIn(body));
  expect(one).toContain('mcp__x__get-sum');
  expect(one).not.toContain('mcp__x__note');
  expect(two).toContain('mcp__x__note');
  expect(two).not.toContain('mcp__x__get-sum');
  const forked = await place.run('fork', second, 'Note it.');
  expect(forked.status).toBe(0);
  expect(offeredIn((await model.waitForRequest(3)).body)).toEqual(two);
  await until(() => odd.called.length === 1);
});

test('a server that an update gives a session is there from its next message, and gone after another (G27)', async () => {
  const { url } = await everythingAt('http');
  const { client, model, place, worker } = await managed(
    [
      reply('First.'),
      reply([toolUse('mcp__kit__get-sum', { a: 2, b: 3 })]),
      reply('Second.'),
      reply([toolUse('mcp__kit__get-sum', { a: 2, b: 3 })]),
      reply('Third.'),
    ],
    { [url]: {} },
  );
  const session = await newSession(client, [], [{ type: 'agent_toolset_20260401' }]);
  await send(client, session, [say('Go.')]);
  await idleAfter(client, session, 0);
  const tools = [toolset('kit', unasked)];
  const { agent } = await client.beta.sessions.update(session, { agent: { tools, mcp_servers: [server('kit', url)] } });
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  await readyWorker(place);
  await send(client, session, [say('Add.')]);
  const added = await idleAfter(client, session, 1);
  expect(added.filter(({ type }) => type === 'session.updated')).toMatchObject([{ agent }]);
  expect(results(added)).toMatchObject([{ is_error: false, text: expect.stringContaining('5') as unknown }]);
  await client.beta.sessions.update(session, { agent: { tools: [], mcp_servers: [] } });
  await send(client, session, [say('And?')]);
  const events = await idleAfter(client, session, 2);
  expect(events.slice(0, added.length)).toEqual(added);
  expect(results(events)).toMatchObject([{ is_error: false }, { is_error: true }]);
  expect(model.requests.map(({ body }) => JSON.stringify(body).includes('mcp__kit__get-sum'))).toEqual([
    false,
    true,
    true,
    true,
    true,
  ]);
});
