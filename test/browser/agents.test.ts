// The views of agents, of one with versions, and of a queue of work in every state, at three widths
// and in both schemes.
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { managedApp } from '../../managed/app.ts';
import { managedPorts } from '../../managed/ports.ts';
import { reply } from '../../scripted-model/index.ts';
import { itemAfter, lapse, requestStop, stop, takeLease, WorkQueue } from '../../store/sandbox/queue.ts';
import { axeFindings, openStage, shoot, type Stage } from '../support/stage.ts';

const TOKEN = 'ana-'.padEnd(40, '0');
const ana = { name: 'ana', role: 'steer', token: TOKEN } as const;
const KEPT = { leaseMs: 60_000, publicUrl: undefined, idleLeaseMs: undefined, workerTools: [], privateHosts: [] };

let stage: Stage;
let client: Anthropic;
beforeAll(async () => {
  stage = await openStage({
    beside: (opened, ports, root) => ({
      people: [ana],
      mount: (access) =>
        managedApp(managedPorts(opened, ports, { root, env: process.env, log: () => undefined, ...KEPT }), access),
    }),
  });
  const baseURL = stage.page.api.replace(/\/api\/.*$/, '');
  client = new Anthropic({ apiKey: TOKEN, authToken: null, baseURL, logLevel: 'off' });
});
afterAll(() => stage.close());

const SCHEMA = { type: 'object', properties: { order: { type: 'string' } } } as const;

/** An agent with three versions and two sessions, one of which has a message. */
async function createAgent(): Promise<string> {
  const { agents, sessions } = client.beta;
  const { id } = await agents.create({
    name: 'Order auditor for the northern warehouses',
    description: 'Audits orders, and asks before it refunds one.',
    model: 'claude-sonnet-5-5',
    tools: [{ type: 'agent_toolset_20260401' }],
  });
  const custom = { type: 'custom', name: 'get_order', description: 'Reads an order.', input_schema: SCHEMA } as const;
  await agents.update(id, { version: 1, tools: [{ type: 'agent_toolset_20260401' }, custom] });
  await agents.update(id, { version: 2, system: `Be brief. ${'Name the order in each sentence. '.repeat(8)}` });
  await stage.play('Audit order 7.', [reply('Nothing is wrong with it.')]);
  await sessions.create({ agent: id, environment_id: 'env_default', title: 'Nothing asked yet' });
  await sessions.create({
    agent: id,
    environment_id: 'env_default',
    initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'Audit order 7.' }] }],
  });
  const old = await agents.create({ name: 'Retired', model: 'claude-sonnet-5-5' });
  await agents.archive(old.id);
  return id;
}

/** A queue with an item in each state. */
async function createQueue(agent: string): Promise<string> {
  const { environments, sessions } = client.beta;
  const { id } = await environments.create({ name: 'Build machines', config: { type: 'self_hosted' } });
  const queue = new WorkQueue({ store: stage.opened.store, now: Date.now }, id);
  const worker = 'builder-eu-central-1-7f9c8d6b54-x2x7q';
  const changes = ['active', 'stopping', 'stopped', 'lapsed', 'starting', 'claimed'] as const;
  for (const state of changes) {
    const session = await sessions.create({ agent, environment_id: id, title: `Session ${state}` });
    await queue.ensure(session.id, 'ana');
    const { id: work } = (await queue.claim({ worker, reclaimMs: 60_000 }))!;
    const change = (next: Parameters<WorkQueue['change']>[2]) => queue.change(work, 'ana', next);
    if (state !== 'claimed' && state !== 'starting') await change((item, now) => takeLease(item, 1, now, '000001'));
    if (state === 'starting') await change((item, now) => ({ ...item, lease: { ...item.lease!, ackedAt: now } }));
    if (state === 'stopping') await change(requestStop);
    if (state === 'stopped') await change(stop);
    if (state === 'lapsed') await change((item, now) => lapse(item, 1, now));
  }
  const again = await sessions.create({ agent, environment_id: id });
  await queue.ensure(again.id, 'ana');
  const [work] = [...(await queue.items())].at(-1)!;
  await queue.change(work, 'ana', (item, now) => ({ ...itemAfter({ ...item, repeats: 2 }, now), from: now + 60_000 }));
  return id;
}

test('agents, versions and a queue fit 360, 1,024 and 1,920 pixels, and axe finds nothing in either scheme (O11)', async () => {
  const empty = await client.beta.environments.create({ name: 'Unused', config: { type: 'self_hosted' } });
  const agent = await createAgent();
  const views = {
    'agents-all': '/agents',
    'agent-versions': `/agents/${agent}`,
    'queue-empty': `/agents/environments/${empty.id}`,
    queue: `/agents/environments/${await createQueue(agent)}`,
  };
  const { tab, problems, close } = await stage.visit('/agents');
  const found: unknown[] = [];
  for (const [name, path] of Object.entries(views)) {
    await tab.goto(new URL(path, tab.url()).href);
    await tab.locator('#main').waitFor();
    await shoot(tab, name);
    for (const width of [360, 1_024, 1_920]) {
      await tab.setViewportSize({ width, height: 900 });
      const wide = await tab.evaluate<number>('document.documentElement.scrollWidth');
      if (wide > width) found.push([name, width, `${wide} wide`]);
      for (const finding of await axeFindings(tab)) found.push([name, width, finding]);
    }
  }
  expect(found).toEqual([]);
  expect(problems).toEqual([]);
  await close();
});
