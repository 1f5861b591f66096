// Custom tools of agents: what is kept of them, and what is refused before a session has them.
import { describe, expect, test } from 'vitest';
import { AGENT, post, stagedManaged, text } from './staged.ts';

describe('custom tools of an agent', () => {
  const custom = {
    type: 'custom' as const,
    name: 'get_order',
    description: 'Looks up.',
    input_schema: { type: 'object' as const },
  };

  test('are kept as they were sent, beside the toolset (G53)', async () => {
    const { client } = stagedManaged();
    const input_schema = { type: 'object' as const, properties: { id: { type: 'string' } }, required: null };
    const { tools } = await client.beta.agents.create({
      ...AGENT,
      tools: [{ type: 'agent_toolset_20260401' }, { ...custom, input_schema }],
    });
    expect(tools[1]).toEqual({ ...custom, input_schema });
  });

  test('that the server names as workers’ own are theirs in a self-hosted environment alone (G57)', async () => {
    const { client, calls } = stagedManaged({ workerTools: ['get_order'] });
    const other = { ...custom, name: 'get_price' };
    const agent = await client.beta.agents.create({ ...AGENT, tools: [custom, other] });
    const own = await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } });
    const owners = async (environment_id: string): Promise<unknown> => {
      const { id } = await client.beta.sessions.create({ agent: agent.id, environment_id });
      await client.beta.sessions.events.send(id, { events: [text('Go.')] });
      return calls.at(-1)?.[4];
    };
    expect(await owners(own.id)).toMatchObject({ ifNew: { outsideTools: [{ by: 'worker' }, { by: 'custom' }] } });
    expect(await owners('env_default')).toMatchObject({
      ifNew: { outsideTools: [{ by: 'custom' }, { by: 'custom' }] },
    });
  });

  const wrongs: readonly (readonly [string, object])[] = [
    ['tools.0.name', { name: 'get order' }],
    ['tools.0.name', { name: 'bash' }],
    ['tools.0.name', { name: 'mcp__a__b' }],
    ['tools.0.name', { name: 'agent' }],
    ['tools.0.description', { description: '' }],
    ['tools.0.description', { description: 'x'.repeat(4_097) }],
    ['tools.0.input_schema', { input_schema: { type: 'object', properties: { id: { type: 'nothing' } } } }],
    ['tools', { description: 'x'.repeat(4_000), input_schema: { type: 'object', title: 'x'.repeat(96 * 1024) } }],
  ];
  test.each(wrongs)('are refused with what is wrong of %s: %j (G53)', async (param, change) => {
    const { ask } = stagedManaged();
    const response = await ask('/agents', post({ ...AGENT, tools: [{ ...custom, ...change }] }));
    expect([response.status, await response.json()]).toMatchObject([400, { error: { details: { param } } }]);
  });

  test('are refused when two have one name (G53)', async () => {
    const { ask } = stagedManaged();
    const response = await ask('/agents', post({ ...AGENT, tools: [custom, custom] }));
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('two outside tools') } });
  });
});
