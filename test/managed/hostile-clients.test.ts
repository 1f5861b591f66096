// Clients that change what they were given, wait in crowds or hoard connections.
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WorkQueues } from '../../store/sandbox/queue.ts';
import { leaseOfToken, sessionToken } from '../../managed/work/credentials.ts';
import { memoryStore } from '../support/memory-store.ts';
import { AGENT, collect, HEADERS, post, stagedManaged, text, token } from './staged.ts';

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** One character of it is another one. */
const changedIn = (secret: string): fc.Arbitrary<string> =>
  fc
    .tuple(fc.nat(secret.length - 1), fc.constantFrom(...DIGITS.split('')))
    .map(([at, digit]) => `${secret.slice(0, at)}${digit}${secret.slice(at + 1)}`)
    .filter((changed) => changed !== secret);

const bytesOf = (secret: string): string => Buffer.from(secret, 'base64url').toString('hex');

describe('a cursor', () => {
  test('with any character changed is refused (G8)', async () => {
    const { ask, client } = stagedManaged();
    for (let n = 0; n < 3; n += 1) await client.beta.agents.create(AGENT);
    const { next_page } = await client.beta.agents.list({ limit: 1 });
    const status = async (page: string): Promise<number> =>
      (await ask(`/agents?${new URLSearchParams({ limit: '1', page }).toString()}`, { headers: HEADERS })).status;
    expect(await status(next_page!)).toBe(200);
    await fc.assert(
      fc.asyncProperty(changedIn(next_page!), async (page) => {
        // The last digit of base64 may have bits that no byte has.
        expect([page, await status(page)]).toEqual([page, bytesOf(page) === bytesOf(next_page!) ? 200 : 400]);
      }),
      { numRuns: 300 },
    );
  });

  test('of one agent’s versions is none of another’s, and none of another list (G8)', async () => {
    const { ask, client } = stagedManaged();
    const create = async (): Promise<string> => {
      const { id } = await client.beta.agents.create(AGENT);
      await client.beta.agents.update(id, { name: 'Renamed' });
      return id;
    };
    const [one, other] = [await create(), await create()];
    const { next_page } = await client.beta.agents.versions.list(one, { limit: 1 });
    expect(next_page).toEqual(expect.any(String));
    const status = async (path: string): Promise<number> =>
      (await ask(`${path}?limit=1&page=${next_page}`, { headers: HEADERS })).status;
    expect(await status(`/agents/${one}/versions`)).toBe(200);
    for (const path of [`/agents/${other}/versions`, '/agents', '/sessions'])
      expect([path, await status(path)]).toEqual([path, 400]);
  });
});

test('a session token with any character changed is nobody’s (G19)', () => {
  const secret = Buffer.alloc(32, 7);
  const lease = { environment: 'env_a', session: 'sesn_a', work: 'work_a', g: 1 };
  const own = sessionToken(secret, lease);
  expect(leaseOfToken(secret, own)).toEqual(lease);
  fc.assert(
    fc.property(changedIn(own), (changed) => leaseOfToken(secret, changed) === null),
    { numRuns: 2_000 },
  );
  fc.assert(fc.property(fc.string(), (rest) => leaseOfToken(secret, `pdr-ses-${rest}`) === null));
  expect(leaseOfToken(Buffer.alloc(32, 8), own)).toBeNull();
});

test('of fifty polls at once one gets the item, and they look at the queue together (G76)', async () => {
  const store = memoryStore();
  let reads = 0;
  const counted = { ...store, read: (key: string) => ((reads += 1), store.read(key)) };
  const { ask, as, client } = stagedManaged({ store: counted });
  const { id: agent } = await client.beta.agents.create(AGENT);
  const own = await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } });
  const session = await client.beta.sessions.create({ agent, environment_id: own.id });
  const made = await ask(`/x/perdure/environments/${own.id}/keys`, post({}));
  const { key } = (await made.json()) as { key: string };
  const { work } = as('unused').withOptions({ apiKey: null, authToken: key }).beta.environments;
  const pollAll = () => Promise.all(Array.from({ length: 50 }, () => work.poll(own.id, { block_ms: 999 })));
  const warnings: string[] = [];
  const warn = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', warn);
  onTestFinished(() => void process.off('warning', warn));
  const before = reads;
  expect((await pollAll()).filter((item) => item !== null)).toEqual([]);
  // Alone, each of them would look six times, with a read or more.
  expect(reads - before).toBeLessThan(250);
  await new WorkQueues({ store: counted, now: Date.now }).of(own.id).ensure(session.id, 'ana');
  const got = (await pollAll()).filter((item) => item !== null);
  expect(got.map(({ data }) => data.id)).toEqual([session.id]);
  expect(warnings).toEqual([]);
});

test('one person has a hundred streams at most, which leaves room for others (G42)', async () => {
  const { ask, client } = stagedManaged();
  const { id: agent } = await client.beta.agents.create(AGENT);
  const { id } = await client.beta.sessions.create({ agent, environment_id: 'env_default' });
  const open = (key = 'secret') => ask(`/sessions/${id}/events/stream`, { headers: { 'x-api-key': key } });
  const streams: Response[] = [];
  for (let n = 0; n < 100; n += 1) streams.push(await open());
  const refused = await open();
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
  const other = await open(token('look'));
  expect(other.status).toBe(200);
  await streams[0]?.body?.cancel();
  const again = await open();
  expect(again.status).toBe(200);
  for (const { body } of [other, again, ...streams.slice(1)]) await body?.cancel();
});

test('a person who may only decide sends no message along with a confirmation (G19)', async () => {
  const { as, calls, client } = stagedManaged();
  const { id: agent } = await client.beta.agents.create(AGENT);
  const { id } = await client.beta.sessions.create({ agent, environment_id: 'env_default' });
  const confirmation = { type: 'user.tool_confirmation' as const, tool_use_id: 'sevt_x', result: 'allow' as const };
  const send = (...events: Parameters<typeof client.beta.sessions.events.send>[1]['events']) =>
    as(token('decide')).beta.sessions.events.send(id, { events });
  for (const events of [[text('Go.')], [confirmation, text('Go.')], [{ type: 'user.interrupt' as const }]])
    await expect(send(...events)).rejects.toMatchObject({ status: 403 });
  await expect(send(confirmation)).rejects.toMatchObject({ status: 400 });
  expect(calls).toEqual([]);
  expect(await collect(client.beta.sessions.events.list(id))).toEqual([]);
});
