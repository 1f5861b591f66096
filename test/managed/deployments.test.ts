// Deployments as the SDK sees them, on a staged server whose clock a test sets.
import { describe, expect, test } from 'vitest';
import type { DeploymentCreateParams, DeploymentUpdateParams } from '@anthropic-ai/sdk/resources/beta/deployments';
import { toFile } from '@anthropic-ai/sdk';
import type { EnvironmentUpdateParams } from '@anthropic-ai/sdk/resources/beta/environments';
import { upcomingFirings } from '../../managed/deployments/schedule.ts';
import { AGENT, codeOf, collect, errorOf, stagedManaged, text, token } from './staged.ts';

const cron = (expression: string, timezone = 'UTC') => ({ type: 'cron' as const, expression, timezone });
const NOON = Date.parse('2026-03-02T12:00:30Z');
const MINUTE = 60_000;

type Hooks = Parameters<typeof stagedManaged>;

async function deployed(more: Partial<DeploymentCreateParams> = {}, aroundStart?: Hooks[1]) {
  const clock = { now: NOON };
  const lines: string[] = [];
  const staged = stagedManaged({ now: () => clock.now, log: (line) => void lines.push(line) }, aroundStart);
  const { agents, deployments, deploymentRuns, sessions } = staged.client.beta;
  const agent = await agents.create(AGENT);
  const body = { name: 'Report', agent: agent.id, environment_id: 'env_default', initial_events: [text('Report.')] };
  const deployment = await deployments.create({ ...body, ...more });
  const starts = () => staged.calls.filter(([name]) => name === 'start');
  const runs = () => collect(deploymentRuns.list({ deployment_id: deployment.id }));
  const fireAt = async (time: string) => {
    clock.now = Date.parse(time);
    await staged.fire();
  };
  const retrieve = () => deployments.retrieve(deployment.id);
  const beta = { agents, deployments, deploymentRuns, sessions };
  return { ...staged, ...beta, clock, lines, agent, body, deployment, starts, runs, fireAt, retrieve };
}

describe('a deployment', () => {
  test('lives from its creation to its archive (G71)', async () => {
    const { deployments, deployment, retrieve, clock, agents, agent } = await deployed({
      schedule: cron('0 20 * * 5'),
    });
    expect(deployment).toMatchObject({
      type: 'deployment',
      agent: { type: 'agent', id: agent.id, version: 1 },
      status: 'active',
      paused_reason: null,
      initial_events: [text('Report.')],
      resources: [],
      vault_ids: [],
    });
    expect(deployment.schedule).toMatchObject({ expression: '0 20 * * 5', timezone: 'UTC', last_run_at: null });
    expect(deployment.schedule?.upcoming_runs_at?.slice(0, 2)).toEqual([
      '2026-03-06T20:00:00.000Z',
      '2026-03-13T20:00:00.000Z',
    ]);
    clock.now += 1;
    await agents.update(agent.id, { version: 1, name: 'Better' });
    const changed = await deployments.update(deployment.id, {
      agent: agent.id,
      description: 'Weekly',
      metadata: { team: 'a' },
      schedule: null,
      budget: { type: 'limit', max_list_cost: { amount: '100', currency: 'USD' } },
    });
    expect(changed).toMatchObject({ agent: { version: 2 }, description: 'Weekly', schedule: null, name: 'Report' });
    expect(await deployments.update(deployment.id, { budget: null, description: '' })).toMatchObject({
      budget: null,
      description: null,
      metadata: { team: 'a' },
    });
    expect(await collect(deployments.list({ agent_id: agent.id, status: 'active' }))).toEqual([await retrieve()]);
    const archived = await deployments.archive(deployment.id);
    expect(await deployments.archive(deployment.id)).toEqual(archived);
    expect(await collect(deployments.list())).toEqual([]);
    expect(await collect(deployments.list({ include_archived: true }))).toEqual([archived]);
    for (const refused of [
      deployments.update(deployment.id, { name: 'x' }),
      deployments.pause(deployment.id),
      deployments.unpause(deployment.id),
      deployments.run(deployment.id),
    ])
      expect(codeOf(await errorOf(refused))).toBe('deployment_archived');
  });

  test('is refused where its sessions could not be created, and nothing is kept (G71)', async () => {
    const { deployments, body, agents, client } = await deployed();
    const wrong: readonly [Partial<DeploymentCreateParams>, string][] = [
      [{ schedule: cron('@daily') }, 'schedule.expression'],
      [{ schedule: cron('0 20 * *') }, 'schedule.expression'],
      [{ schedule: cron('0 20 30 2 *') }, 'schedule.expression'],
      [{ schedule: cron('0 20 * * 5', 'Mars/Olympus') }, 'schedule.timezone'],
      [{ environment_id: 'env_none' }, 'env_none'],
      [{ initial_events: [] }, 'initial_events'],
      [{ initial_events: [{ type: 'system.message', content: [{ type: 'text', text: 'x' }] }] }, 'events[0]'],
      [{ initial_events: [text('x'.repeat(300_000))] }, 'initial_events'],
      [{ resources: [{ type: 'file', file_id: 'file_none' }] }, 'resources.0.file_id'],
      [{ vault_ids: ['vlt_1'] }, 'vault_ids'],
    ];
    for (const [more, names] of wrong) {
      const error = await errorOf(deployments.create({ ...body, ...more }));
      expect([error.message.includes(names), [400, 404].includes(error.status ?? 0)]).toEqual([true, true]);
    }
    await agents.archive(body.agent);
    expect(codeOf(await errorOf(deployments.create(body)))).toBe('agent_archived');
    expect(await collect(client.beta.deployments.list())).toHaveLength(1);
  });

  test('is changed and run by who may steer and read by who may look (G19)', async () => {
    const { as, deployment } = await deployed();
    const looker = as(token('look')).beta;
    expect((await looker.deployments.retrieve(deployment.id)).id).toBe(deployment.id);
    expect(await collect(looker.deploymentRuns.list())).toEqual([]);
    expect((await errorOf(as(token('decide')).beta.deployments.run(deployment.id))).status).toBe(403);
    expect((await errorOf(looker.deployments.pause(deployment.id))).status).toBe(403);
  });
});

describe('a run', () => {
  test('creates a session with the first events, the system message among them (G71)', async () => {
    const system = { type: 'system.message' as const, content: [{ type: 'text' as const, text: 'Be brief.' }] };
    const initial_events = [text('Report.'), system];
    const { deployments, deployment, starts, sessions, deploymentRuns, agent } = await deployed({ initial_events });
    const run = await deployments.run(deployment.id);
    expect(run).toMatchObject({
      type: 'deployment_run',
      deployment_id: deployment.id,
      error: null,
      agent: { id: agent.id, version: 1 },
      trigger_context: { type: 'manual' },
    });
    const session = await sessions.retrieve(run.session_id ?? '');
    expect(session).toMatchObject({ deployment_id: deployment.id, status: 'running' });
    expect(starts()).toMatchObject([
      ['start', session.id, deployment.id, {}, { systemMessage: { text: 'Be brief.' } }],
    ]);
    expect(await deploymentRuns.retrieve(run.id)).toEqual(run);
    expect(await collect(sessions.list({ deployment_id: deployment.id }))).toEqual([session]);
    expect(await collect(sessions.list({ deployment_id: 'depl_other' }))).toEqual([]);
    expect((await errorOf(deploymentRuns.retrieve('drun_none'))).status).toBe(404);
  });

  test('on request is found again by a retry, and is allowed while the deployment is paused (G21 G71)', async () => {
    const { deployments, deployment, starts, deploymentRuns } = await deployed({ schedule: cron('0 20 * * 5') });
    const paused = await deployments.pause(deployment.id);
    expect(paused).toMatchObject({ status: 'paused', paused_reason: { type: 'manual' } });
    expect(paused.schedule?.upcoming_runs_at).toHaveLength(5);
    const headers = { 'Idempotency-Key': 'k1' };
    const first = await deployments.run(deployment.id, {}, { headers });
    expect(await deployments.run(deployment.id, {}, { headers })).toEqual(first);
    const second = await deployments.run(deployment.id);
    expect(starts().map(([, session]) => session)).toEqual([first.session_id, second.session_id]);
    expect((await deployments.retrieve(deployment.id)).schedule?.last_run_at).toBeNull();
    const ids = async (query: object) => (await collect(deploymentRuns.list(query))).map(({ id }) => id);
    expect((await ids({ trigger_type: 'manual', has_error: false })).toSorted()).toEqual(
      [first.id, second.id].toSorted(),
    );
    expect(await ids({ trigger_type: 'schedule' })).toEqual([]);
    expect(await ids({ has_error: true })).toEqual([]);
    expect(await ids({ 'created_at[gt]': second.created_at })).toEqual([]);
  });
});

describe('a schedule', () => {
  test('fires once for each time, whichever servers look (G71)', async () => {
    const { deployment, runs, fireAt, fire, restart, starts, retrieve } = await deployed({
      schedule: cron('*/5 * * * *'),
    });
    await fireAt('2026-03-02T12:04:59.999Z');
    expect(await runs()).toEqual([]);
    await fireAt('2026-03-02T12:05:00.000Z');
    await Promise.all([fire(), fire()]);
    restart();
    await fire();
    expect(await runs()).toMatchObject([
      { error: null, trigger_context: { type: 'schedule', scheduled_at: '2026-03-02T12:05:00.000Z' } },
    ]);
    await fireAt('2026-03-02T12:10:02.000Z');
    expect(await runs()).toHaveLength(2);
    expect(new Set(starts().map(([, session]) => session)).size).toBe(2);
    expect(starts()).toHaveLength(2);
    expect((await retrieve()).schedule?.last_run_at).toBe('2026-03-02T12:10:02.000Z');
    expect(starts()[0]?.[2]).toBe(deployment.id);
  });

  test('that no server saw makes up for its newest time of a day, and for none while it was paused (G71)', async () => {
    const { deployments, deployment, runs, fireAt } = await deployed({ schedule: cron('0 * * * *') });
    const times = async () => (await runs()).map(({ trigger_context: of }) => 'scheduled_at' in of && of.scheduled_at);
    await fireAt('2026-03-02T16:30:00Z');
    expect(await times()).toEqual(['2026-03-02T16:00:00.000Z']);
    await deployments.update(deployment.id, { schedule: cron('0 8 * * *') });
    await fireAt('2026-03-04T07:59:00Z');
    expect(await times()).toEqual(['2026-03-03T08:00:00.000Z', '2026-03-02T16:00:00.000Z']);
    await deployments.update(deployment.id, { schedule: cron('0 8 2 * *') });
    await fireAt('2026-04-03T08:01:00Z');
    expect(await times()).toHaveLength(2);
    await deployments.pause(deployment.id);
    await fireAt('2026-05-02T09:00:00Z');
    await deployments.unpause(deployment.id);
    await fireAt('2026-05-02T09:30:00Z');
    expect(await times()).toHaveLength(2);
  });

  test('pauses its deployment when its agent is archived, and manual runs do not (G71)', async () => {
    const { agents, agent, deployments, deployment, runs, fireAt, retrieve, sessions } = await deployed({
      schedule: cron('* * * * *'),
    });
    await agents.archive(agent.id);
    const manual = await deployments.run(deployment.id);
    expect(manual).toMatchObject({ session_id: null, error: { type: 'agent_archived_error' } });
    expect((await retrieve()).status).toBe('active');
    await fireAt('2026-03-02T12:01:00Z');
    await fireAt('2026-03-02T12:02:00Z');
    expect((await runs()).map(({ error }) => error?.type)).toEqual(['agent_archived_error', 'agent_archived_error']);
    const reason = { type: 'error', error: { type: 'agent_archived_error' } };
    expect(await retrieve()).toMatchObject({ status: 'paused', paused_reason: reason });
    expect(await collect(sessions.list())).toEqual([]);
    expect(await deployments.unpause(deployment.id)).toMatchObject({ status: 'active', paused_reason: null });
  });

  test.each([
    ['environment_archived_error', true],
    ['environment_not_found_error', true],
    ['file_not_found_error', true],
    ['memory_store_archived_error', true],
    ['session_resource_not_found_error', true],
    ['self_hosted_resources_unsupported_error', true],
    ['mcp_egress_blocked_error', true],
    ['session_creation_rejected_error', false],
  ] as const)('that meets %s records it; it pauses its deployment: %s (G71)', async (type, isPaused) => {
    const { client, agents, deployments, deployment, runs, fireAt, retrieve, sessions } = await deployed();
    const { environments, files, memoryStores } = client.beta;
    const environment = await environments.create({ name: 'own' });
    const memory = await memoryStores.create({ name: 'Notes' });
    const file = await files.upload({ file: await toFile(Buffer.from('x'), 'x.txt') });
    const tools = [{ type: 'mcp_toolset' as const, mcp_server_name: 'docs' }];
    const mcp_servers = [{ type: 'url' as const, name: 'docs', url: 'https://docs.example/mcp' }];
    const connected = await agents.create({ ...AGENT, tools, mcp_servers });
    const leading = await agents.create({ ...AGENT, multiagent: { type: 'coordinator', agents: [{ type: 'self' }] } });
    const source = { type: 'file' as const, file_id: file.id };
    const configure = (config: NonNullable<EnvironmentUpdateParams['config']>) =>
      environments.update(environment.id, { config });
    const cases: Record<typeof type, readonly [DeploymentUpdateParams, () => Promise<unknown>]> = {
      environment_archived_error: [{}, () => environments.archive(environment.id)],
      environment_not_found_error: [{}, () => environments.delete(environment.id)],
      file_not_found_error: [
        { initial_events: [{ type: 'user.message', content: [{ type: 'document', source }] }] },
        () => files.delete(file.id),
      ],
      memory_store_archived_error: [
        { resources: [{ type: 'memory_store', memory_store_id: memory.id }] },
        () => memoryStores.archive(memory.id),
      ],
      session_resource_not_found_error: [
        { resources: [{ type: 'memory_store', memory_store_id: memory.id }] },
        () => memoryStores.delete(memory.id),
      ],
      self_hosted_resources_unsupported_error: [
        { resources: [{ type: 'file', file_id: file.id }] },
        () => configure({ type: 'self_hosted' }),
      ],
      mcp_egress_blocked_error: [
        { agent: connected.id },
        () => configure({ type: 'cloud', networking: { type: 'limited' } }),
      ],
      session_creation_rejected_error: [{ agent: leading.id }, () => configure({ type: 'self_hosted' })],
    };
    const [changes, spoil] = cases[type];
    const schedule = cron('* * * * *');
    await deployments.update(deployment.id, { ...changes, environment_id: environment.id, schedule });
    await spoil();
    await fireAt('2026-03-02T12:01:00Z');
    expect(await runs()).toMatchObject([{ session_id: null, error: { type } }]);
    expect((await retrieve()).status).toBe(isPaused ? 'paused' : 'active');
    expect(await collect(sessions.list())).toEqual([]);
  });

  test('is fired by one of two servers that look in the same moment (G71)', async () => {
    const first = await deployed({ schedule: cron('* * * * *') });
    const second = stagedManaged({ store: first.store, now: () => first.clock.now });
    first.clock.now += MINUTE;
    await Promise.all([first.fire(), second.fire()]);
    expect([...first.starts(), ...second.calls]).toHaveLength(1);
    expect(await first.runs()).toHaveLength(1);
    first.clock.now += 1_000;
    expect(await collect(second.client.beta.deploymentRuns.list())).toEqual(await first.runs());
  });
});

describe('a server that dies', () => {
  test.each(['before its session starts', 'after its session has started'])(
    'in a firing, %s, leaves it to the next one: one session, one first message (G71)',
    async (when) => {
      let isKilled = true;
      const { clock, fire, fireAt, restart, starts, runs, described, sessions, lines } = await deployed(
        { schedule: cron('* * * * *') },
        (_, start) => {
          if (!isKilled || when.startsWith('after')) start();
          if (isKilled) throw new Error('killed');
        },
      );
      await fireAt('2026-03-02T12:01:00Z');
      expect(await runs()).toEqual([]);
      expect(lines).toEqual([expect.stringMatching(/^deployments: run drun_\w+ is tried again: killed$/)]);
      isKilled = false;
      restart();
      clock.now += 5_000;
      await fire();
      expect(await runs()).toEqual([]);
      clock.now += 25_000;
      await fire();
      const [run] = await runs();
      expect(run).toMatchObject({ trigger_context: { scheduled_at: '2026-03-02T12:01:00.000Z' }, error: null });
      expect(described.size).toBe(1);
      expect((await collect(sessions.list())).map(({ id }) => id)).toEqual([run?.session_id]);
      const messages = starts().map((call) => [call[1], (call[4] as { messageId: string }).messageId]);
      expect(new Set(messages.map(String)).size).toBe(1);
    },
  );

  test('in a run that cannot be brought to an end is given up after a day (G71)', async () => {
    const { clock, fire, deployments, deployment, runs } = await deployed({}, () => {
      throw new Error('broken');
    });
    expect((await errorOf(deployments.run(deployment.id))).status).toBe(500);
    clock.now += 24 * 60 * MINUTE;
    await fire();
    expect(await runs()).toMatchObject([{ session_id: null, error: { type: 'unknown_error', message: 'broken' } }]);
  });
});

describe('the times of a schedule', () => {
  const times = (expression: string, timezone: string, from: string, count = 3) =>
    upcomingFirings({ expression, timezone }, Date.parse(from), count).map((at) =>
      new Date(at).toISOString().slice(0, 16),
    );

  test.each([
    [
      '0 20 * * *',
      'America/New_York',
      '2026-03-07T12:00Z',
      ['2026-03-08T01:00', '2026-03-09T00:00', '2026-03-10T00:00'],
    ],
    // 02:30 is left out on March 8, and 01:30 comes twice on November 1.
    [
      '30 2 * * *',
      'America/New_York',
      '2026-03-07T12:00Z',
      ['2026-03-09T06:30', '2026-03-10T06:30', '2026-03-11T06:30'],
    ],
    [
      '30 1 * * *',
      'America/New_York',
      '2026-10-31T12:00Z',
      ['2026-11-01T05:30', '2026-11-01T06:30', '2026-11-02T06:30'],
    ],
    ['0 9 13 * 5', 'UTC', '2026-03-01T00:00Z', ['2026-03-06T09:00', '2026-03-13T09:00', '2026-03-20T09:00']],
    ['0 0 29 2 *', 'UTC', '2026-03-01T00:00Z', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00']],
    [
      '*/30 0 * jan 7',
      'Asia/Kathmandu',
      '2026-01-03T00:00Z',
      ['2026-01-03T18:15', '2026-01-03T18:45', '2026-01-10T18:15'],
    ],
    ['5-6,59 * * * 1-5', 'UTC', '2026-03-06T23:05:30Z', ['2026-03-06T23:06', '2026-03-06T23:59', '2026-03-09T00:05']],
  ] as const)('%s in %s after %s (G71)', (expression, timezone, from, expected) => {
    expect(times(expression, timezone, from)).toEqual(expected);
  });
});

test('a run that waits for another try ends with its deployment, and starts no session (G71)', async () => {
  let isAway = true;
  const aroundStart: Hooks[1] = (_, start) =>
    isAway ? Promise.reject(new Error('Temporal is away')) : Promise.resolve(start());
  const { deployments, deployment, fireAt, runs, starts, sessions } = await deployed(
    { schedule: cron('1 12 2 3 *') },
    aroundStart,
  );
  await fireAt('2026-03-02T12:01:00Z');
  await deployments.archive(deployment.id);
  isAway = false;
  const tries = starts().length;
  await fireAt('2026-03-02T20:00:00Z');
  expect(starts()).toHaveLength(tries);
  expect(await runs()).toMatchObject([{ session_id: null, error: { type: 'session_creation_rejected_error' } }]);
  expect(await collect(sessions.list({ deployment_id: deployment.id }))).toEqual([]);
});
