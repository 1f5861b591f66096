// Memory stores as the SDK sees them, on a staged server.
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { AGENT, codeOf, collect, errorOf, stagedManaged, token } from './staged.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function openStore() {
  const staged = stagedManaged();
  const { memoryStores } = staged.client.beta;
  const store = await memoryStores.create({ name: 'Team Notes', description: 'What the team decided.' });
  const { memories, memoryVersions } = memoryStores;
  const create = (path: string, content = `${path} text`) => memories.create(store.id, { path, content });
  return { ...staged, memoryStores, memories, memoryVersions, store, create, at: { memory_store_id: store.id } };
}

describe('a memory store', () => {
  test('lives from its creation to its deletion (G67)', async () => {
    const { memoryStores, store, client } = await openStore();
    expect(store).toMatchObject({ type: 'memory_store', metadata: {}, archived_at: null });
    const changed = await memoryStores.update(store.id, { description: '', metadata: { user: 'u1' } });
    expect(changed).toMatchObject({ name: 'Team Notes', description: '', metadata: { user: 'u1' } });
    expect(await memoryStores.update(store.id, { name: null })).toEqual(changed);
    expect(await collect(memoryStores.list())).toEqual([changed]);
    expect(await collect(memoryStores.list({ 'created_at[lte]': '2001-01-01T00:00:00Z' }))).toEqual([]);
    const archived = await memoryStores.archive(store.id);
    expect(await memoryStores.archive(store.id)).toEqual(archived);
    expect(await collect(memoryStores.list())).toEqual([]);
    expect(await collect(memoryStores.list({ include_archived: true }))).toEqual([archived]);
    expect(await memoryStores.delete(store.id)).toEqual({ id: store.id, type: 'memory_store_deleted' });
    expect((await errorOf(client.beta.memoryStores.retrieve(store.id))).status).toBe(404);
    expect((await errorOf(client.beta.memoryStores.memories.list(store.id).then())).status).toBe(404);
  });

  test('keeps its memories as they are once it is archived, but for deletions and redactions (G67)', async () => {
    const { memoryStores, memories, memoryVersions, store, create, at } = await openStore();
    const kept = await create('/a.md');
    await memories.update(kept.id, { ...at, content: 'newer' });
    await memoryStores.archive(store.id);
    for (const refused of [
      create('/b.md'),
      memories.update(kept.id, { ...at, content: 'x' }),
      memoryStores.update(store.id, { name: 'Other' }),
    ])
      expect(codeOf(await errorOf(refused))).toBe('memory_store_archived');
    expect((await memories.retrieve(kept.id, at)).content).toBe('newer');
    await memoryVersions.redact(kept.memory_version_id, at);
    await memories.delete(kept.id, at);
    expect(await collect(memories.list(store.id))).toEqual([]);
  });

  test('is changed by who may steer and read by who may look (G19)', async () => {
    const { as, store, memories } = await openStore();
    const looker = as(token('look')).beta.memoryStores;
    expect((await looker.retrieve(store.id)).id).toBe(store.id);
    expect((await errorOf(looker.memories.create(store.id, { path: '/a', content: '' }))).status).toBe(403);
    expect((await errorOf(looker.delete(store.id))).status).toBe(403);
    expect(await collect(memories.list(store.id))).toEqual([]);
  });
});

describe('a memory', () => {
  test('has a version for each change and none for what changes nothing (G67)', async () => {
    const { memories, memoryVersions, store, at } = await openStore();
    const created = await memories.create(store.id, { path: '/notes/today.md', content: 'Grüße', view: 'full' });
    expect(created).toMatchObject({
      type: 'memory',
      content: 'Grüße',
      content_sha256: sha256('Grüße'),
      content_size_bytes: 7,
      ...at,
    });
    const renamed = await memories.update(created.id, { ...at, path: '/notes/yesterday.md' });
    expect(renamed).toMatchObject({ id: created.id, content: null, content_sha256: created.content_sha256 });
    expect(await memories.update(created.id, { ...at, content: 'Grüße' })).toEqual(renamed);
    expect((await memories.retrieve(created.id, at)).content).toBe('Grüße');
    expect(await memories.delete(created.id, at)).toEqual({ id: created.id, type: 'memory_deleted' });
    const versions = await collect(memoryVersions.list(store.id, { memory_id: created.id, view: 'full' }));
    expect(versions.map(({ operation, path, content }) => [operation, path, content])).toEqual([
      ['deleted', '/notes/yesterday.md', null],
      ['modified', '/notes/yesterday.md', 'Grüße'],
      ['created', '/notes/today.md', 'Grüße'],
    ]);
    expect(versions[1]).toMatchObject({ id: renamed.memory_version_id, created_by: { type: 'api_actor' } });
    expect((await errorOf(memories.retrieve(created.id, at))).status).toBe(404);
    expect(await collect(memoryVersions.list(store.id, { operation: 'modified' }))).toHaveLength(1);
    expect(await collect(memoryVersions.list(store.id, { session_id: 'sesn_x' }))).toEqual([]);
  });

  test('is changed and deleted only while it holds the text that a request expects (G67)', async () => {
    const { memories, create, at } = await openStore();
    const memory = await create('/a', 'one');
    const expecting = (text: string) => ({ type: 'content_sha256' as const, content_sha256: sha256(text) });
    await memories.update(memory.id, { ...at, content: 'two', precondition: expecting('one') });
    const late = await errorOf(memories.update(memory.id, { ...at, content: 'three', precondition: expecting('one') }));
    expect([late.status, late.type, late.headers?.get('x-should-retry')]).toEqual([
      409,
      'memory_precondition_failed_error',
      'false',
    ]);
    const repeated = await memories.update(memory.id, { ...at, content: 'two', precondition: expecting('one') });
    expect(repeated.content_sha256).toBe(sha256('two'));
    const refused = await errorOf(memories.delete(memory.id, { ...at, expected_content_sha256: sha256('one') }));
    expect([refused.status, refused.type]).toEqual([409, 'memory_precondition_failed_error']);
    await memories.delete(memory.id, { ...at, expected_content_sha256: sha256('two') });
  });

  test.each([
    ['/notes', '/notes'],
    ['/notes', '/notes/today.md'],
    ['/notes/a/b', '/notes/a'],
  ])('at %s keeps another one from %s, whether it is created or renamed (G67)', async (first, second) => {
    const { memories, create, at } = await openStore();
    const there = await create(first);
    const other = await create('/other');
    for (const refused of [create(second), memories.update(other.id, { ...at, path: second })]) {
      const { status, type, error } = await errorOf(refused);
      expect([status, type]).toEqual([409, 'memory_path_conflict_error']);
      expect(error).toMatchObject({ error: { conflicting_memory_id: there.id, conflicting_path: first } });
    }
    expect((await create('/notes-archive/today.md')).path).toBe('/notes-archive/today.md');
  });

  test.each([
    'no-slash',
    '/',
    '/a//b',
    '/a/',
    '/a/../b',
    '/./a',
    '/nul\0',
    '/line\u2028',
    '/mark\u200E',
    '/e\u0301',
    '/half\uD800',
    `/${'a/'.repeat(20)}b`,
    `/${'ü'.repeat(512)}`,
  ])('has no path %j (G67)', async (path) => {
    const { store, memories, create } = await openStore();
    expect((await errorOf(create(path))).status).toBe(400);
    expect(await collect(memories.list(store.id))).toEqual([]);
  });

  test('has at most 102,400 bytes, and may be empty (G67)', async () => {
    const { memories, store, create } = await openStore();
    expect((await create('/most', 'ü'.repeat(51_200))).content_size_bytes).toBe(102_400);
    expect((await errorOf(create('/more', `${'ü'.repeat(51_200)}x`))).status).toBe(400);
    expect((await create('/none', '')).content_sha256).toBe(sha256(''));
    expect(await collect(memories.list(store.id))).toHaveLength(2);
  });

  test('is listed by its path, below a prefix, down to a depth, page by page (G67 G8)', async () => {
    const { memories, store, create } = await openStore();
    for (const path of ['/b/x/1', '/a', '/b/2', '/c/3', '/b/x/4']) await create(path);
    const list = async (query: Parameters<typeof memories.list>[1]) =>
      (await collect(memories.list(store.id, query))).map(({ type, path }) => `${type} ${path}`);
    const all = ['memory /a', 'memory /b/2', 'memory /b/x/1', 'memory /b/x/4', 'memory /c/3'];
    expect(await list({ limit: 2 })).toEqual(all);
    const top = ['memory /a', 'memory_prefix /b/', 'memory_prefix /c/'];
    expect(await list({ depth: 1, limit: 1 })).toEqual(top);
    expect(await list({ path_prefix: '/b/', depth: 1 })).toEqual(['memory /b/2', 'memory_prefix /b/x/']);
    expect((await errorOf(memories.list(store.id, { path_prefix: '/b' }).then())).status).toBe(400);
    const full = await memories.list(store.id, { view: 'full', limit: 1000 });
    expect(full.data.map((item) => item.type === 'memory' && item.content)).toContain('/b/x/1 text');
  });

  test('with its text comes in pages of at most twenty (G67)', async () => {
    const { memories, store, create } = await openStore();
    for (let n = 0; n < 21; n += 1) await create(`/${n}`);
    expect((await memories.list(store.id, { view: 'full', limit: 100 })).data).toHaveLength(20);
    expect((await memories.list(store.id, { limit: 100 })).data).toHaveLength(21);
  });
});

describe('a version', () => {
  test('is redacted for good, unless a memory holds it (G67)', async () => {
    const { memories, memoryVersions, create, at } = await openStore();
    const first = await create('/secret', 'a secret');
    expect(codeOf(await errorOf(memoryVersions.redact(first.memory_version_id, at)))).toBe('memory_current');
    await memories.update(first.id, { ...at, path: '/public', content: 'public' });
    const redacted = await memoryVersions.redact(first.memory_version_id, at);
    expect(redacted).toMatchObject({ operation: 'created', content: null, path: null, content_sha256: null });
    expect(redacted).toMatchObject({ content_size_bytes: null, redacted_by: { type: 'api_actor' } });
    expect(await memoryVersions.redact(first.memory_version_id, at)).toEqual(redacted);
    expect(await memoryVersions.retrieve(first.memory_version_id, { ...at, view: 'full' })).toEqual(redacted);
    expect((await memories.retrieve(first.id, at)).content).toBe('public');
  });
});

test('of many writers of one memory each has its version, and the last one holds (G67)', async () => {
  const { memories, memoryVersions, create, store, at, restart } = await openStore();
  const memory = await create('/count', '0');
  const writes = Array.from({ length: 20 }, (_, n) => {
    if (n === 10) restart();
    return memories.update(memory.id, { ...at, content: `${n + 1}` });
  });
  await Promise.all(writes);
  const versions = await collect(memoryVersions.list(store.id, { view: 'full', limit: 7 }));
  expect(new Set(versions.map(({ content }) => content))).toEqual(
    new Set(Array.from({ length: 21 }, (_, n) => `${n}`)),
  );
  expect((await memories.retrieve(memory.id, at)).content).toBe(versions[0]?.content);
});

describe('a session with memory stores', () => {
  test('has them under paths of their names, as they were when it was created (G67)', async () => {
    const { client, memoryStores, store } = await openStore();
    const same = await memoryStores.create({ name: 'team notes' });
    const agent = await client.beta.agents.create(AGENT);
    const session = await client.beta.sessions.create({
      agent: agent.id,
      environment_id: 'env_default',
      resources: [
        { type: 'memory_store', memory_store_id: store.id, instructions: 'Look here first.' },
        { type: 'memory_store', memory_store_id: same.id, access: 'read_only' },
      ],
    });
    await memoryStores.update(store.id, { name: 'Renamed' });
    const { resources } = await client.beta.sessions.retrieve(session.id);
    expect(resources).toEqual(session.resources);
    expect(resources).toMatchObject([
      {
        name: 'Team Notes',
        mount_path: '/mnt/memory/team-notes',
        access: 'read_write',
        instructions: 'Look here first.',
      },
      { mount_path: '/mnt/memory/team-notes-2', access: 'read_only', description: '' },
    ]);
    const listed = await collect(client.beta.sessions.list({ memory_store_id: store.id }));
    expect(listed.map(({ id }) => id)).toEqual([session.id]);
    expect(await collect(client.beta.sessions.list({ memory_store_id: 'memstore_other' }))).toEqual([]);
  });

  test('attaches none that is archived, unknown or attached already (G67)', async () => {
    const { client, memoryStores, store } = await openStore();
    const agent = await client.beta.agents.create(AGENT);
    const create = (...ids: string[]) =>
      errorOf(
        client.beta.sessions.create({
          agent: agent.id,
          environment_id: 'env_default',
          resources: ids.map((id) => ({ type: 'memory_store', memory_store_id: id })),
        }),
      );
    expect((await create(store.id, store.id)).status).toBe(400);
    expect((await create('memstore_unknown')).status).toBe(404);
    await memoryStores.archive(store.id);
    expect(codeOf(await create(store.id))).toBe('memory_store_archived');
  });
});
