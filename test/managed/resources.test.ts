// Agents, environments and sessions as the SDK sees them, on staged sessions.
import {
  BetaEnvironmentArchivedError,
  BetaEnvironmentNotFoundError,
} from '@anthropic-ai/sdk/resources/beta/environments';
import { describe, expect, test } from 'vitest';
import { AGENT, codeOf, collect, errorOf, HEADERS, post, stagedManaged, text } from './staged.ts';

describe('agents', () => {
  test('live through their versions: each change is one, no change is none (G12)', async () => {
    const { client } = stagedManaged();
    const agent = await client.beta.agents.create({ ...AGENT, system: 'Be brief.', metadata: { team: 'web' } });
    expect(agent).toMatchObject({ type: 'agent', version: 1, model: { id: 'claude-sonnet-5-5' }, archived_at: null });
    const second = await client.beta.agents.update(agent.id, {
      version: 1,
      system: null,
      model: { id: 'claude-opus-5-5', effort: 'high' },
      metadata: { team: null, tier: 'one' },
    });
    expect(second).toMatchObject({
      version: 2,
      system: null,
      metadata: { tier: 'one' },
      model: { id: 'claude-opus-5-5', effort: { type: 'high' } },
    });
    expect(await client.beta.agents.update(agent.id, { system: null })).toEqual(second);
    expect((await client.beta.agents.retrieve(agent.id, { version: 1 })).system).toBe('Be brief.');
    const versions = await collect(client.beta.agents.versions.list(agent.id, { limit: 1 }));
    expect(versions.map(({ version }) => version)).toEqual([2, 1]);
    const stale = await errorOf(client.beta.agents.update(agent.id, { version: 1, name: 'Other' }));
    expect([stale.status, codeOf(stale), stale.headers?.get('x-should-retry')]).toEqual([
      409,
      'version_conflict',
      'false',
    ]);
    const archived = await client.beta.agents.archive(agent.id);
    expect(await client.beta.agents.archive(agent.id)).toEqual(archived);
    expect(codeOf(await errorOf(client.beta.agents.update(agent.id, { name: 'x' })))).toBe('agent_archived');
    expect(await collect(client.beta.agents.list())).toEqual([]);
    expect(await collect(client.beta.agents.list({ include_archived: true }))).toEqual([archived]);
  });

  test('are listed once each over all pages, newest first (G8)', async () => {
    const { client } = stagedManaged();
    const created: string[] = [];
    for (let n = 0; n < 7; n += 1) created.push((await client.beta.agents.create({ ...AGENT, name: `A${n}` })).id);
    const listed = (await collect(client.beta.agents.list({ limit: 3 }))).map(({ id }) => id);
    expect(listed.toSorted()).toEqual(created.toSorted());
    const all = await client.beta.agents.list({ 'created_at[gte]': '2001-01-01T00:00:00Z' });
    expect(all.data).toHaveLength(7);
    expect((await client.beta.agents.list({ 'created_at[lte]': '2001-01-01T00:00:00Z' })).data).toEqual([]);
  });

  test('have every tool of the toolset written out (G23)', async () => {
    const { client } = stagedManaged();
    const { tools } = await client.beta.agents.create({
      ...AGENT,
      tools: [
        {
          type: 'agent_toolset_20260401',
          default_config: { enabled: false },
          configs: [{ name: 'read', enabled: true }],
        },
      ],
    });
    const [toolset] = tools;
    if (toolset?.type !== 'agent_toolset_20260401') throw new Error('no toolset');
    expect(toolset.configs.filter(({ enabled }) => enabled).map(({ name }) => name)).toEqual(['read']);
    expect(toolset.configs).toHaveLength(8);
  });

  const refusals: readonly (readonly [string, object])[] = [
    ['skills.0', { skills: [{ type: 'anthropic', skill_id: 'xlsx' }] }],
    ['multiagent.workflows', { multiagent: { type: 'multiagent_20261001' } }],
    ['execution_identity', { execution_identity: { type: 'aws_role', role_arn: 'arn' } }],
    ['model.speed', { model: { id: 'm', speed: 'fast' } }],
    ['model.inference_geo', { model: { id: 'm', inference_geo: 'eu' } }],
    [
      'tools.0.configs.0.allowed_domains',
      { tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'web_fetch', allowed_domains: ['a.example'] }] }] },
    ],
    [
      'tools.0.configs.0',
      { tools: [{ type: 'agent_toolset_20260401', configs: [{ name: 'web_search', enabled: true }] }] },
    ],
  ];
  test.each(refusals)('are refused by name for %s, rather than half accepted (G4)', async (param, part) => {
    const { ask } = stagedManaged();
    const response = await ask('/agents', post({ ...AGENT, ...part }));
    expect([response.status, await response.json()]).toEqual([
      400,
      expect.objectContaining({
        error: expect.objectContaining({ details: { error_code: 'perdure_unsupported', param } }) as unknown,
      }),
    ]);
  });
});

const limited = (more: object = {}) => ({
  type: 'cloud' as const,
  networking: { type: 'limited' as const, ...more },
});

describe('environments', () => {
  test('live from their creation to their deletion, and one is always there (G73)', async () => {
    const { client } = stagedManaged();
    const builtIn = await client.beta.environments.retrieve('env_default');
    expect(builtIn).toMatchObject({ name: 'default', config: { type: 'cloud', networking: { type: 'unrestricted' } } });
    const environment = await client.beta.environments.create({ name: 'web', metadata: { a: '1', b: '2' } });
    const changed = await client.beta.environments.update(environment.id, {
      description: 'x',
      metadata: { a: '', b: null },
    });
    expect(changed).toMatchObject({ name: 'web', description: 'x', metadata: {} });
    const ids = async (query = {}) => (await collect(client.beta.environments.list(query))).map(({ id }) => id);
    expect(await ids({ limit: 1 })).toEqual([environment.id, 'env_default']);
    await client.beta.environments.archive(environment.id);
    expect(await ids()).toEqual(['env_default']);
    const archived = await errorOf(client.beta.environments.update(environment.id, { name: 'y' }));
    expect(archived).toBeInstanceOf(BetaEnvironmentArchivedError);
    expect(await client.beta.environments.delete(environment.id)).toEqual({
      id: environment.id,
      type: 'environment_deleted',
    });
    const missing = await errorOf(client.beta.environments.retrieve(environment.id));
    expect(missing).toBeInstanceOf(BetaEnvironmentNotFoundError);
    expect((await errorOf(client.beta.environments.delete('env_default'))).status).toBe(400);
  });

  test.each([
    ['config.networking.allowed_hosts', { config: limited({ allowed_hosts: ['a.example'] }) }],
    ['config.networking.allow_package_managers', { config: limited({ allow_package_managers: true }) }],
    ['config.packages', { config: { type: 'cloud', packages: { pip: ['requests'] } } }],
    ['scope', { scope: 'account' }],
  ])('are refused by name for %s (G4)', async (param, part) => {
    const { ask } = stagedManaged();
    const response = await ask('/environments', post({ name: 'x', ...part }));
    const { error } = (await response.json()) as { error: { details: { param: string } } };
    expect([response.status, error.details.param]).toEqual([400, param]);
  });
});

describe('sessions', () => {
  async function withSession() {
    const staged = stagedManaged();
    const agent = await staged.client.beta.agents.create(AGENT);
    const session = await staged.client.beta.sessions.create({
      agent: agent.id,
      environment_id: 'env_default',
      title: 'A',
      metadata: { a: '1' },
    });
    return { ...staged, agent, session };
  }

  test('have no workflow until their first message (G3)', async () => {
    const { client, session, calls } = await withSession();
    expect(session).toMatchObject({
      type: 'session',
      status: 'idle',
      title: 'A',
      budget: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    });
    expect((await client.beta.sessions.events.list(session.id)).data).toEqual([]);
    expect(calls).toEqual([]);
    const { data = [] } = await client.beta.sessions.events.send(session.id, { events: [text('Go.')] });
    expect(data).toEqual([
      { id: data[0]?.id, type: 'user.message', content: [{ type: 'text', text: 'Go.' }], processed_at: null },
    ]);
    const [, , by, , options] = calls[0] ?? [];
    expect([by, options]).toEqual([
      'the owner',
      {
        session: session.id,
        messageId: data[0]?.id,
        querySource: 'api',
        ifNew: {
          cwd: `/srv/${session.id}`,
          model: 'claude-sonnet-5-5',
          permissionMode: 'default',
          toolset: 'agent_toolset_20260401',
          tools: ['bash', 'edit', 'read', 'write', 'glob', 'grep', 'web_fetch'],
          permissions: { allow: ['bash', 'edit', 'read', 'write', 'glob', 'grep', 'web_fetch'] },
          recordWaits: true,
          sessionFiles: true,
          systemContext: { files: expect.stringContaining('/mnt/session/uploads') as string },
        },
      },
    ]);
    expect((await client.beta.sessions.retrieve(session.id)).status).toBe('running');
  });

  test('begin with their first messages where these are sent along (G3)', async () => {
    const { client, agent, calls } = await withSession();
    const session = await client.beta.sessions.create({
      agent: { type: 'agent_with_overrides', id: agent.id, system: 'Be kind.', tools: [] },
      environment_id: 'env_default',
      initial_events: [text('One.'), text('Two.')],
    });
    expect(session).toMatchObject({ status: 'running', agent: { system: 'Be kind.', tools: [], version: 1 } });
    expect(calls.map(([name, id]) => [name, id])).toEqual([
      ['start', session.id],
      ['start', session.id],
    ]);
    expect(calls[0]?.[4]).toMatchObject({ ifNew: { systemPrompt: 'Be kind.', tools: [] } });
  });

  test('are changed, listed and found by what they are (G27 G28)', async () => {
    const { client, agent, session } = await withSession();
    const other = await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
    const changed = await client.beta.sessions.update(session.id, { title: null, metadata: { a: null, b: '2' } });
    expect(changed).toMatchObject({ title: null, metadata: { b: '2' } });
    const ids = async (query = {}) => (await client.beta.sessions.list(query)).data.map(({ id }) => id);
    expect((await ids({ agent_id: agent.id })).toSorted()).toEqual([session.id, other.id].toSorted());
    expect(await ids({ agent_id: 'agent_x' })).toEqual([]);
    await client.beta.sessions.events.send(other.id, { events: [text('Go.')] });
    expect(await ids({ statuses: ['running'] })).toEqual([other.id]);
    expect(await ids({ statuses: ['idle', 'terminated'] })).toEqual([session.id]);
    const first = await client.beta.sessions.list({ limit: 1, order: 'asc' });
    const second = await first.getNextPage();
    expect(new Set([first.data[0]?.id, second.data[0]?.id])).toEqual(new Set([session.id, other.id]));
    expect([first.prev_page, second.next_page]).toEqual([null, null]);
    const back = await client.beta.sessions.list({ limit: 1, order: 'asc', page: second.prev_page });
    expect(back.data).toEqual(first.data);
  });

  test('are archived once and for good: nothing more can be sent (G22 G44)', async () => {
    const { client, session, calls } = await withSession();
    await client.beta.sessions.events.send(session.id, { events: [text('Go.')] });
    const archived = await client.beta.sessions.archive(session.id);
    expect(archived.status).toBe('terminated');
    expect(await client.beta.sessions.archive(session.id)).toEqual(archived);
    expect(calls.filter(([name]) => name === 'cancel')).toHaveLength(1);
    const refused = await errorOf(client.beta.sessions.events.send(session.id, { events: [text('More.')] }));
    expect(refused.message).toContain(`Cannot send events to archived session: ${session.id}`);
    expect(await collect(client.beta.sessions.list())).toEqual([]);
    expect(await collect(client.beta.sessions.list({ include_archived: true }))).toHaveLength(1);
  });

  test('that never ran tell their end in their events, the same twice (G31)', async () => {
    const { client, session } = await withSession();
    await client.beta.sessions.archive(session.id);
    const events = (await client.beta.sessions.events.list(session.id)).data;
    expect(events.map(({ type }) => type)).toEqual(['session.status_terminated']);
    expect((await client.beta.sessions.events.list(session.id)).data).toEqual(events);
  });

  test('are deleted when they are at rest, and are not found then (G22)', async () => {
    const { client, session, described } = await withSession();
    await client.beta.sessions.events.send(session.id, { events: [text('Go.')] });
    const running = await errorOf(client.beta.sessions.delete(session.id));
    expect([running.status, codeOf(running)]).toEqual([409, 'session_running']);
    described.set(session.id, { ...described.get(session.id)!, phase: 'idle' });
    expect(await client.beta.sessions.delete(session.id)).toEqual({ id: session.id, type: 'session_deleted' });
    expect(described.has(session.id)).toBe(false);
    for (const request of [
      client.beta.sessions.retrieve(session.id),
      client.beta.sessions.delete(session.id),
      client.beta.sessions.events.list(session.id),
      client.beta.sessions.events.send(session.id, { events: [text('x')] }),
    ])
      expect((await errorOf(request)).status).toBe(404);
  });

  test('keep their environment from being deleted while they are not archived (G22)', async () => {
    const { client, agent } = await withSession();
    const { id } = await client.beta.environments.create({ name: 'x' });
    const session = await client.beta.sessions.create({ agent: agent.id, environment_id: id });
    expect(codeOf(await errorOf(client.beta.environments.delete(id)))).toBe('environment_in_use');
    await client.beta.sessions.archive(session.id);
    await client.beta.environments.delete(id);
  });

  test('that another server has just created keep their environment, too (G22)', async () => {
    const { client, agent, store } = await withSession();
    const { id } = await client.beta.environments.create({ name: 'x' });
    await client.beta.sessions.list();
    const other = stagedManaged({ store });
    await other.client.beta.sessions.create({ agent: agent.id, environment_id: id });
    expect(codeOf(await errorOf(client.beta.environments.delete(id)))).toBe('environment_in_use');
  });

  test('have streams whose defects are logged, as those of a request are (G42)', async () => {
    const lines: string[] = [];
    let isBroken = false;
    const staged = stagedManaged({
      newestStep: async () => {
        if (isBroken) throw new TypeError('broken');
        return { head: null };
      },
      log: (line) => lines.push(line),
    });
    const agent = await staged.client.beta.agents.create(AGENT);
    const { id } = await staged.client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
    await staged.client.beta.sessions.events.send(id, { events: [text('Go.')] });
    const stream = await staged.ask(`/sessions/${id}/events/stream`, { headers: HEADERS });
    isBroken = true;
    await stream.text();
    expect(lines).toEqual([`managed agents: a stream of session ${id} ended: broken`]);
    expect((await errorOf(staged.client.beta.sessions.events.list(id))).status).toBe(500);
    expect(lines[1]).toMatch(/^managed agents: request req_\w+ failed: broken$/);
  });

  test('are interrupted while they run; an idle one echoes it and changes nothing (G45)', async () => {
    const { client, session, calls } = await withSession();
    const interrupt = { type: 'user.interrupt' as const };
    const idle = await client.beta.sessions.events.send(session.id, { events: [interrupt] });
    expect(idle.data?.[0]).toMatchObject({ type: 'user.interrupt', processed_at: expect.any(String) as unknown });
    expect(calls).toEqual([]);
    await client.beta.sessions.events.send(session.id, { events: [text('Go.')] });
    const running = await client.beta.sessions.events.send(session.id, { events: [interrupt, text('Now this.')] });
    expect(running.data?.map(({ type, processed_at }) => [type, processed_at])).toEqual([
      ['user.interrupt', null],
      ['user.message', null],
    ]);
    expect(calls.map(([name]) => name)).toEqual(['start', 'interrupt', 'start']);
  });

  const parts = [
    ['resources.0.type', { resources: [{ type: 'github_repository', url: 'https://example.com/x' }] }],
  ] as const;
  test.each(parts)('are refused by name for %s (G4)', async (param, part) => {
    const { ask, agent, calls } = await withSession();
    const response = await ask('/sessions', post({ agent: agent.id, environment_id: 'env_default', ...part }));
    const { error } = (await response.json()) as { error: { details: object } };
    expect([response.status, error.details]).toEqual([400, { error_code: 'perdure_unsupported', param }]);
    expect(calls).toEqual([]);
  });

  test('take all events of a request or none (G44)', async () => {
    const { ask, session, calls } = await withSession();
    for (const bad of [
      { type: 'user.message', content: [{ type: 'image', source: { type: 'url', url: 'https://a.example' } }] },
      { type: 'user.message', content: [{ type: 'text', text: '' }] },
      { type: 'user.tool_confirmation', tool_use_id: 'sevt_x', result: 'allow' },
      { type: 'user.interrupt', session_thread_id: 'sthr_1' },
    ]) {
      const response = await ask(`/sessions/${session.id}/events`, post({ events: [text('Go.'), bad] }));
      expect([bad.type, response.status]).toEqual([bad.type, 400]);
    }
    expect(calls).toEqual([]);
  });

  test('are created once however often a request is repeated with its key, or by the SDK (G21)', async () => {
    const { ask, agent, client } = await withSession();
    const body = { agent: agent.id, environment_id: 'env_default', title: 'once' };
    const create = async (headers: Readonly<Record<string, string>>): Promise<string> =>
      ((await (await ask('/sessions', post(body, headers))).json()) as { id: string }).id;
    const keyed = await create({ 'idempotency-key': 'order-1' });
    expect(await create({ 'idempotency-key': 'order-1' })).toBe(keyed);
    const first = await create({ 'x-stainless-retry-count': '0' });
    expect(await create({ 'x-stainless-retry-count': '1' })).toBe(first);
    expect(await create({ 'x-stainless-retry-count': '0' })).not.toBe(first);
    expect(await collect(client.beta.sessions.list())).toHaveLength(4);
  });

  test('stay deleted when their creation is repeated: nothing is sent again (G21 G22)', async () => {
    const { ask, agent, client, calls, described } = await withSession();
    const body = { agent: agent.id, environment_id: 'env_default', initial_events: [text('Go.')] };
    const first = { 'x-stainless-retry-count': '0' };
    const again = { 'x-stainless-retry-count': '1' };
    const key = { 'idempotency-key': 'order-1' };
    for (const [create, repeat] of [[key, key] as const, [first, again] as const]) {
      const { id } = (await (await ask('/sessions', post(body, create))).json()) as { id: string };
      described.set(id, { ...described.get(id)!, phase: 'idle' });
      await client.beta.sessions.delete(id);
      const before = calls.length;
      expect((await ask('/sessions', post(body, repeat))).status).toBe(404);
      expect(calls).toHaveLength(before);
      expect((await errorOf(client.beta.sessions.retrieve(id))).status).toBe(404);
    }
    const environment = await ask('/environments', post({ name: 'x' }, key));
    await client.beta.environments.delete(((await environment.json()) as { id: string }).id);
    expect((await ask('/environments', post({ name: 'x' }, key))).status).toBe(404);
  });
});
