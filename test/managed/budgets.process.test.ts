// A session's budget as a program of the SDK meets it (G69): `perdure serve` and a worker in
// processes of their own, the worker killed while the session waits at its budget.
import type {
  BetaManagedAgentsBudgetLimit,
  BetaManagedAgentsEventParams,
  BetaManagedAgentsSessionEvent,
  BetaManagedAgentsStreamSessionEvents,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, test } from 'vitest';
import { reply, type ScriptedModelOptions, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { codeOf, errorOf } from './staged.ts';
import { expectWellFormed, serveManaged } from './served.ts';

type Listed = BetaManagedAgentsSessionEvent;

/** A dollar at the prices of the model. */
const dollar = {
  usage: { input_tokens: 500_000, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
};
const limit = (amount: string): BetaManagedAgentsBudgetLimit => ({
  type: 'limit',
  max_list_cost: { amount, currency: 'USD' },
});
const say = (words: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text: words }] });
const write = (name: string) => toolUse('write', { file_path: name, content: 'x' });

async function managed(script: ScriptedModelOptions['script'], budget: string) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  const client = await serveManaged(place);
  const worker = await readyWorker(place);
  const tools = [{ type: 'agent_toolset_20260401' as const }];
  const agent = await client.beta.agents.create({ name: 'Coder', model: 'claude-sonnet-5-5', system: 'Hi.', tools });
  const { sessions } = client.beta;
  const { id } = await sessions.create({ agent: agent.id, environment_id: 'env_default', budget: limit(budget) });
  const listed = async (): Promise<readonly Listed[]> => {
    const all: Listed[] = [];
    for await (const event of sessions.events.list(id)) all.push(event);
    return all;
  };
  const send = (...events: BetaManagedAgentsEventParams[]) => sessions.events.send(id, { events });
  const set = (to: BetaManagedAgentsBudgetLimit | null) => sessions.update(id, { budget: to });
  /** Resolves with the list once its last event is an idle with this reason. */
  const idle = (reason: string): Promise<readonly Listed[]> =>
    until(async () => {
      const events = await listed();
      const last = events.at(-1);
      return last?.type === 'session.status_idle' && last.stop_reason.type === reason && events;
    });
  return { sessions, model, place, worker, id, listed, send, set, idle };
}

const typesOf = (events: readonly { readonly type: string }[]): readonly string[] =>
  events.map(({ type }) => type).filter((type) => !type.startsWith('span.'));

test('a session waits at its budget, over kill -9 of its worker, and goes on once that is raised (G69)', async () => {
  const { sessions, id, listed, send, set, idle, worker, place, model } = await managed(
    [reply([write('a.txt')], dollar), reply('Done.')],
    '100',
  );
  const streamed: BetaManagedAgentsStreamSessionEvents[] = [];
  const stream = await sessions.events.stream(id);
  const read = (async () => {
    for await (const event of stream) {
      streamed.push(event);
      if (event.type === 'session.status_idle' && event.stop_reason.type === 'end_turn') break;
    }
  })();
  await send(say('Write it.'));
  const paused = await idle('budget_reached');
  expect(typesOf(paused)).toEqual([
    'user.message',
    'session.status_running',
    'agent.tool_use',
    'agent.tool_result',
    'session.thread_status_idle',
    'session.usage',
    'session.status_idle',
  ]);
  expect(paused.at(-3)).toMatchObject({ agent_name: 'Coder', stop_reason: { type: 'budget_reached' } });
  const cost = { amount: '100', currency: 'USD' };
  expect(paused.at(-2)).toMatchObject({ budget: limit('100'), usage: { list_cost: cost } });
  const shown = await until(async () => {
    const session = await sessions.retrieve(id);
    return session.status === 'idle' && session;
  });
  expect(shown).toMatchObject({ budget: limit('100'), usage: { list_cost: cost } });
  expect((await sessions.list({ statuses: ['idle'] })).data).toHaveLength(1);

  const message = await errorOf(send(say('Go on.')));
  expect([message.status, codeOf(message)]).toEqual([400, 'session_budget_reached']);
  expect((await send({ type: 'user.interrupt' })).data).toMatchObject([{ processed_at: expect.any(String) }]);
  expect(codeOf(await errorOf(set(limit('100'))))).toBe('budget_not_raised');

  const said = async (...words: string[]): Promise<string> => {
    const { out, err } = await place.run(...words);
    return out + err;
  };
  expect(await said('list')).toContain('at its budget');
  expect(await said('show', id)).toContain('budget of the session reached, $1.00');
  expect(await said('resume', id)).toContain('waits at its budget');

  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  expect(await listed()).toEqual(paused);
  await readyWorker(place);
  expect(model.requests).toHaveLength(1);
  expect((await set(limit('150'))).budget).toEqual(limit('150'));
  const events = await idle('end_turn');
  expectWellFormed(events);
  expect(typesOf(events).slice(typesOf(paused).length)).toEqual([
    'session.updated',
    'session.status_running',
    'agent.message',
    'session.usage',
    'session.status_idle',
  ]);
  expect(events.slice(0, paused.length)).toEqual(paused);
  expect(await listed()).toEqual(events);
  await read;
  expect(streamed.filter((event) => 'processed_at' in event && event.processed_at !== null)).toEqual(events);
  expect(model.requests).toHaveLength(2);
});

test('a budget that is spent between messages stops the next before its first call, until it is removed (G69)', async () => {
  const { sessions, id, send, set, idle, model, listed } = await managed(
    [reply('One.', dollar), reply('Two.', dollar)],
    '50',
  );
  await send(say('First.'));
  expect((await idle('end_turn')).at(-2)).toMatchObject({ usage: { list_cost: { amount: '100' } } });
  await send(say('Second.'));
  const paused = await idle('budget_reached');
  expect(typesOf(paused).slice(-5)).toEqual([
    'user.message',
    'session.status_running',
    'session.thread_status_idle',
    'session.usage',
    'session.status_idle',
  ]);
  expect(model.requests).toHaveLength(1);
  expect((await set(null)).budget).toBeNull();
  const events = await idle('end_turn');
  expectWellFormed(events);
  expect(events.at(-2)).toMatchObject({ budget: null, usage: { list_cost: { amount: '200' } } });
  expect(codeOf(await errorOf(set(limit('900'))))).toBe('budget_create_only');
  expect((await sessions.retrieve(id)).budget).toBeNull();
  expect(await listed()).toEqual(events);
});
