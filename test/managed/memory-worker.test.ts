// What a worker of a self-hosted environment may do with memory stores, and the SDK's own sync of
// them, on a staged server.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sessionsTokenFromSecret } from '@anthropic-ai/sdk/lib/environments/worker';
import { SessionMemoryStores } from '@anthropic-ai/sdk/tools/agent-toolset/node';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import { AGENT, collect, errorOf, HEADERS, post, stagedManaged, text } from './staged.ts';

/** A session with a store to write, one to read, and one that is not its own, and its worker. */
async function leased() {
  const { client, ask, as } = stagedManaged();
  const { memoryStores } = client.beta;
  const stores = await Promise.all(['Notes', 'Rules', 'Other'].map((name) => memoryStores.create({ name })));
  const [notes, rules, other] = stores.map(({ id }) => ({ memory_store_id: id })) as [At, At, At];
  const seed = ({ memory_store_id: id }: At) => memoryStores.memories.create(id, { path: '/a.md', content: 'one' });
  const environment = await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } });
  const session = await client.beta.sessions.create({
    agent: (await client.beta.agents.create(AGENT)).id,
    environment_id: environment.id,
    resources: [
      { type: 'memory_store', ...notes },
      { type: 'memory_store', ...rules, access: 'read_only' },
    ],
  });
  await client.beta.sessions.events.send(session.id, { events: [text('Go.')] });
  const made = await ask(`/x/perdure/environments/${environment.id}/keys`, post({}, HEADERS));
  const { key } = (await made.json()) as { key: string };
  const item = (await as(key).beta.environments.work.poll(environment.id))!;
  const worker = as(sessionsTokenFromSecret(item.secret) ?? '');
  const at = { environment_id: environment.id };
  await worker.beta.environments.work.ack(item.id, at);
  await worker.beta.environments.work.heartbeat(item.id, { ...at, expected_last_heartbeat: 'NO_HEARTBEAT' });
  const stop = () => worker.beta.environments.work.stop(item.id, { ...at, force: true });
  return { client, worker, keyed: as(key), stop, session, notes, rules, other, seed };
}

type At = { readonly memory_store_id: string };

test('a worker reads and writes the stores of its session by its token, as the session says (G55 G67)', async () => {
  const { worker, keyed, stop, session, notes, rules, other, seed } = await leased();
  const { memories } = worker.beta.memoryStores;
  const create = ({ memory_store_id: id }: At) => memories.create(id, { path: '/b', content: 'from outside' });
  const created = await create(notes);
  const rule = await seed(rules);
  expect((await memories.retrieve(rule.id, rules)).content).toBe('one');
  for (const refused of [
    create(rules),
    memories.update(rule.id, { ...rules, content: 'two' }),
    memories.delete(rule.id, rules),
    create(other),
    memories.list(other.memory_store_id).then(),
    worker.beta.memoryStores.delete(notes.memory_store_id),
    worker.beta.memoryStores.memoryVersions.list(notes.memory_store_id).then(),
    keyed.beta.memoryStores.memories.list(notes.memory_store_id).then(),
  ])
    expect((await errorOf(refused)).status).toBe(403);
  await stop();
  expect((await errorOf(memories.retrieve(created.id, notes))).status).toBe(403);
  expect(session.resources).toHaveLength(2);
});

test('the sync of the SDK brings files and memories together, as the session (G67)', async () => {
  const { client, worker, session, notes, rules, seed } = await leased();
  await seed(notes);
  await seed(rules);
  const workdir = tempDir();
  const seen = await worker.beta.sessions.retrieve(session.id);
  const resources = seen.resources.map((one) => ({ ...one, mount_path: null }) as typeof one);
  const sync = new SessionMemoryStores(worker, { workdir });
  onTestFinished(() => sync.dispose());
  await sync.download({ ...seen, resources });
  const file = (store: string, name: string): string => join(workdir, 'memory', store, name);
  expect(readFileSync(file('Notes', 'a.md'), 'utf8')).toBe('one');
  writeFileSync(file('Notes', 'a.md'), 'two');
  writeFileSync(file('Notes', 'new.md'), 'new');
  writeFileSync(file('Rules', 'a.md'), 'not mine');
  await sync.flushWrites();
  const { memories, memoryVersions } = client.beta.memoryStores;
  const contents = async ({ memory_store_id: id }: At) =>
    (await collect(memories.list(id, { view: 'full' }))).map((one) => one.type === 'memory' && [one.path, one.content]);
  expect(await contents(notes)).toEqual([
    ['/a.md', 'two'],
    ['/new.md', 'new'],
  ]);
  expect(await contents(rules)).toEqual([['/a.md', 'one']]);
  const own = await collect(memoryVersions.list(notes.memory_store_id, { session_id: session.id }));
  expect(own.map(({ operation, path }) => `${operation} ${path}`).toSorted()).toEqual([
    'created /new.md',
    'modified /a.md',
  ]);
  rmSync(file('Notes', 'new.md'));
  await sync.finish();
  expect(await contents(notes)).toEqual([['/a.md', 'two']]);
  expect(existsSync(file('Notes', 'a.md'))).toBe(true);
});
