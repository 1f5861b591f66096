// Rosters of agents (G68): what the SDK may send of them, how they are resolved, and what a session
// gets of them.
import type { AgentCreateParams } from '@anthropic-ai/sdk/resources/beta/agents';
import { expect, test } from 'vitest';
import { codeOf, errorOf, AGENT, stagedManaged, text } from './staged.ts';

type Multiagent = AgentCreateParams['multiagent'];
const off = { type: 'disabled' } as const;
const three = (agents: string[]): Multiagent => ({
  type: 'multiagent_20261001',
  subagents: { type: 'enabled', inline_agents: off, predefined_agents: agents },
  workflows: off,
});

function staged() {
  const { client, calls } = stagedManaged();
  const create = (name: string, multiagent?: Multiagent) =>
    client.beta.agents.create({ ...AGENT, name, ...(multiagent !== undefined && { multiagent }) });
  const refused = (multiagent: Multiagent) => errorOf(create('Lead', multiagent));
  const open = (agent: string) => client.beta.sessions.create({ agent, environment_id: 'env_default' });
  return { client, calls, create, refused, open };
}

test('both forms of a roster are resolved to versions, and a session has its agents in whole', async () => {
  const { client, create, open } = staged();
  const one = await create('One');
  await client.beta.agents.update(one.id, { description: 'The first.' });
  const coordinator = await create('Lead', {
    type: 'coordinator',
    agents: [{ type: 'agent', id: one.id, version: 1 }, { type: 'self' }],
  });
  expect(coordinator.multiagent).toEqual({
    type: 'coordinator',
    agents: [
      { type: 'agent', id: one.id, version: 1 },
      { type: 'agent', id: coordinator.id, version: 1 },
    ],
  });
  const lead = await create('Lead', three([one.id]));
  const predefined_agents = [{ type: 'agent', id: one.id, version: 2 }];
  const subagents = { type: 'enabled', inline_agents: off, predefined_agents };
  const resolved = { type: 'multiagent_20261001', advisor: off, subagents, workflows: off };
  expect(lead.multiagent).toEqual(resolved);
  const { agent } = await open(lead.id);
  expect(agent.multiagent).toMatchObject({
    subagents: { predefined_agents: [{ id: one.id, version: 2, description: 'The first.', system: null }] },
  });
  expect(JSON.stringify(agent.multiagent)).not.toContain('"metadata"');
  const none = await create('None', { type: 'multiagent_20261001', subagents: off, workflows: off });
  expect(none.multiagent).toMatchObject({ subagents: off });
});

test('what is enabled unless it is disabled is refused by its name, and so is what is not served', async () => {
  const { create, refused } = staged();
  const { id } = await create('One');
  const subagents = { type: 'enabled' as const, inline_agents: off, predefined_agents: [id] };
  const type = 'multiagent_20261001' as const;
  const cases: readonly (readonly [string, Multiagent])[] = [
    ['multiagent.workflows', { type }],
    ['multiagent.workflows', { type, subagents, workflows: null }],
    ['multiagent.subagents.inline_agents', { type, workflows: off }],
    ['multiagent.subagents.inline_agents', { type, workflows: off, subagents: { ...subagents, inline_agents: null } }],
    ['multiagent.advisor', { type, subagents, workflows: off, advisor: { type: 'enabled', model: 'm' } }],
    ['multiagent.agents.0', { type: 'coordinator', agents: [{ type: 'advisor', model: 'm' }] }],
  ];
  for (const [path, multiagent] of cases) {
    const error = await refused(multiagent);
    expect([error.status, codeOf(error)]).toEqual([400, 'perdure_unsupported']);
    expect(error.message).toContain(path);
  }
  expect((await refused({ type })).message).toContain('disabled');
});

test('a roster names agents that exist, once each, without rosters of their own, and at most 20', async () => {
  const { client, create, refused } = staged();
  const [one, twin, gone] = [await create('One'), await create('One'), await create('Gone')];
  await client.beta.agents.archive(gone.id);
  const lead = await create('Lead', { type: 'coordinator', agents: [one.id] });
  const cases: readonly (readonly [string, string[]])[] = [
    ['was not found', [`agent_${'0'.repeat(26)}`]],
    ['is archived', [gone.id]],
    ['a roster of its own', [lead.id]],
    ['is listed twice', [one.id, one.id]],
    ['another agent of the roster is named', [one.id, twin.id]],
    ['multiagent.agents', []],
    ['multiagent.agents', Array.from({ length: 21 }, () => one.id)],
  ];
  for (const [words, agents] of cases) {
    const error = await refused({ type: 'coordinator', agents });
    expect([error.status, error.message]).toEqual([400, expect.stringContaining(words)]);
  }
  const self = await errorOf(
    client.beta.agents.update(lead.id, { multiagent: { type: 'coordinator', agents: [lead.id] } }),
  );
  expect(self.message).toContain('name the agent itself');
});

test('an update merges three members level by level, replaces a coordinator, and takes itself along', async () => {
  const { client, create } = staged();
  const [one, two] = [await create('One'), await create('Two')];
  const lead = await create('Lead', three([one.id]));
  const same = await client.beta.agents.update(lead.id, { multiagent: { type: 'multiagent_20261001' } });
  expect(same.version).toBe(1);
  const second = await client.beta.agents.update(lead.id, {
    multiagent: { type: 'multiagent_20261001', subagents: { type: 'enabled', predefined_agents: [two.id] } },
  });
  expect(second).toMatchObject({
    version: 2,
    multiagent: { workflows: off, subagents: { inline_agents: off, predefined_agents: [{ id: two.id }] } },
  });
  const third = await client.beta.agents.update(lead.id, {
    multiagent: { type: 'coordinator', agents: [{ type: 'self' }] },
  });
  expect(third.multiagent).toMatchObject({ agents: [{ id: lead.id, version: 3 }] });
  const fourth = await client.beta.agents.update(lead.id, { system: 'You lead.' });
  expect(fourth.multiagent).toMatchObject({ agents: [{ id: lead.id, version: 4 }] });
  expect((await client.beta.agents.update(lead.id, { multiagent: null })).multiagent).toBeNull();
});

test('a session’s runs may start its agents, each with its own model, system, tools and policies', async () => {
  const { client, calls, open } = staged();
  const writer = await client.beta.agents.create({
    ...AGENT,
    name: 'Writer',
    description: 'Writes.',
    system: 'You write.',
    tools: [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }],
  });
  const lead = await client.beta.agents.create({
    name: 'Lead',
    model: 'claude-opus-5-5',
    multiagent: { type: 'coordinator', agents: [writer.id, { type: 'self' }] },
  });
  const { id } = await open(lead.id);
  await client.beta.sessions.events.send(id, { events: [text('Go.')] });
  const tools = ['bash', 'edit', 'read', 'write', 'glob', 'grep', 'web_fetch'];
  expect(calls.find(([name]) => name === 'start')?.[4]).toMatchObject({
    ifNew: {
      tools: ['agent'],
      model: 'claude-opus-5-5',
      roster: [
        {
          name: 'Writer',
          description: 'Writes.',
          model: 'claude-sonnet-5-5',
          systemPrompt: 'You write.',
          tools,
          permissions: { allow: [], ask: tools },
        },
        { name: 'Lead', model: 'claude-opus-5-5', tools: [], permissions: { allow: [] } },
      ],
    },
  });
});

test('an agent with a roster works on the workers of this deployment alone', async () => {
  const { client, create } = staged();
  const lead = await create('Lead', { type: 'coordinator', agents: [{ type: 'self' }] });
  const { id } = await client.beta.environments.create({ name: 'Own', config: { type: 'self_hosted' } });
  const error = await errorOf(client.beta.sessions.create({ agent: lead.id, environment_id: id }));
  expect([error.status, codeOf(error)]).toEqual([400, 'perdure_unsupported']);
});
