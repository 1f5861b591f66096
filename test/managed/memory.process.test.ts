// Memory stores as a program of the SDK meets them: `perdure serve` and a worker in processes of
// their own, what one session learns read by the next one, the worker killed in between.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SessionCreateParams } from '@anthropic-ai/sdk/resources/beta/sessions';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { cliPlace, modelFor, readyWorker } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { collect, errorOf } from './staged.ts';
import { serveManaged } from './served.ts';

const AT = '/mnt/memory/shopper-preferences';
const bash = (command: string) => toolUse('bash', { command });

test('what a session writes below /mnt/memory the next one reads, over kill -9 between write and version (G67)', async () => {
  const model = await modelFor([
    reply([bash(`cat ${AT}/* 2>/dev/null || echo nothing; ls -a ${AT}`)]),
    reply([toolUse('write', { file_path: `${AT}/preferences.md`, content: 'Vegan leather only.\n' })]),
    reply([bash(`echo Medium. >> ${AT}/preferences.md; sleep 600`)]),
    reply('Noted.'),
    reply([bash(`cat ${AT}/preferences.md`), toolUse('write', { file_path: `${AT}/rules/a.md`, content: 'x' })]),
    reply('Here is a bag.'),
  ]);
  const place = cliPlace(model);
  const client = await serveManaged(place);
  const worker = await readyWorker(place);
  const { memoryStores, sessions, agents } = client.beta;
  const store = await memoryStores.create({ name: 'Shopper Preferences', description: 'Sizes and materials.' });
  const tools = [{ type: 'agent_toolset_20260401' as const }];
  const agent = await agents.create({ name: 'Shopper', model: 'claude-sonnet-5-5', tools });
  const resource = { type: 'memory_store' as const, memory_store_id: store.id, instructions: 'Check it first.' };
  const say = async (words: string, more: Partial<SessionCreateParams> = {}) => {
    const { id } = await sessions.create({ agent: agent.id, environment_id: 'env_default', ...more });
    await sessions.events.send(id, { events: [{ type: 'user.message', content: [{ type: 'text', text: words }] }] });
    return id;
  };
  const end = (id: string) =>
    until(async () => {
      const events = await collect(sessions.events.list(id));
      const last = events.at(-1);
      return last?.type === 'session.status_idle' && last.stop_reason.type === 'end_turn' && events;
    });
  const first = await say('I want a jacket.', { resources: [resource] });
  const file = join(place.root, 'agents', `${first}.mnt`, 'memory/shopper-preferences/preferences.md');
  await until(() => existsSync(file) && readFileSync(file, 'utf8').includes('Medium.'));
  process.kill(worker.pid, 'SIGKILL');
  await worker.status;
  await readyWorker(place);
  const learned = await end(first);
  expect(JSON.stringify(learned)).toContain('nothing');
  expect(JSON.stringify(model.requests[0])).toContain(`${AT} (read and write)`);
  expect(JSON.stringify(model.requests[0])).toContain('Check it first.');
  const list = () => collect(memoryStores.memories.list(store.id, { view: 'full' }));
  const stored = await until(async () => {
    const [memory] = await list();
    return memory?.type === 'memory' && memory.content?.includes('Medium.') && memory;
  });
  expect(stored).toMatchObject({ path: '/preferences.md', content: 'Vegan leather only.\nMedium.\n' });
  const second = await say('I need a bag.', { resources: [resource] });
  expect(JSON.stringify(await end(second))).toContain('Medium.');
  const versions = await collect(memoryStores.memoryVersions.list(store.id));
  expect(versions.map(({ created_by, path }) => [created_by, path])).toEqual([
    [{ type: 'session_actor', session_id: second }, '/rules/a.md'],
    [{ type: 'session_actor', session_id: first }, '/preferences.md'],
    [{ type: 'session_actor', session_id: first }, '/preferences.md'],
  ]);
  await sessions.archive(first);
  await memoryStores.delete(store.id);
  expect((await errorOf(memoryStores.retrieve(store.id))).status).toBe(404);
});

test('every method of memory stores works over HTTP, and two servers of a store agree (G67)', async () => {
  const place = cliPlace(await modelFor([]));
  const { memoryStores } = (await serveManaged(place)).beta;
  const { memories, memoryVersions } = memoryStores;
  const { id } = await memoryStores.create({ name: 'Notes', metadata: { user: 'u1' } });
  const at = { memory_store_id: id };
  const memory = await memories.create(id, { path: '/a/b.md', content: 'one' });
  const precondition = { type: 'content_sha256' as const, content_sha256: memory.content_sha256 };
  await memories.update(memory.id, { ...at, content: 'two', path: '/c.md', precondition });
  const stale = await errorOf(memories.update(memory.id, { ...at, content: 'three', precondition }));
  expect(stale.type).toBe('memory_precondition_failed_error');
  await memoryVersions.redact(memory.memory_version_id, at);
  const gone = await memories.create(id, { path: '/gone', content: '' });
  await memories.delete(gone.id, at);
  await memoryStores.update(id, { description: 'What we know.' });
  const again = (await serveManaged(place)).beta.memoryStores;
  expect(await again.memories.retrieve(memory.id, at)).toMatchObject({ path: '/c.md', content: 'two' });
  expect(await collect(again.memories.list(id, { depth: 1 }))).toHaveLength(1);
  const versions = await collect(again.memoryVersions.list(id));
  expect(versions.map(({ operation, path }) => [operation, path])).toEqual([
    ['deleted', '/gone'],
    ['created', '/gone'],
    ['modified', '/c.md'],
    ['created', null],
  ]);
  expect(await again.memoryVersions.retrieve(versions[2]!.id, at)).toMatchObject({ content: 'two' });
  const archived = await again.archive(id);
  expect(await collect(again.list({ include_archived: true }))).toEqual([archived]);
  expect(await again.retrieve(id)).toEqual(archived);
  expect(await again.delete(id)).toEqual({ id, type: 'memory_store_deleted' });
});
