// MCP servers of agents: what is taken and refused, and what they are for the runs of a session (G54).
import { describe, expect, test } from 'vitest';
import { AGENT, errorOf, post, stagedManaged, text } from './staged.ts';

const shop = { type: 'url' as const, name: 'shop', url: 'https://shop.example/mcp' };
const tools = [{ type: 'mcp_toolset' as const, mcp_server_name: 'shop' }];
const allow = { type: 'always_allow' as const };

describe('an agent', () => {
  test('has its servers as sent, and its toolsets with their defaults: each call asks (G23 G52)', async () => {
    const { client } = stagedManaged();
    const configs = [
      { name: 'find', permission_policy: allow },
      { name: 'refund', enabled: false },
    ];
    const agent = await client.beta.agents.create({
      ...AGENT,
      mcp_servers: [shop],
      tools: [{ type: 'mcp_toolset', mcp_server_name: 'shop', configs }],
    });
    expect(agent.mcp_servers).toEqual([shop]);
    expect(agent.tools).toEqual([
      {
        type: 'mcp_toolset',
        mcp_server_name: 'shop',
        default_config: { enabled: true, permission_policy: { type: 'always_ask' } },
        configs: [
          { name: 'find', enabled: true, permission_policy: allow },
          { name: 'refund', enabled: false, permission_policy: { type: 'always_ask' } },
        ],
      },
    ]);
    const moved = { ...shop, url: 'https://moved.example/mcp' };
    const updated = await client.beta.agents.update(agent.id, { mcp_servers: [moved] });
    expect(updated).toMatchObject({ version: 2, mcp_servers: [moved], tools: agent.tools });
    const alone = await errorOf(client.beta.agents.update(agent.id, { tools: [] }));
    expect([alone.status, alone.message]).toEqual([400, expect.stringContaining('no mcp_toolset of tools names')]);
    expect(await client.beta.agents.update(agent.id, { tools: [], mcp_servers: null })).toMatchObject({
      version: 3,
      mcp_servers: [],
    });
  });

  const many = Array.from({ length: 21 }, (_, at) => ({ ...shop, name: `shop-${at}` }));
  test.each([
    ['mcp_servers', { mcp_servers: [shop] }],
    ['mcp_servers', { mcp_servers: many, tools: many.map(({ name }) => ({ ...tools[0], mcp_server_name: name })) }],
    ['mcp_servers', { mcp_servers: [shop, shop], tools }],
    ['mcp_servers.0.name', { mcp_servers: [{ ...shop, name: 'a__b' }], tools }],
    ['mcp_servers.0.url', { mcp_servers: [{ ...shop, url: 'ftp://shop.example' }], tools }],
    ['mcp_servers.0.url', { mcp_servers: [{ ...shop, url: 'https://me:secret@shop.example' }], tools }],
    ['mcp_servers.0.headers', { mcp_servers: [{ ...shop, headers: {} }], tools }],
    ['tools.0.mcp_server_name', { tools }],
    ['tools', { mcp_servers: [shop], tools: [...tools, ...tools] }],
    ['tools.0.configs.1', { mcp_servers: [shop], tools: [{ ...tools[0], configs: [{ name: 'a' }, { name: 'a' }] }] }],
  ])('is refused for %s (G54)', async (param, part) => {
    const { ask } = stagedManaged();
    const response = await ask('/agents', post({ ...AGENT, tools: [], ...part }));
    const { error } = (await response.json()) as { error: { details: { param: string } } };
    expect([response.status, error.details.param]).toEqual([400, param]);
  });
});

async function startedWith(environment: object, agentParts: object = {}) {
  const staged = stagedManaged();
  const agent = await staged.client.beta.agents.create({ ...AGENT, mcp_servers: [shop], tools, ...agentParts });
  const { id } = await staged.client.beta.environments.create({ name: 'E', config: environment as never });
  const session = staged.client.beta.sessions.create({
    agent: agent.id,
    environment_id: id,
    initial_events: [text('Go.')],
  });
  return { ...staged, session };
}

const cloud = { type: 'cloud', networking: { type: 'unrestricted' } };

describe('a session', () => {
  test('starts with the servers’ names, addresses and policies, and offers their tools alone (G54)', async () => {
    const configs = [{ name: 'find', permission_policy: allow }];
    const { session, calls } = await startedWith(cloud, {
      tools: [{ ...tools[0], default_config: { permission_policy: { type: 'auto' } }, configs }],
    });
    await session;
    expect(calls[0]?.[4]).toMatchObject({
      ifNew: {
        tools: ['mcp__shop'],
        permissions: { allow: [] },
        mcpServers: [
          {
            name: 'shop',
            url: shop.url,
            config: { enabled: true, policy: 'auto' },
            tools: { find: { enabled: true, policy: 'always_allow' } },
          },
        ],
      },
    });
  });

  test('may replace the servers with its own, which its tools must name (G54)', async () => {
    const { client, calls } = stagedManaged();
    const { id } = await client.beta.agents.create({ ...AGENT, mcp_servers: [shop], tools });
    const own = { ...shop, name: 'store' };
    const choice = { type: 'agent_with_overrides' as const, id, mcp_servers: [own] };
    const create = (agent: object) =>
      client.beta.sessions.create({
        agent: agent as never,
        environment_id: 'env_default',
        initial_events: [text('Go.')],
      });
    const wrong = await errorOf(create(choice));
    expect(wrong.message).toContain('agent.tools.0.mcp_server_name');
    const session = await create({ ...choice, tools: [{ ...tools[0], mcp_server_name: 'store' }] });
    expect(session.agent.mcp_servers).toEqual([own]);
    expect(calls[0]?.[4]).toMatchObject({ ifNew: { tools: ['mcp__store'], mcpServers: [{ name: 'store' }] } });
  });

  test('reaches them without a network where its environment allows that, and is refused elsewhere (G54 G73)', async () => {
    const limited = { type: 'limited', allow_mcp_servers: true };
    const allowed = await startedWith({ type: 'cloud', networking: limited });
    await allowed.session;
    expect(allowed.calls[0]?.[4]).toMatchObject({ ifNew: { offline: true, mcpServers: [{ name: 'shop' }] } });
    const closed = await startedWith({ type: 'cloud', networking: { type: 'limited' } });
    expect((await errorOf(closed.session)).message).toContain('allow_mcp_servers');
    const away = await startedWith({ type: 'self_hosted' });
    await away.session;
    expect(away.calls[0]?.[4]).toMatchObject({ ifNew: { tools: ['mcp__shop'], mcpServers: [{ name: 'shop' }] } });
  });
});
