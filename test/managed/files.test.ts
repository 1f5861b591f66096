// Files and the resources of sessions as the SDK sees them, on staged sessions.
import { toFile } from '@anthropic-ai/sdk';
import { expect, test, vi } from 'vitest';
import { Files } from '../../store/values/files.ts';
import { StoreError } from '../../store/values/store.ts';
import { memoryStore } from '../support/memory-store.ts';
import { AGENT, codeOf, collect, errorOf, HEADERS, type Staged, stagedManaged, text, token } from './staged.ts';

const upload = async (face: Pick<Staged, 'client'>, name = 'data.csv', content = 'a,b\n1,2\n') =>
  face.client.beta.files.upload({ file: await toFile(Buffer.from(content), name) });

async function withSession(resources: readonly object[] = [], environment_id = 'env_default') {
  const face = stagedManaged();
  const agent = await face.client.beta.agents.create(AGENT);
  const create = (own: readonly object[]) =>
    face.client.beta.sessions.create({ agent: agent.id, environment_id, resources: [...own] as never });
  return { ...face, agent, create, session: await create(resources) };
}

test('a file is uploaded, listed, looked at and deleted, and an upload is not downloaded (G66)', async () => {
  const face = stagedManaged();
  const { files } = face.client.beta;
  const file = await upload(face);
  expect(file).toMatchObject({
    type: 'file',
    filename: 'data.csv',
    mime_type: 'text/csv',
    size_bytes: 8,
    downloadable: false,
    scope: null,
  });
  expect(await files.retrieveMetadata(file.id)).toEqual(file);
  expect(codeOf(await errorOf(files.download(file.id)))).toBe('file_not_downloadable');
  const second = await upload(face, 'more.txt', '');
  expect((await collect(files.list({ limit: 1 }))).map(({ id }) => id).toSorted()).toEqual(
    [file.id, second.id].toSorted(),
  );
  expect((await files.list({ ids: [second.id, 'file_x'] })).data).toEqual([second]);
  expect((await errorOf(files.list({ ids: [second.id], limit: 1 }))).status).toBe(400);
  face.restart();
  expect(await files.delete(file.id)).toEqual({ id: file.id, type: 'file_deleted' });
  expect((await errorOf(files.retrieveMetadata(file.id))).status).toBe(404);
  expect((await errorOf(files.delete(file.id))).status).toBe(404);
  expect((await collect(files.list())).map(({ id }) => id)).toEqual([second.id]);
});

test.each([
  ['the last part of a path', '../../etc/passwd', '', 'passwd'],
  ['a name of Windows', 'C:\\x\\y.txt', '', 'y.txt'],
  ['nothing', 'folder/', 'text/csv', 'unnamed.csv'],
  ['what acts on a terminal', 'a\u202eb\u0007.txt', '', 'a\\u202eb\\x07.txt'],
])('the name of an upload is %s (G66)', async (_, name, type, filename) => {
  const { ask } = stagedManaged();
  const form = new FormData();
  form.append('file', new File(['x'], name, { type }), name);
  const { 'content-type': __, ...headers } = HEADERS;
  const response = await ask('/files', { method: 'POST', headers, body: form });
  expect([response.status, await response.json()]).toMatchObject([200, { filename }]);
});

test('an upload that is none, has more in it or is too large is refused, and nothing is stored (G16 G66)', async () => {
  const { ask, client } = stagedManaged();
  const { 'content-type': _, ...headers } = HEADERS;
  const send = async (body: FormData | string, more: Readonly<Record<string, string>> = {}) => {
    const response = await ask('/files', { method: 'POST', headers: { ...headers, ...more }, body });
    return [response.status, ((await response.json()) as { error: { message: string } }).error.message];
  };
  const form = (fields: Readonly<Record<string, string | File>>): FormData => {
    const all = new FormData();
    for (const [name, value] of Object.entries(fields)) all.append(name, value);
    return all;
  };
  const file = new File(['x'], 'x.txt');
  expect(await send(form({}))).toEqual([400, expect.stringContaining('give the file as a part')]);
  expect(await send(form({ file: 'text' }))).toEqual([400, expect.stringContaining('give the file as a part')]);
  expect(await send(form({ file, purpose: 'x' }))).toEqual([400, 'purpose: Extra inputs are not permitted']);
  expect(await send(form({ file, expires_in_seconds: '3600' }))).toEqual([400, expect.stringContaining('expire')]);
  const broken = await send('--x\r\nnonsense', { 'content-type': 'multipart/form-data; boundary=x' });
  expect(broken[0]).toBe(400);
  expect((await send('{}', { 'content-type': 'application/json' }))[0]).toBe(400);
  const large = new File([new Uint8Array(51 * 1024 * 1024)], 'large');
  expect(await send(form({ file: large }))).toEqual([413, 'The body is over 50 MB']);
  expect((await client.beta.files.list()).data).toEqual([]);
});

test('a repeated upload finds the first one, and another is another file (G21)', async () => {
  const face = stagedManaged();
  const file = await toFile(Buffer.from('x'), 'x.txt');
  const first = await face.client.beta.files.upload({ file }, { headers: { 'Idempotency-Key': 'k' } });
  expect(await face.client.beta.files.upload({ file }, { headers: { 'Idempotency-Key': 'k' } })).toEqual(first);
  const other = await toFile(Buffer.from('y'), 'x.txt');
  const reused = face.client.beta.files.upload({ file: other }, { headers: { 'Idempotency-Key': 'k' } });
  expect(codeOf(await errorOf(reused))).toBe('idempotency_key_reused');
  expect((await face.client.beta.files.upload({ file })).id).not.toBe(first.id);
});

test('whoever looks may read files, and only who steers uploads, deletes and attaches them (G19)', async () => {
  const face = await withSession();
  const file = await upload(face);
  const looker = face.as(token('look')).beta;
  expect((await looker.files.list()).data).toEqual([file]);
  const body = { type: 'file' as const, file_id: file.id };
  for (const refused of [
    looker.files.upload({ file: await toFile(Buffer.from('x'), 'x') }),
    looker.files.delete(file.id),
    looker.sessions.resources.add(face.session.id, body),
  ])
    expect((await errorOf(refused)).status).toBe(403);
});

test('resources of a session are copies: attached, listed, detached, and left alone by a deletion (G66)', async () => {
  const { client, create } = await withSession();
  const { resources } = client.beta.sessions;
  const file = await upload({ client });
  const session = await create([
    { type: 'file', file_id: file.id },
    { type: 'file', file_id: file.id, mount_path: '/workspace/data.csv' },
  ]);
  expect(session.resources).toMatchObject([
    { type: 'file', mount_path: `/mnt/session/uploads/${file.id}` },
    { type: 'file', mount_path: '/mnt/session/uploads/workspace/data.csv' },
  ]);
  const added = await resources.add(session.id, {
    type: 'file',
    file_id: file.id,
    mount_path: '/mnt/session/uploads/b.csv',
  });
  expect(added).toMatchObject({ mount_path: '/mnt/session/uploads/b.csv', type: 'file' });
  expect(added.file_id).not.toBe(file.id);
  expect(await resources.retrieve(added.id, { session_id: session.id })).toEqual(added);
  await client.beta.files.delete(file.id);
  expect(await collect(resources.list(session.id, { limit: 1 }))).toEqual([...session.resources, added]);
  const scoped = await collect(client.beta.files.list({ scope_id: session.id }));
  expect(scoped.map(({ scope }) => scope)).toEqual([0, 1, 2].map(() => ({ type: 'session', id: session.id })));
  expect(await resources.delete(added.id, { session_id: session.id })).toEqual({
    id: added.id,
    type: 'session_resource_deleted',
  });
  expect((await errorOf(resources.retrieve(added.id, { session_id: session.id }))).status).toBe(404);
  expect((await client.beta.sessions.retrieve(session.id)).resources).toEqual(session.resources);
  const { id } = (await collect(resources.list(session.id)))[0] as { id: string };
  const rotation = resources.update(id, { session_id: session.id, authorization_token: 'x' });
  expect(codeOf(await errorOf(rotation))).toBe('perdure_unsupported');
  await client.beta.sessions.delete(session.id);
  expect((await client.beta.files.list()).data).toEqual([]);
});

const PATHS = [
  '/../x',
  'a/../../x',
  './x',
  'a//b',
  '/',
  'a/',
  'a\nb',
  'a\0b',
  '\ud800',
  'a\u202eb',
  'x'.repeat(256),
  'y/'.repeat(600) + 'z',
];
test.each(PATHS)('a mount path that leads elsewhere or hides something is refused: %j (G66)', async (mount_path) => {
  const { client, create, session } = await withSession();
  const { id } = await upload({ client });
  const resource = { type: 'file' as const, file_id: id, mount_path };
  expect((await errorOf(client.beta.sessions.resources.add(session.id, resource))).status).toBe(400);
  expect((await errorOf(create([resource]))).status).toBe(400);
  expect((await client.beta.files.list()).data).toHaveLength(1);
});

test.each([
  ['A.csv', 'a.csv'],
  ['a', 'a/b'],
  ['a/b', 'a'],
])('two resources of a session are not in each other’s way: %s and %s (G66)', async (one, other) => {
  const { client, create, session } = await withSession();
  const { id } = await upload({ client });
  const at = (mount_path: string) => ({ type: 'file' as const, file_id: id, mount_path });
  await client.beta.sessions.resources.add(session.id, at(one));
  expect((await errorOf(client.beta.sessions.resources.add(session.id, at(other)))).status).toBe(400);
  expect((await errorOf(create([at(one), at(other)]))).status).toBe(400);
});

test('what cannot be attached is refused by name: no file, other kinds, a sandbox elsewhere, an end (G4 G74)', async () => {
  const { client, create, session, agent } = await withSession();
  const file = await upload({ client });
  const param = async (resource: object) => {
    const { error } = (await errorOf(create([resource]))) as { error?: { error?: { details?: { param?: unknown } } } };
    return error?.error?.details?.param;
  };
  expect(await param({ type: 'file', file_id: 'file_x' })).toBe('resources.0.file_id');
  expect(await param({ type: 'github_repository', url: 'https://github.com/a/b', authorization_token: 't' })).toBe(
    'resources.0.type',
  );
  const own = await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } });
  const elsewhere = { agent: agent.id, environment_id: own.id };
  const resources = [{ type: 'file' as const, file_id: file.id }];
  expect((await errorOf(client.beta.sessions.create({ ...elsewhere, resources }))).status).toBe(400);
  const sandboxed = await client.beta.sessions.create(elsewhere);
  for (const id of [sandboxed.id, session.id]) {
    if (id === session.id) await client.beta.sessions.archive(id);
    expect((await errorOf(client.beta.sessions.resources.add(id, resources[0]!))).status).toBe(400);
  }
});

test('a session shows its files: runs are told to, and sessions elsewhere are not (G66)', async () => {
  const { client, session, calls } = await withSession();
  await client.beta.sessions.events.send(session.id, { events: [text('Hi.')] });
  expect(calls.find(([name]) => name === 'start')?.[4]).toMatchObject({ ifNew: { sessionFiles: true } });
});

test('a message names a file: an image as base64, a text as text, and one that is not there is refused', async () => {
  const { client, session, calls } = await withSession();
  const notes = await upload({ client }, 'notes.txt', 'Remember me.');
  const document = (file_id: string) => ({
    type: 'user.message' as const,
    content: [{ type: 'document' as const, source: { type: 'file' as const, file_id } }],
  });
  await client.beta.sessions.events.send(session.id, { events: [document(notes.id)] });
  expect(JSON.stringify(calls.find(([name]) => name === 'start')?.[3])).toContain('Remember me.');
  const { message } = await errorOf(client.beta.sessions.events.send(session.id, { events: [document('file_x')] }));
  expect(message).toContain('events.0.content.0.source');
});

test('a request that names a large file many times is refused before any is read (G66)', async () => {
  const { client, session, store } = await withSession();
  const { id: file_id } = await upload({ client }, 'large.txt', 'x'.repeat(8 * 1024 * 1024));
  const document = { type: 'document' as const, source: { type: 'file' as const, file_id } };
  const event = { type: 'user.message' as const, content: [document, document, document] };
  const read = vi.spyOn(store, 'get');
  const refused = await errorOf(client.beta.sessions.events.send(session.id, { events: [event, event, event] }));
  expect(refused.status).toBe(413);
  expect(read).not.toHaveBeenCalled();
});

test('a message to an archived session is refused as such before its files are looked for (G44 G66)', async () => {
  const { client, session } = await withSession();
  await client.beta.sessions.archive(session.id);
  const document = { type: 'document' as const, source: { type: 'file' as const, file_id: 'file_none' } };
  const event = { type: 'user.message' as const, content: [document] };
  const refused = await errorOf(client.beta.sessions.events.send(session.id, { events: [event] }));
  expect(refused.message).toContain('Cannot send events to archived session');
});

test('outputs are listed with their session, once each, and downloaded; what changed is another file (G66)', async () => {
  let made: Readonly<Record<string, string>> = { 'a.csv': 'one', 'sub/b.bin': 'two', 'copy.csv': 'one' };
  const outputs = async () => ({
    files: Object.entries(made).map(([path, content]) => ({ path, blob: content })),
    async *read(blobs: readonly string[]) {
      for (const blob of blobs) yield [blob, Buffer.from(blob)] as const;
    },
  });
  const { client, restart } = stagedManaged({ outputs });
  const agent = await client.beta.agents.create(AGENT);
  const { id: scope_id } = await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default' });
  const list = () => collect(client.beta.files.list({ scope_id }));
  const first = await list();
  expect(first.map(({ filename, downloadable }) => `${filename} ${downloadable}`).toSorted()).toEqual([
    'a.csv true',
    'b.bin true',
    'copy.csv true',
  ]);
  expect(first.find(({ filename }) => filename === 'b.bin')).toMatchObject({
    mime_type: 'application/octet-stream',
    perdure: { path: '/mnt/session/outputs/sub/b.bin' },
  });
  expect(await list()).toEqual(first);
  restart();
  expect(await list()).toEqual(first);
  const content = await client.beta.files.download(first.find(({ filename }) => filename === 'a.csv')!.id);
  expect(content.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''a.csv");
  expect(await content.text()).toBe('one');
  made = { 'a.csv': 'changed' };
  const [changed, ...others] = await list();
  expect(others).toEqual([]);
  expect(first.map(({ id }) => id)).not.toContain(changed!.id);
  made = { 'a.csv': 'one' };
  const [again] = await list();
  expect(again).toMatchObject({ filename: 'a.csv', size_bytes: 3 });
  expect([...first, changed].map((one) => one!.id)).not.toContain(again!.id);
  made = { 'a.csv': 'changed' };
  const [last] = await list();
  // A deleted one stays deleted until the session makes another.
  await client.beta.files.delete(last!.id);
  expect(await list()).toEqual([]);
  restart();
  expect(await list()).toEqual([]);
});

test('a deletion of a session that fails half-way is repeated, and leaves none of its files (G66)', async () => {
  const base = memoryStore();
  let isFailing = false;
  const create: typeof base.create = async (key, bytes) => {
    if (isFailing && key.startsWith('managed/files/')) throw new StoreError('unavailable', 'away');
    return base.create(key, bytes);
  };
  const face = stagedManaged({ store: { ...base, create } });
  const { files, sessions } = face.client.beta;
  const agent = await face.client.beta.agents.create(AGENT);
  const { id: file_id } = await upload(face);
  const resources = [{ type: 'file' as const, file_id }];
  const { id } = await sessions.create({ agent: agent.id, environment_id: 'env_default', resources });
  isFailing = true;
  expect((await errorOf(sessions.delete(id))).status).toBeGreaterThanOrEqual(500);
  isFailing = false;
  await sessions.delete(id);
  expect((await files.list()).data.map((one) => one.id)).toEqual([file_id]);
});

test('bytes of a file are kept in the store by a record of its own, which names them', async () => {
  const face = stagedManaged();
  const { id } = await upload(face, 'x.txt', 'bytes');
  const files = new Files(face.store, Date.now);
  expect(Buffer.from((await files.bytesOf(id)) ?? []).toString()).toBe('bytes');
  expect(await files.bytesOf('file_none')).toBeNull();
});
