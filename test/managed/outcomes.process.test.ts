// Outcomes as a program of the SDK meets them (G72): `perdure serve` and a worker in processes of
// their own, killed and interrupted while the grader is asked.
import type {
  BetaManagedAgentsEventParams,
  BetaManagedAgentsSessionEvent,
  BetaManagedAgentsStreamSessionEvents,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, test } from 'vitest';
import { fault, reply, type ScriptedModelOptions, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { expectWellFormed, serveManaged } from './served.ts';

type Listed = BetaManagedAgentsSessionEvent;

const outcome = (more: object = {}) => ({
  type: 'user.define_outcome' as const,
  description: 'Write brief.md.',
  rubric: { type: 'text' as const, content: 'The brief cites a source.' },
  ...more,
});
const says = (grade: string, why = `It is ${grade}.`) => reply(JSON.stringify({ grade, why }));
const write = (content: string) => reply([toolUse('write', { file_path: 'brief.md', content })]);

async function managed(script: ScriptedModelOptions['script'], budget?: string) {
  const model = await modelFor(script);
  const place = cliPlace(model);
  const client = await serveManaged(place);
  const worker = await readyWorker(place);
  const tools = [{ type: 'agent_toolset_20260401' as const }];
  const agent = await client.beta.agents.create({ name: 'Writer', model: 'claude-sonnet-5-5', system: 'Hi.', tools });
  const { sessions } = client.beta;
  const limit = { type: 'limit' as const, max_list_cost: { amount: budget ?? '0', currency: 'USD' as const } };
  const made = { agent: agent.id, environment_id: 'env_default', ...(budget !== undefined && { budget: limit }) };
  const { id } = await sessions.create(made);
  const listed = async (): Promise<readonly Listed[]> => {
    const all: Listed[] = [];
    for await (const event of sessions.events.list(id)) all.push(event);
    return all;
  };
  const send = (...events: BetaManagedAgentsEventParams[]) => sessions.events.send(id, { events });
  /** Resolves with the list once its last event is an idle with this reason. */
  const idle = (reason = 'end_turn'): Promise<readonly Listed[]> =>
    until(async () => {
      const events = await listed();
      const last = events.at(-1);
      return last?.type === 'session.status_idle' && last.stop_reason.type === reason && events;
    });
  const evaluations = async () => (await sessions.retrieve(id)).outcome_evaluations;
  return { sessions, model, place, worker, id, listed, send, idle, evaluations };
}

const typesOf = (events: readonly { readonly type: string }[]): readonly string[] =>
  events.map(({ type }) => type).filter((type) => !type.startsWith('span.model'));

const gradesOf = (events: readonly Listed[]) =>
  events.flatMap((event) => (event.type === 'span.outcome_evaluation_end' ? [event] : []));

test('an outcome is revised until its grader is satisfied, and the stream, the list and the session agree (G72)', async () => {
  const { sessions, id, listed, send, idle, evaluations, model, place } = await managed([
    write('No source.'),
    reply('Done.'),
    says('not_met', 'No source is cited.'),
    write('A source.'),
    reply('Revised.'),
    says('met'),
  ]);
  const streamed: BetaManagedAgentsStreamSessionEvents[] = [];
  const stream = await sessions.events.stream(id);
  const read = (async () => {
    for await (const event of stream) {
      streamed.push(event);
      if (event.type === 'session.status_idle') break;
    }
  })();
  const { data } = await send(outcome());
  expect(data).toMatchObject([{ type: 'user.define_outcome', max_iterations: 3, processed_at: expect.any(String) }]);
  const events = await idle();
  expectWellFormed(events);
  expect(typesOf(events)).toEqual([
    'user.define_outcome',
    'session.status_running',
    'agent.tool_use',
    'agent.tool_result',
    'agent.message',
    'span.outcome_evaluation_start',
    'span.outcome_evaluation_end',
    'agent.tool_use',
    'agent.tool_result',
    'agent.message',
    'span.outcome_evaluation_start',
    'span.outcome_evaluation_end',
    'session.usage',
    'session.status_idle',
  ]);
  expect(events[0]?.id).toBe(data?.[0]?.id);
  expect(gradesOf(events)).toMatchObject([
    { iteration: 0, result: 'needs_revision', explanation: 'No source is cited.' },
    { iteration: 1, result: 'satisfied' },
  ]);
  await read;
  expect(streamed.filter((event) => 'processed_at' in event && event.processed_at !== null)).toEqual(events);
  expect(await evaluations()).toMatchObject([
    { result: 'satisfied', iteration: 1, description: 'Write brief.md.', completed_at: expect.any(String) },
  ]);
  const requests = model.requests.map(({ body }) => JSON.stringify(body));
  expect(requests[0]).toContain('The brief cites a source.');
  expect(requests[2]).toContain('Done.');
  expect(requests[3]).toContain('No source is cited.');
  const { usage } = await sessions.retrieve(id);
  const graded = gradesOf(events).reduce((sum, one) => sum + one.usage.input_tokens, 0);
  expect(graded).toBeGreaterThan(0);
  expect(usage?.input_tokens).toBeGreaterThanOrEqual(graded);
  const { out } = await place.run('show', id);
  expect(out).toContain('goal not met: No source is cited.');
  expect(out).toContain('goal met');
  expect(await listed()).toEqual(events);
});

test('an outcome that is missed in its last round has one more turn, and another one may follow (G72)', async () => {
  const { send, idle, evaluations, listed } = await managed([
    reply('One.'),
    says('not_met'),
    reply('Two.'),
    says('not_met', 'Still none.'),
    reply('It lacks a source.'),
    reply('Three.'),
    says('met'),
    reply('You are welcome.'),
  ]);
  await send(outcome({ max_iterations: 2 }));
  const missed = await idle();
  expect(gradesOf(missed).map(({ result }) => result)).toEqual(['needs_revision', 'max_iterations_reached']);
  expect(typesOf(missed).slice(-4)).toEqual([
    'span.outcome_evaluation_end',
    'agent.message',
    'session.usage',
    'session.status_idle',
  ]);
  await send(outcome({ description: 'Once more.' }));
  await until(async () => (await evaluations()).at(-1)?.result === 'satisfied');
  expect(await evaluations()).toMatchObject([
    { result: 'max_iterations_reached', explanation: 'Still none.', iteration: 1 },
    { result: 'satisfied', iteration: 0, description: 'Once more.' },
  ]);
  await until(async () => (await listed()).at(-1)?.type === 'session.status_idle');
  await send({ type: 'user.message', content: [{ type: 'text', text: 'Thanks.' }] });
  const events = await until(async () => {
    const all = await listed();
    return all.filter(({ type }) => type === 'session.status_idle').length === 3 && all;
  });
  expect(gradesOf(events)).toHaveLength(3);
  expectWellFormed(events);
});

test('kill -9 of the worker while its grader is asked: it is asked again, and its grade stands once (G72)', async () => {
  const { send, idle, model, worker, place, listed, evaluations } = await managed([
    reply('Done.'),
    fault({ silence: true }),
    says('met'),
  ]);
  await send(outcome());
  await until(() => model.requests.length === 2);
  expect(typesOf(await listed()).at(-1)).toBe('span.outcome_evaluation_start');
  expect(await evaluations()).toMatchObject([{ result: 'evaluating', completed_at: null }]);
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  const before = await listed();
  await readyWorker(place);
  const events = await idle();
  expectWellFormed(events);
  expect(events.slice(0, before.length)).toEqual(before);
  expect(gradesOf(events)).toMatchObject([{ result: 'satisfied', outcome_evaluation_start_id: before.at(-1)?.id }]);
  expect(model.requests).toHaveLength(3);
});

test('an interrupt while the grader is asked ends the outcome as interrupted (G72)', async () => {
  const { send, idle, model, evaluations } = await managed([reply('Done.'), fault({ silence: true })]);
  await send(outcome());
  await until(() => model.requests.length === 2);
  await send({ type: 'user.interrupt' });
  const events = await idle();
  expectWellFormed(events);
  expect(typesOf(events).slice(-5)).toEqual([
    'span.outcome_evaluation_start',
    'user.interrupt',
    'span.outcome_evaluation_end',
    'session.usage',
    'session.status_idle',
  ]);
  expect(gradesOf(events)).toMatchObject([{ result: 'interrupted' }]);
  expect(await evaluations()).toMatchObject([{ result: 'interrupted', completed_at: expect.any(String) }]);
});

test('no grader is asked at the budget: the outcome waits with its session until that is raised (G72 G69)', async () => {
  const usage = { input_tokens: 500_000, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const { send, idle, model, sessions, id, evaluations } = await managed(
    [reply('Done.', { usage }), says('met')],
    '100',
  );
  await send(outcome());
  await idle('budget_reached');
  expect(model.requests).toHaveLength(1);
  expect((await evaluations())[0]?.completed_at).toBeNull();
  await sessions.update(id, { budget: { type: 'limit', max_list_cost: { amount: '200', currency: 'USD' } } });
  const events = await idle();
  expectWellFormed(events);
  expect(gradesOf(events)).toMatchObject([{ result: 'satisfied' }]);
});
