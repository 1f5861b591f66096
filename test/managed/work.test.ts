// The queue of a self-hosted environment as the SDK's workers call it, without a server.
import type Anthropic from '@anthropic-ai/sdk';
import { sessionsTokenFromSecret } from '@anthropic-ai/sdk/lib/environments/worker';
import { expect, test } from 'vitest';
import type { ManagedPorts } from '../../managed/ports.ts';
import { stateOfItem, WorkQueue } from '../../store/sandbox/queue.ts';
import { description } from '../client/support.ts';
import { until } from '../support/until.ts';
import { AGENT, codeOf, collect, errorOf, HEADERS, post, type Staged, stagedManaged, text, token } from './staged.ts';

async function staged(changes: Partial<ManagedPorts> = {}) {
  let clock = Date.now();
  const face = stagedManaged({ now: () => clock, ...changes });
  const { client } = face;
  const environment = await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } });
  const agent = await client.beta.agents.create(AGENT);
  const session = await client.beta.sessions.create({ agent: agent.id, environment_id: environment.id });
  const key = await keyOf(face, environment.id);
  const worker = bearer(face, key);
  const queue = new WorkQueue({ store: face.store, now: () => clock }, environment.id);
  const pass = (ms: number): void => void (clock += ms);
  return { ...face, environment: environment.id, session: session.id, key, worker, queue, pass };
}

async function keyOf({ ask }: Pick<Staged, 'ask'>, environment: string, body: object = {}): Promise<string> {
  const response = await ask(`/x/perdure/environments/${environment}/keys`, post(body));
  expect(response.status).toBe(200);
  return ((await response.json()) as { key: string }).key;
}

const bearer = (face: Pick<Staged, 'as'>, authToken: string): Anthropic =>
  face.as('unused').withOptions({ apiKey: null, authToken });

const beat = (client: Anthropic, environment_id: string, id: string, expected_last_heartbeat: string) =>
  client.beta.environments.work.heartbeat(id, { environment_id, expected_last_heartbeat });

test('a worker polls, acknowledges, takes the lease, keeps it and leaves (G76 G77)', async () => {
  const { worker, queue, environment, session, leases, as } = await staged();
  const { work } = worker.beta.environments;
  expect(await work.poll(environment, { block_ms: 1 })).toBeNull();
  await queue.ensure(session, 'ana');
  const item = (await work.poll(environment, { block_ms: 999, 'Anthropic-Worker-ID': 'w-1' }))!;
  expect(item).toMatchObject({ state: 'queued', data: { type: 'session', id: session }, environment_id: environment });
  expect(await work.stats(environment)).toMatchObject({ depth: 0, pending: 1, workers_polling: 1 });
  expect(await work.ack(item.id, { environment_id: environment })).toMatchObject({ state: 'starting', secret: null });
  expect([...leases]).toEqual([`${item.id}.1`]);
  const sessionToken = sessionsTokenFromSecret(item.secret)!;
  const own = bearer({ as }, sessionToken);
  const first = await beat(own, environment, item.id, 'NO_HEARTBEAT');
  expect(first).toMatchObject({ state: 'active', lease_extended: true, ttl_seconds: 60 });
  const next = await beat(own, environment, item.id, first.last_heartbeat);
  expect(next.last_heartbeat).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{9}Z$/);
  // Its answer was lost, and the SDK brings the one before it.
  expect(await beat(own, environment, item.id, first.last_heartbeat)).toMatchObject({ lease_extended: true });
  expect(await own.beta.sessions.retrieve(session)).toMatchObject({ id: session });
  expect(await collect(work.list(environment))).toMatchObject([{ id: item.id, state: 'active' }]);
  await own.beta.environments.work.stop(item.id, { environment_id: environment, force: true });
  expect([...leases]).toEqual([]);
  const again = errorOf(work.stop(item.id, { environment_id: environment, force: true }));
  expect((await again).status).toBe(409);
  expect((await errorOf(own.beta.sessions.retrieve(session))).status).toBe(403);
});

test('an item names the address that it was polled at, or the public one where there is one (G81)', async () => {
  for (const [publicUrl, expected] of [
    [undefined, 'http://localhost'],
    ['https://agents.example/managed', 'https://agents.example/managed'],
  ] as const) {
    const { worker, queue, environment, session } = await staged({ publicUrl });
    await queue.ensure(session, 'ana');
    const { secret } = (await worker.beta.environments.work.poll(environment))!;
    expect(JSON.parse(Buffer.from(secret!, 'base64url').toString())).toMatchObject({ api_base_url: expected });
  }
});

test('a heartbeat is answered while the calls of its session are being looked at (G61 G76)', async () => {
  const looks: string[] = [];
  const newestStep = (session: string) => {
    looks.push(session);
    return new Promise<never>(() => {});
  };
  const { client, worker, environment, session } = await staged({ newestStep });
  await client.beta.sessions.events.send(session, { events: [text('Go.')] });
  const { id } = (await worker.beta.environments.work.poll(environment))!;
  const { last_heartbeat } = await beat(worker, environment, id, 'NO_HEARTBEAT');
  expect(await beat(worker, environment, id, last_heartbeat)).toMatchObject({ lease_extended: true });
  await until(() => looks.length === 2);
});

test('of two workers on one item the second first heartbeat is refused (G77 B3)', async () => {
  const { worker, queue, environment, session } = await staged();
  await queue.ensure(session, 'ana');
  const { work } = worker.beta.environments;
  const { id } = (await work.poll(environment))!;
  await work.ack(id, { environment_id: environment });
  const ends = await Promise.allSettled([1, 2].map(() => beat(worker, environment, id, 'NO_HEARTBEAT')));
  expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  const error = await errorOf(beat(worker, environment, id, '2026-01-01T00:00:00.000999999Z'));
  expect(error.status).toBe(412);
  expect(error.error).toMatchObject({ error: { details: { current_state: { state: 'active' } } } });
  expect(codeOf(error)).toBe('heartbeat_precondition_failed');
});

test('an item that is not acknowledged in five seconds goes to the next worker, with another token (G77)', async () => {
  const { worker, queue, environment, session, pass, as } = await staged();
  await queue.ensure(session, 'ana');
  const { work } = worker.beta.environments;
  const first = (await work.poll(environment))!;
  expect(await work.poll(environment)).toBeNull();
  pass(5_001);
  const second = (await work.poll(environment))!;
  expect(second.id).toBe(first.id);
  await work.ack(second.id, { environment_id: environment });
  const late = bearer({ as }, sessionsTokenFromSecret(first.secret)!);
  expect((await errorOf(beat(late, environment, first.id, 'NO_HEARTBEAT'))).status).toBe(412);
  expect((await errorOf(late.beta.sessions.retrieve(session))).status).toBe(403);
});

test('a lease that the server has given up takes no heartbeat (G60)', async () => {
  const { worker, queue, environment, session, leases } = await staged();
  await queue.ensure(session, 'ana');
  const { work } = worker.beta.environments;
  const { id } = (await work.poll(environment))!;
  await work.ack(id, { environment_id: environment });
  const { last_heartbeat } = await beat(worker, environment, id, 'NO_HEARTBEAT');
  leases.clear();
  expect((await errorOf(beat(worker, environment, id, last_heartbeat))).status).toBe(412);
});

test('a token of a lease that another has followed neither stops nor acknowledges it (G55 G77)', async () => {
  const { worker, queue, environment, session, leases, pass, as } = await staged();
  await queue.ensure(session, 'ana');
  const { work } = worker.beta.environments;
  const first = (await work.poll(environment))!;
  pass(5_001);
  const second = (await work.poll(environment))!;
  const late = bearer({ as }, sessionsTokenFromSecret(first.secret)!).beta.environments.work;
  const asks = [
    () => late.ack(first.id, { environment_id: environment }),
    () => late.stop(first.id, { environment_id: environment }),
    () => late.stop(first.id, { environment_id: environment, force: true }),
  ];
  const refuseAll = async (): Promise<void> => {
    for (const ask of asks) {
      const error = await errorOf(ask());
      expect([error.status, codeOf(error)]).toEqual([409, 'work_superseded']);
      expect(error.headers?.get('x-should-retry')).toBe('false');
    }
  };
  await refuseAll();
  expect([...leases]).toEqual([]);
  const own = bearer({ as }, sessionsTokenFromSecret(second.secret)!);
  await own.beta.environments.work.ack(second.id, { environment_id: environment });
  await beat(own, environment, second.id, 'NO_HEARTBEAT');
  await refuseAll();
  expect([...leases]).toEqual([`${second.id}.2`]);
  expect(stateOfItem((await queue.items()).get(second.id)!)).toBe('active');
});

test('a force-stop that was killed before it ended the lease is finished by its retry (G78)', async () => {
  const { worker, queue, environment, session, leases, ports } = await staged();
  await queue.ensure(session, 'ana');
  const { work } = worker.beta.environments;
  const { id } = (await work.poll(environment))!;
  const own = { ...ports.leases };
  const states: string[] = [];
  ports.leases.open = async (lease) => {
    states.push(stateOfItem((await queue.items()).get(id)!));
    await own.open(lease);
  };
  ports.leases.end = () => Promise.reject(new Error('killed'));
  const stop = () => errorOf(work.stop(id, { environment_id: environment, force: true }));
  expect((await stop()).status).toBe(500);
  expect([...leases]).toEqual([`${id}.1`]);
  ports.leases.end = (lease) => own.end(lease);
  expect(codeOf(await stop())).toBe('work_stopped');
  expect([...leases]).toEqual([]);
  expect(states).toEqual(['queued', 'stopped']);
});

test('the stream of a worker ends with its lease (G55 G77)', async () => {
  const { worker, queue, environment, session, as } = await staged();
  await queue.ensure(session, 'ana');
  const { work } = worker.beta.environments;
  const { id, secret } = (await work.poll(environment))!;
  await work.ack(id, { environment_id: environment });
  const own = bearer({ as }, sessionsTokenFromSecret(secret)!);
  await beat(own, environment, id, 'NO_HEARTBEAT');
  const events = collect(await own.beta.sessions.events.stream(session));
  await work.stop(id, { environment_id: environment, force: true });
  expect(await events).toEqual([]);
});

test('a worker that listens anew has that stream alone, so that no call goes into a lost connection (G57)', async () => {
  const { worker, queue, environment, session, as } = await staged();
  await queue.ensure(session, 'ana');
  const { work } = worker.beta.environments;
  const { id, secret } = (await work.poll(environment))!;
  await work.ack(id, { environment_id: environment });
  const { events } = bearer({ as }, sessionsTokenFromSecret(secret)!).beta.sessions;
  const lost = collect(await events.stream(session));
  const byOther = await as('secret').beta.sessions.events.stream(session);
  const anew = await events.stream(session);
  const firsts = [anew, byOther].map(async (stream) => (await stream[Symbol.asyncIterator]().next()).value?.type);
  expect(await lost).toEqual([]);
  // Neither the new one nor that of an app has ended: each is told of what comes.
  await as('secret').beta.sessions.archive(session);
  expect(await Promise.all(firsts)).toEqual(['session.status_terminated', 'session.status_terminated']);
});

test('an unknown environment has no queue, and a long name of a worker is cut (G76)', async () => {
  const { client, worker, queue, environment, session } = await staged();
  const { work } = client.beta.environments;
  const unknown = `env_${'0'.repeat(26)}`;
  const item = `work_${'0'.repeat(26)}`;
  const asks = [
    () => work.stats(unknown),
    () => work.retrieve(item, { environment_id: unknown }),
    () => work.update(item, { environment_id: unknown, metadata: {} }),
    () => work.stop(item, { environment_id: unknown }),
  ];
  for (const ask of asks) {
    const error = await errorOf(ask());
    expect([error.status, codeOf(error)]).toEqual([404, 'environment_not_found']);
  }
  await queue.ensure(session, 'ana');
  await worker.beta.environments.work.poll(environment, { 'Anthropic-Worker-ID': 'w'.repeat(3_000) });
  const [claimed] = (await queue.items()).values();
  expect(claimed?.lease?.worker).toBe('w'.repeat(100));
});

test('a dispatcher that stops an item it has handed over does not end it (G78 B4)', async () => {
  const { client, worker, queue, environment, session } = await staged();
  await queue.ensure(session, 'ana');
  const { work } = worker.beta.environments;
  const { id } = (await work.poll(environment))!;
  await work.ack(id, { environment_id: environment });
  expect(await work.stop(id, { environment_id: environment })).toMatchObject({ state: 'starting' });
  const { last_heartbeat } = await beat(worker, environment, id, 'NO_HEARTBEAT');
  expect(await work.stop(id, { environment_id: environment })).toMatchObject({ state: 'active' });
  await client.beta.environments.work.stop(id, { environment_id: environment });
  expect(await beat(worker, environment, id, last_heartbeat)).toMatchObject({
    state: 'stopping',
    lease_extended: true,
  });
});

test('nobody is handed an item of a session that is over, and a worker of one is asked to stop (G78)', async () => {
  const { client, worker, queue, environment, session, described } = await staged();
  await queue.ensure(session, 'ana');
  const { work } = worker.beta.environments;
  const { id } = (await work.poll(environment))!;
  await work.ack(id, { environment_id: environment });
  const { last_heartbeat } = await beat(worker, environment, id, 'NO_HEARTBEAT');
  described.set(session, description({ session: session as never, phase: 'closed', status: 'cancelled' }));
  await client.beta.sessions.archive(session);
  expect(await beat(worker, environment, id, last_heartbeat)).toMatchObject({ state: 'stopping' });
  await work.stop(id, { environment_id: environment, force: true });
  await queue.ensure(session, 'ana');
  expect(await work.poll(environment)).toBeNull();
  expect(await work.stats(environment)).toMatchObject({ depth: 0, pending: 0 });
});

test('metadata of an item is merged, by people alone (G19)', async () => {
  const { client, worker, queue, environment, session } = await staged();
  await queue.ensure(session, 'ana');
  const [[id]] = [...(await queue.items())] as [[string, unknown]];
  const { work } = client.beta.environments;
  await work.update(id, { environment_id: environment, metadata: { a: '1', b: '2' } });
  await work.update(id, { environment_id: environment, metadata: { a: null } });
  expect(await work.retrieve(id, { environment_id: environment })).toMatchObject({
    metadata: { b: '2' },
    secret: null,
  });
  const refused = errorOf(worker.beta.environments.work.retrieve(id, { environment_id: environment }));
  expect((await refused).status).toBe(403);
  expect((await errorOf(collect(work.list(environment)))).status).toBe(403);
});

test('a key of an environment is of use there alone, and ends when another replaces it (G19 G55)', async () => {
  const { client, worker, key, environment, session, ask, store, as } = await staged();
  const other = await client.beta.environments.create({ name: 'other', config: { type: 'self_hosted' } });
  const statusOf = async (asked: Promise<unknown>): Promise<number | undefined> => (await errorOf(asked)).status;
  expect(await statusOf(worker.beta.environments.work.poll(other.id))).toBe(403);
  expect(await statusOf(worker.beta.sessions.retrieve(session))).toBe(403);
  expect(await statusOf(worker.beta.agents.create(AGENT))).toBe(403);
  expect(await statusOf(bearer({ as }, `${key.slice(0, -1)}_`).beta.agents.list())).toBe(401);
  expect(
    (
      await ask(`/x/perdure/environments/${environment}/keys`, {
        ...post({}),
        headers: { ...HEADERS, 'x-api-key': token('look') },
      })
    ).status,
  ).toBe(403);
  expect((await ask('/x/perdure/environments/env_default/keys', post({}))).status).toBe(400);
  const records = await Promise.all([1, 2].map((n) => store.read(`managed/environment-keys/${n}`)));
  expect(Buffer.from(records[0]!).toString()).not.toContain(key.slice(-43));
  const next = await keyOf({ ask }, environment, { only: true });
  expect(await statusOf(worker.beta.environments.work.poll(environment))).toBe(401);
  expect(await bearer({ as }, next).beta.environments.work.poll(environment)).toBeNull();
});
