// Changes of a session as events (pure), and as the face brings them (the real SDK against the app).
import { expect, test } from 'vitest';
import type { Entry } from '../../client/index.ts';
import { emptyProjection } from '../../managed/events/parts.ts';
import { projectEntries } from '../../managed/events/project.ts';
import { earlyUpdates, withNewAgents } from '../../managed/events/updates.ts';
import type { SessionItem } from '../../managed/log/stored.ts';
import type { ManagedPorts } from '../../managed/ports.ts';
import { StoreError } from '../../store/values/store.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { isRelabel, type SessionLabels } from '../../workflows/contract/steered.ts';
import { SteeredLog } from '../../workflows/updates/steered-log.ts';
import { description } from '../client/support.ts';
import { AGENT, codeOf, collect, errorOf, stagedManaged, text } from './staged.ts';

const T = 1_770_000_000_000;
const relabel = (labels: SessionLabels): Entry => ({ kind: 'steered', steered: { action: 'relabel', at: T, labels } });
const told = (...all: readonly SessionLabels[]) =>
  projectEntries(emptyProjection('sesn_x'), all.map(relabel)).facts.map((fact) => {
    const { id: _, type: __, processed_at: ___, ...changed } = fact.make(new Map()) as never as Record<string, unknown>;
    return changed;
  });

test('a change that was sent twice is told once, and only what differs is told (G27)', () => {
  const both = { title: 'A', metadata: { team: 'x' } };
  expect(told(both, both)).toEqual([both]);
  expect(told(both, { title: 'B', metadata: { team: 'x' } }, { title: null })).toEqual([
    both,
    { title: 'B' },
    { title: null },
  ]);
  expect(told(both, { metadata: {} })).toEqual([both, {}]);
});

test('a signal that names no agent of the store leaves its event without one, and a store that is away fails', async () => {
  const [fact] = projectEntries(emptyProjection('sesn_x'), [relabel({ agent: 'a'.repeat(64) as Hash })]).facts;
  const make = async (read: () => Promise<unknown>) => {
    const [made] = await withNewAgents([fact!], read as () => Promise<never>);
    return made?.make(new Map());
  };
  const agent = { type: 'agent', id: 'agent_1' };
  expect(await make(async () => agent)).toMatchObject({ type: 'session.updated', agent });
  expect(await make(async () => ({ kind: 'segment' }))).not.toHaveProperty('agent');
  expect(await make(() => Promise.reject(new StoreError('missing', 'gone')))).not.toHaveProperty('agent');
  await expect(make(() => Promise.reject(new StoreError('unavailable', 'away')))).rejects.toThrow('away');
});

test('what is not stored yet is one change, and what came before it stays counted', () => {
  const log = new SteeredLog();
  log.relabel({ title: 'A', metadata: { a: '1' } }, { by: 'ann' });
  log.note({ action: 'snip' }, {});
  log.relabel({ title: 'B' }, { by: 'ben' });
  expect(log.open).toMatchObject([
    { action: 'snip' },
    { action: 'relabel', by: 'ben', labels: { title: 'B', metadata: { a: '1' } } },
  ]);
});

test.each([
  [{ labels: { title: 'A' } }, true],
  [{ labels: { title: null, metadata: { a: 'b' } } }, true],
  [{ labels: { title: 1 } }, false],
  [{ labels: { metadata: { a: 1 } } }, false],
  [{ labels: { metadata: 'a' } }, false],
  [{ labels: { name: 'A' } }, false],
  [{ labels: { title: 'x'.repeat(70_000) } }, false],
  [{ labels: { agent: 'a'.repeat(64) } }, true],
  [{ labels: { agent: 'agent_1' } }, false],
  [{ labels: null }, false],
  [undefined, false],
])('the signal %j is taken: %s', (value, isTaken) => {
  expect(isRelabel(value)).toBe(isTaken);
});

async function begun(changes: Partial<ManagedPorts> = {}) {
  const all = stagedManaged(changes);
  const agent = await all.client.beta.agents.create(AGENT);
  const { sessions } = all.client.beta;
  const { id } = await sessions.create({ agent: agent.id, environment_id: 'env_default', metadata: { a: '1' } });
  return { ...all, sessions, id };
}

test('before the first message, the first eight changes are kept with the session, and no no-op (G27)', async () => {
  const { sessions, id, restart } = await begun();
  await sessions.update(id, { metadata: { a: '1' }, title: null });
  for (let n = 0; n < 10; n += 1) await sessions.update(id, { title: `T${n}` });
  restart();
  const events = await collect(sessions.events.list(id));
  expect(events.map((event) => (event.type === 'session.updated' ? event.title : event.type))).toEqual(
    Array.from({ length: 8 }, (_, n) => `T${n}`),
  );
  const times = events.map(({ processed_at }) => String(processed_at));
  expect(times).toEqual([...new Set(times)].toSorted());
  expect(events[0]).not.toHaveProperty('metadata');
});

test('a session with a workflow is told before the record changes, and not once it has ended (G27)', async () => {
  const { sessions, id, described, calls } = await begun();
  const open = description({ session: id as SessionId, phase: 'idle' });
  described.set(id, open);
  const item = {
    updates: [
      { at: T, title: 'A' },
      { at: T, title: 'B' },
    ],
  } as Partial<SessionItem> as SessionItem;
  const first = { at: T * 1000 } as Parameters<typeof earlyUpdates>[2];
  expect(earlyUpdates(id, item, first).map(({ at }) => at - T * 1000)).toEqual([-2, -1]);
  await sessions.events.send(id, { events: [{ type: 'user.message', content: [{ type: 'text', text: 'Go.' }] }] });
  calls.length = 0;
  await sessions.update(id, { title: 'A', metadata: { a: null } });
  await sessions.update(id, { title: 'A' });
  expect(calls).toEqual([['relabel', id, { title: 'A', metadata: {} }]]);
  described.set(id, { ...open, status: 'failed' });
  await sessions.update(id, { title: 'B' });
  expect(calls).toHaveLength(1);
});

test('a session at rest that takes up its labels is answered as idle, and one with news as running (G25)', async () => {
  const { sessions, id, described } = await begun({
    relabel: async (session) => void described.set(session, { ...idle, unseen: true }),
  });
  const idle = description({ session: id as SessionId, phase: 'idle' });
  await sessions.events.send(id, { events: [{ type: 'user.message', content: [{ type: 'text', text: 'Go.' }] }] });
  described.set(id, idle);
  expect(await sessions.update(id, { title: 'A' })).toMatchObject({ status: 'idle', title: 'A' });
  expect(await sessions.update(id, { title: 'B' })).toMatchObject({ status: 'running', title: 'B' });
});

const bash = {
  type: 'agent_toolset_20260401' as const,
  default_config: { enabled: false },
  configs: [{ name: 'bash' as const, enabled: true }],
};
const custom = {
  type: 'custom' as const,
  name: 'look_up',
  description: 'Looks up.',
  input_schema: { type: 'object' as const },
};

test('an agent’s new tools come with each later message, and take back what it has no more (G27)', async () => {
  const { sessions, id, described, calls } = await begun();
  const start = async () => {
    calls.length = 0;
    await sessions.events.send(id, { events: [text('Go.')] });
    const {
      ifNew: _,
      querySource: __,
      session: ___,
      messageId: ____,
      ...changes
    } = calls[0]![4] as never as Record<string, unknown>;
    described.set(id, description({ session: id as SessionId, phase: 'idle' }));
    return changes;
  };
  expect(await start()).toEqual({});
  const changed = await sessions.update(id, { agent: { tools: [bash, custom] } });
  expect(changed.agent.tools.map((one) => one.type)).toEqual(['agent_toolset_20260401', 'custom']);
  expect(calls.at(-1)).toEqual(['relabel', id, { agent: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown }]);
  const options = { tools: ['bash', 'look_up'], permissions: { allow: ['bash'] }, mcpServers: null };
  const outsideTools = [{ by: 'custom', name: 'look_up', description: 'Looks up.', input_schema: { type: 'object' } }];
  expect(await start()).toEqual({ ...options, outsideTools });
  await sessions.update(id, { agent: { tools: [bash], mcp_servers: [] } });
  expect(await start()).toEqual({ ...options, tools: ['bash'], outsideTools: null });
  calls.length = 0;
  const same = await sessions.retrieve(id);
  await sessions.update(id, { agent: { tools: same.agent.tools, mcp_servers: same.agent.mcp_servers } });
  expect(calls).toEqual([]);
});

test('a change of the agent before the first message is told with the whole agent (G27)', async () => {
  const { sessions, id, restart } = await begun();
  const { agent } = await sessions.update(id, { agent: { tools: [bash] }, title: 'A' });
  restart();
  const events = await collect(sessions.events.list(id));
  expect(events).toMatchObject([{ type: 'session.updated', title: 'A', agent }]);
  expect((await sessions.retrieve(id)).agent).toEqual(agent);
});

test.each([
  ['runs', { phase: 'running' }],
  ['waits for a person', { phase: 'waiting_approval', waits: 1 }],
  ['waits at its budget', { phase: 'parked', atBudget: true }],
] as const)('the agent of a session that %s stays as it is (G27)', async (_, stands) => {
  const { sessions, id, described, calls } = await begun();
  await sessions.events.send(id, { events: [text('Go.')] });
  described.set(id, description({ session: id as SessionId, ...stands }));
  calls.length = 0;
  const error = await errorOf(sessions.update(id, { title: 'B', agent: { tools: [bash] } }));
  expect([error.status, codeOf(error), calls]).toEqual([400, 'session_not_idle', []]);
  expect(await sessions.retrieve(id)).toMatchObject({
    title: null,
    agent: { tools: [{ type: 'agent_toolset_20260401' }] },
  });
});

test('a new agent’s tools and servers are held to the rules of a new session’s (G27)', async () => {
  const { sessions, id, client } = await begun();
  const toolset = { type: 'mcp_toolset' as const, mcp_server_name: 'shop' };
  const shop = { type: 'url' as const, name: 'shop', url: 'https://shop.example.com/mcp' };
  const paths = [];
  for (const agent of [{ tools: [toolset] }, { mcp_servers: [shop] }, { tools: [custom, custom] }])
    paths.push((await errorOf(sessions.update(id, { agent }))).message.replace(/.*"message":"([^"]*)".*/, '$1'));
  expect(paths).toEqual([
    expect.stringContaining('agent.tools.0.mcp_server_name'),
    expect.stringContaining('agent.mcp_servers'),
    expect.stringContaining('agent.tools'),
  ]);
  const networking = {
    type: 'limited' as const,
    allow_mcp_servers: false,
    allow_package_managers: false,
    allowed_hosts: [],
  };
  const { id: environment_id } = await client.beta.environments.create({
    name: 'Closed',
    config: { type: 'cloud', networking },
  });
  const { agent } = await sessions.retrieve(id);
  const closed = await sessions.create({ agent: agent.id, environment_id });
  const refused = await errorOf(sessions.update(closed.id, { agent: { tools: [toolset], mcp_servers: [shop] } }));
  expect(refused.message).toContain('has no network');
});
