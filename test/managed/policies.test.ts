// What an agent's policies and an environment's network are for the runs of a session.
import { expect, test } from 'vitest';
import { AGENT, stagedManaged, text } from './staged.ts';

const limited = {
  type: 'cloud' as const,
  networking: { type: 'limited' as const },
};

test('an environment may have no network, which a change keeps unless it names another (G73)', async () => {
  const { client } = stagedManaged();
  const { id, config } = await client.beta.environments.create({ name: 'Closed', config: limited });
  const closed = { type: 'limited', allow_mcp_servers: false, allow_package_managers: false, allowed_hosts: [] };
  expect(config).toMatchObject({ type: 'cloud', networking: closed });
  const renamed = await client.beta.environments.update(id, { name: 'Shut', config: { type: 'cloud' } });
  expect(renamed).toMatchObject({ name: 'Shut', config: { networking: closed } });
  const opened = { type: 'cloud', networking: { type: 'unrestricted' } } as const;
  expect(await client.beta.environments.update(id, { config: opened })).toMatchObject({ config: opened });
});

test('a session has the tools of its agent by their policies, and no network where its environment has none (G52 G73)', async () => {
  const { client, calls } = stagedManaged();
  const auto = { permission_policy: { type: 'auto' } } as const;
  const agent = await client.beta.agents.create({
    ...AGENT,
    tools: [
      {
        type: 'agent_toolset_20260401',
        default_config: auto,
        configs: [
          { name: 'read', permission_policy: { type: 'always_allow' } },
          { name: 'edit', enabled: false },
        ],
      },
    ],
  });
  const policies = agent.tools.flatMap((tool) =>
    tool.type === 'agent_toolset_20260401'
      ? tool.configs.map(({ name, enabled, permission_policy: { type } }) => [name, enabled, type])
      : [],
  );
  expect(policies).toContainEqual(['bash', true, 'auto']);
  expect(policies).toContainEqual(['read', true, 'always_allow']);
  expect(policies).toContainEqual(['edit', false, 'auto']);
  const environment = await client.beta.environments.create({ name: 'Closed', config: limited });
  await client.beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
    initial_events: [text('Go.')],
  });
  expect(calls[0]?.[4]).toMatchObject({
    ifNew: {
      offline: true,
      tools: ['bash', 'read', 'write', 'glob', 'grep'],
      permissions: { allow: ['read'] },
    },
  });
});
