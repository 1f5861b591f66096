// Budgets as events (pure), and as the face takes, refuses and brings them (the real SDK against
// the app, with a transcript in memory).
import type { BetaManagedAgentsBudgetLimit } from '@anthropic-ai/sdk/resources/beta/sessions';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../client/index.ts';
import { ClientProblem } from '../../client/problem.ts';
import { formatCents } from '../../managed/budgets.ts';
import { emptyProjection } from '../../managed/events/parts.ts';
import { projectEntries } from '../../managed/events/project.ts';
import { spentSoFar } from '../../managed/events/run-end.ts';
import type { Hash, MessageId } from '../../workflows/contract/ids.ts';
import { noUsage } from '../../workflows/contract/loop.ts';
import { callBlock, outcome, outcomes, reply, runEnded } from '../support/transcript.ts';
import { description } from '../client/support.ts';
import { AGENT, codeOf, errorOf, stagedManaged, text } from './staged.ts';

const SESSION = `sesn_${'a'.repeat(26)}`;
const T = 1_770_000_000_000;
const limit = (amount: string): BetaManagedAgentsBudgetLimit => ({
  type: 'limit',
  max_list_cost: { amount, currency: 'USD' },
});
const spend = (usd: number) => ({ usage: { ...noUsage, input: 7 }, usd });

const begun = [
  { kind: 'run_started', run: 1, config: 'c' as Hash, at: T, budgetUsd: 1 },
  { kind: 'user', id: 'm' as MessageId, body: { kind: 'text', text: 'Go.' } },
  reply([callBlock('c1', { command: 'make' }, 'bash')], { at: T + 1, spend: spend(1.2) }),
  outcomes(outcome(0, 'made')),
] satisfies Entry[];
const reached: Entry = { kind: 'budget', state: 'reached', limitUsd: 1, spend: spend(1.204), at: T + 2 };
const raise: Entry = {
  kind: 'steered',
  steered: { action: 'setOptions', at: T + 3, changes: { sessionBudgetUsd: 3 } },
};
const left: Entry = { kind: 'budget', state: 'left', limitUsd: 3, spend: spend(1.204), at: T + 3 };
const trace = [...begun, reached, raise, left, reply([], { at: T + 4, spend: spend(0.1) }), runEnded(1)];

const project = (entries: readonly Entry[]) => projectEntries(emptyProjection(SESSION), entries);
const written = (entries: readonly Entry[]) => project(entries).facts.map((fact) => fact.make(new Map()));
const shown = (entries: readonly Entry[]) => written(entries).filter(({ type }) => !type.startsWith('span.'));

describe('a run that waits at the budget', () => {
  test('tells the thread’s rest, the usage with the budget, and idle; then the raise and running (G69 G34)', () => {
    expect(shown(trace).map(({ type }) => type)).toEqual([
      'user.message',
      'session.status_running',
      'agent.tool_use',
      'agent.tool_result',
      'session.thread_status_idle',
      'session.usage',
      'session.status_idle',
      'session.updated',
      'session.status_running',
      'session.usage',
      'session.status_idle',
    ]);
    const [thread, usage, idle, updated] = shown(trace).slice(4);
    const stop_reason = { type: 'budget_reached' };
    expect(thread).toMatchObject({ session_thread_id: expect.stringMatching(/^sthr_/), stop_reason });
    expect(usage).toMatchObject({
      budget: limit('100'),
      usage: { list_cost: { amount: '120', currency: 'USD' }, input_tokens: 7, active_seconds: 0.002 },
    });
    expect(idle).toMatchObject({ stop_reason, stop_details: null });
    expect(updated).toMatchObject({ budget: limit('300') });
    expect(shown(trace).at(-2)).toMatchObject({ type: 'session.usage', budget: limit('300') });
  });

  test('has unique ids and rising times, the same however the transcript is read (G30 G31)', () => {
    const whole = written(trace);
    expect(new Set(whole.map(({ id }) => id)).size).toBe(whole.length);
    const times = whole.map(({ processed_at }) => String(processed_at));
    expect(times).toEqual([...new Set(times)].toSorted());
    for (let cut = 0; cut <= trace.length; cut += 1) {
      const first = project(trace.slice(0, cut));
      const second = projectEntries(first.projection, trace.slice(cut));
      expect([...first.facts, ...second.facts].map((fact) => fact.make(new Map()))).toEqual(whole);
    }
  });

  test('counts what the run has cost, and only while it waits: its end counts the same once (G26)', () => {
    const costAfter = (entries: readonly Entry[]) => spentSoFar(project(entries).projection).spend.usd;
    expect(costAfter(begun)).toBe(0);
    expect(costAfter([...begun, reached])).toBe(1.204);
    const end = runEnded(1);
    const { usd } = end.kind === 'run_ended' ? end.ended.spend : { usd: 0 };
    expect(costAfter([...begun, reached, end])).toBe(usd);
  });

  test('parks before its first call where nothing is left, after its message (G69)', () => {
    const spentBefore = [begun[0], begun[1], { ...reached, spend: spend(0) }] as Entry[];
    expect(shown(spentBefore).map(({ type }) => type)).toEqual([
      'user.message',
      'session.status_running',
      'session.thread_status_idle',
      'session.usage',
      'session.status_idle',
    ]);
  });
});

test('a budget that changes before a run is told before its message, and one that is the same is not', () => {
  const { projection } = project([...begun, runEnded(1)]);
  const [start, message] = begun as [Entry, Entry];
  const typesAfter = (entries: readonly Entry[]) => projectEntries(projection, entries).facts.map(({ type }) => type);
  const started: Entry = { ...start, budgetUsd: 3, run: 2 } as Entry;
  const told = ['session.updated', 'user.message', 'session.status_running'];
  expect(typesAfter([started, raise, message])).toEqual(told);
  expect(typesAfter([started, raise, raise, message])).toEqual(told);
});

test('a cost is rounded half up to cents, also where a sum of floats lies below the half (G26)', () => {
  expect([0, 0.005, 0.285, 1.005, 1.0049, 12].map(formatCents)).toEqual(['0', '1', '29', '101', '100', '1200']);
});

async function budgeted(amount: string) {
  const staged = stagedManaged();
  const agent = await staged.client.beta.agents.create(AGENT);
  const { sessions } = staged.client.beta;
  const create = (budget: BetaManagedAgentsBudgetLimit) =>
    sessions.create({ agent: agent.id, environment_id: 'env_default', budget });
  const session = await create(limit(amount));
  const set = (budget: BetaManagedAgentsBudgetLimit | null) => sessions.update(session.id, { budget });
  const send = (...events: Parameters<typeof sessions.events.send>[1]['events']) =>
    sessions.events.send(session.id, { events });
  return { ...staged, sessions, agent, create, session, set, send };
}

describe('the face', () => {
  test('takes a budget with a session, and its first message brings it to the workflow (G69)', async () => {
    const { session, sessions, send, calls } = await budgeted('250');
    expect(session.budget).toEqual(limit('250'));
    expect((await sessions.retrieve(session.id)).budget).toEqual(limit('250'));
    await send(text('Go.'));
    const start = calls.find(([name]) => name === 'start');
    expect(start?.at(-1)).toMatchObject({ ifNew: { sessionBudgetUsd: 2.5 } });
  });

  test.each([
    ['a fraction of cents', limit('1.5')],
    ['a leading zero', limit('01')],
    ['less than nothing', limit('-1')],
    ['too much', limit('100000001')],
    ['another currency', { type: 'limit', max_list_cost: { amount: '1', currency: 'EUR' } }],
  ])('refuses %s', async (_, budget) => {
    const { create } = await budgeted('1');
    expect(await errorOf(create(budget as never))).toMatchObject({ status: 400 });
  });

  test('refuses a budget for a model without a price (G26)', async () => {
    const { client } = await budgeted('1');
    const agent = await client.beta.agents.create({ ...AGENT, model: 'house-model-7' });
    const made = client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default', budget: limit('1') });
    const error = await errorOf(made);
    expect([error.status, codeOf(error)]).toEqual([400, 'model_not_budgetable']);
  });

  test('changes a budget before the first message, and refuses one that was never given or is none (G69)', async () => {
    const { set, sessions, agent, session, calls } = await budgeted('250');
    expect((await set(limit('100'))).budget).toEqual(limit('100'));
    expect(codeOf(await errorOf(set(limit('0'))))).toBe('budget_not_raised');
    expect((await set(null)).budget).toBeNull();
    expect(codeOf(await errorOf(set(limit('300'))))).toBe('budget_create_only');
    expect((await sessions.retrieve(session.id)).budget).toBeNull();
    const bare = await sessions.create({ agent: agent.id, environment_id: 'env_default' });
    expect(codeOf(await errorOf(sessions.update(bare.id, { budget: limit('300') })))).toBe('budget_create_only');
    expect(calls).toEqual([]);
  });

  test('brings a budget to the workflow, whose refusal leaves the session as it was (G69)', async () => {
    const { set, send, calls, ports, sessions, session } = await budgeted('250');
    await send(text('Go.'));
    expect((await set(limit('300'))).budget).toEqual(limit('300'));
    expect(calls.filter(([name]) => name === 'setOptions')).toEqual([
      ['setOptions', session.id, { sessionBudgetUsd: 3 }],
    ]);
    const acting = ports.as('someone');
    Object.assign(ports, {
      as: () => ({
        ...acting,
        setOptions: async () => {
          throw new ClientProblem('refused', 'the session has cost 2.0000 US dollars already');
        },
      }),
    });
    const error = await errorOf(set(limit('200')));
    expect([error.status, codeOf(error)]).toEqual([400, 'budget_not_raised']);
    expect((await sessions.retrieve(session.id)).budget).toEqual(limit('300'));
  });

  test('at the budget the session is idle, takes no message, and drops an interrupt (G45 G69)', async () => {
    const { send, described, session, sessions, calls } = await budgeted('250');
    await send(text('Go.'));
    described.set(session.id, description({ session: session.id as never, phase: 'parked', atBudget: true }));
    expect((await sessions.retrieve(session.id)).status).toBe('idle');
    const error = await errorOf(send(text('More.')));
    expect([error.status, codeOf(error)]).toEqual([400, 'session_budget_reached']);
    expect(error.message).toContain('raise or remove');
    expect((await send({ type: 'user.interrupt' })).data).toMatchObject([{ processed_at: expect.any(String) }]);
    expect(codeOf(await errorOf(send({ type: 'user.interrupt' }, text('More.'))))).toBe('session_budget_reached');
    expect(calls.map(([name]) => name)).toEqual(['start']);
  });

  test('a budget that changes while the first message starts the workflow reaches it (G69)', async () => {
    let change = async (): Promise<void> => undefined;
    const { client, calls } = stagedManaged({}, async (_, start) => {
      await change();
      start();
    });
    const agent = await client.beta.agents.create(AGENT);
    const { sessions } = client.beta;
    const session = await sessions.create({ agent: agent.id, environment_id: 'env_default', budget: limit('100') });
    change = async () => void (await sessions.update(session.id, { budget: limit('200') }));
    await sessions.events.send(session.id, { events: [text('Go.')] });
    expect(calls.filter(([name]) => name === 'setOptions')).toEqual([
      ['setOptions', session.id, { sessionBudgetUsd: 2 }],
    ]);
    expect((await sessions.retrieve(session.id)).budget).toEqual(limit('200'));
  });
});
