// The HTTP API, asked as programs, other sites and strangers would ask it. No port is opened.
import { expect, test } from 'vitest';
import { StoreError } from '../../../store/values/store.ts';
import { routes } from '../../../page/api/routes.ts';
import type { PagePorts } from '../../../page/ports.ts';
import { ClientProblem } from '../../../client/problem.ts';
import type { PersonRequest } from '../../../client/sessions/history/recent.ts';
import { letInWith, PAGE_HOST, SECRETS } from '../../support/page-ports.ts';
import { access, others, problemFrom, recording, stagedApi, token } from './staged-api.ts';

test.each([
  ['no token', { authorization: '' }, 401, 'no_token'],
  ['a guess', { authorization: 'Bearer guess' }, 401, 'no_token'],
  ['what lets a browser in', { authorization: letInWith(SECRETS.key) }, 401, 'no_token'],
  ['the key of the page', { authorization: `Bearer ${SECRETS.key}` }, 401, 'no_token'],
  ['the token in another scheme', { authorization: 'Basic secret' }, 401, 'no_token'],
  ['another host', { host: 'evil.example' }, 421, 'wrong_host'],
  ['no address at all', { host: '127.0.0.1:x' }, 421, 'wrong_host'],
  ['a page of another site', { origin: 'https://evil.example' }, 403, 'forbidden'],
  ['a sandboxed frame', { origin: 'null' }, 403, 'forbidden'],
] as const)(
  'a request with %s is answered with a problem and reaches no session (Q11)',
  async (_, headers, status, kind) => {
    const { ask, done } = await stagedApi();
    for (const path of ['/sessions', '/sessions/s-1/events', '/openapi.json', '/nowhere'])
      expect(await problemFrom(ask(path, { headers }))).toMatchObject({ status, kind });
    expect(await problemFrom(ask('/sessions/s-1/cancel', { headers, body: {} }))).toMatchObject({ status, kind });
    expect(done).toEqual([]);
  },
);

test('each address of this machine is answered, through any forwarded port, and of a hosted page its name alone (Q11)', async () => {
  const { ask } = await stagedApi();
  const loopback = ['127.0.0.1', 'localhost', '[::1]'].flatMap((name) => [name, `${name}:4567`, `${name}:9000`]);
  for (const host of [PAGE_HOST, ...loopback]) expect((await ask('/sessions', { headers: { host } })).status).toBe(200);
  const hosted = await stagedApi({}, { host: () => 'ops.example', people: others, hosted: true });
  const headers = { authorization: `Bearer ${token('look')}` };
  expect((await hosted.ask('/sessions', { headers: { ...headers, host: 'ops.example' } })).status).toBe(200);
  expect((await hosted.ask('/sessions', { headers: { ...headers, host: '127.0.0.1:443' } })).status).toBe(421);
});

test.each([
  ['text that may be JSON', '{}', { 'content-type': 'text/plain' }, 415, 'not_json'],
  ['half of JSON', '{"prompt":', {}, 400, 'refused'],
  ['another shape', { prompt: 7 }, {}, 400, 'refused'],
  ['a field too many', { prompt: 'x', workers: {} }, {}, 400, 'refused'],
  ['an option that is misspelled', { prompt: 'x', options: { maxTurn: 3 } }, {}, 400, 'refused'],
  ['an option of the client alone', { prompt: 'x', options: { workers: {} } }, {}, 400, 'refused'],
  [
    '20,000 levels',
    `{"prompt":"x","options":{"outputSchema":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_002)}`,
    {},
    400,
    'refused',
  ],
  ['11 MB', 'x'.repeat(11 * 1024 * 1024), {}, 413, 'too_large'],
  ['a key with a blank', { prompt: 'x' }, { 'idempotency-key': 'a b' }, 400, 'refused'],
  ['a key of 201 characters', { prompt: 'x' }, { 'idempotency-key': 'k'.repeat(201) }, 400, 'refused'],
] as const)('a body with %s is refused before anything is done (Q11)', async (_, body, headers, status, kind) => {
  const { ask, done } = await stagedApi();
  expect(await problemFrom(ask('/sessions', { body, headers }))).toMatchObject({ status, kind });
  expect(done).toEqual([]);
});

test('what is not there is said plainly: paths, methods, sessions, names that are none (Q11)', async () => {
  const { ask } = await stagedApi();
  expect(await problemFrom(ask('/nowhere'))).toMatchObject({ status: 404, kind: 'not_found' });
  expect(await problemFrom(ask('/sessions', { method: 'DELETE' }))).toMatchObject({ status: 405 });
  expect(await problemFrom(ask('/sessions/s-2'))).toMatchObject({ status: 404, kind: 'no_session' });
  expect(await problemFrom(ask('/sessions/s-2/events'))).toMatchObject({ status: 404, kind: 'no_session' });
  expect(await problemFrom(ask('/sessions/..%2fx/interrupt', { body: {} }))).toMatchObject({ status: 400 });
  expect(await problemFrom(ask('/sessions?sise=3'))).toMatchObject({ status: 400, kind: 'refused' });
  expect(await problemFrom(ask('/sessions/s-1/events', { headers: { 'last-event-id': 'x' } }))).toMatchObject({
    status: 400,
  });
});

test.each(['look', 'decide', 'steer'] as const)('the role %s may do what its role may (Q11)', async (role) => {
  const { ask, done } = await stagedApi({ ports: { recent: () => Promise.reject(new Error('not asked')) } });
  const roles = ['look', 'decide', 'steer'];
  for (const { name, method, path, role: needed } of routes) {
    const at = path.replace('{session}', 's-1').replace('{call}', '1.1.0').replace('{schedule}', 'nightly');
    const before = done.length;
    const headers = { authorization: `Bearer ${token(role)}` };
    const answer = await ask(at, { headers, method, ...(method === 'post' ? { body: bodies[name] ?? {} } : {}) });
    const may = roles.indexOf(role) >= roles.indexOf(needed);
    expect([name, answer.status < 300]).toEqual([name, may]);
    if (method === 'post') expect([name, done.length - before]).toEqual([name, may ? 1 : 0]);
    if (!may) expect((await problemFrom(answer)).detail).toContain(`needs the role ${needed}, and yours is ${role}`);
  }
});

test('the role decide neither changes the input of a call nor ends a run with its denial (Q11)', async () => {
  const { ask, done } = await stagedApi();
  const call = '/sessions/s-1/calls/1.1.0';
  for (const [action, body, what] of [
    ['approve', { input: { command: 'ls' } }, 'to change what a call does'],
    ['deny', { reason: 'no', interrupt: true }, 'to interrupt'],
  ] as const) {
    const headers = (role: string) => ({ authorization: `Bearer ${token(role)}` });
    expect(await problemFrom(ask(`${call}/${action}`, { headers: headers('decide'), body }))).toMatchObject({
      status: 403,
      detail: `${what} needs the role steer, and yours is decide: nothing was done`,
    });
    expect(done).not.toContain(action);
    expect((await ask(`${call}/${action}`, { headers: headers('steer'), body })).status).toBe(200);
    expect(done).toContain(action);
  }
});

const bodies: Readonly<Record<string, unknown>> = {
  start: { prompt: 'Go.' },
  send: { prompt: 'On.' },
  snip: { entries: [1] },
  deny: { reason: 'no' },
  answer: { text: 'yes' },
  topUp: { maxTurns: 9 },
  askAside: { question: 'Why?' },
  setOptions: { model: null },
  createSchedule: { cron: '@daily', task: 'Go.' },
};

test('what is asked reaches the client as it is, under the key of the request and in its trace (Q11 O15)', async () => {
  const sent = { session: 's-1', messageId: 'k-1' };
  const { calls, ports } = recording({
    start: sent,
    send: sent,
    interrupt: undefined,
    approve: undefined,
    answer: undefined,
  });
  const names: unknown[] = [];
  const { ask } = await stagedApi({ ports: { ...ports, as: (...name) => (names.push(name), ports as PagePorts) } });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const headers = { 'idempotency-key': '"k-1"', authorization: `Bearer ${token('steer')}`, traceparent };
  const started = await ask('/sessions', {
    headers,
    body: { prompt: 'Go.', session: 's-9', options: { maxTurns: 3 } },
  });
  expect([started.status, await started.json()]).toEqual([201, sent]);
  await ask('/sessions/s-1/messages', {
    headers: { ...headers, traceparent: `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01` },
    body: { prompt: 'On.', now: true },
  });
  await ask('/sessions/s-1/interrupt', { headers, body: '' });
  await ask('/sessions/s-1/calls/1.1.0%2B2/approve', { headers, body: { input: { a: 1 } } });
  await ask('/sessions/s-1/calls/1.1.0/answer', { headers, body: { text: 'yes' } });
  // A person's own: the same of another is another one.
  const key = { messageId: expect.stringMatching(/^k-1\.[0-9a-f]{16}$/) as string, signal: undefined };
  expect(calls).toEqual([
    ['start', 'Go.', { maxTurns: 3, session: 's-9', traceparent, querySource: 'api', ...key }],
    ['send', 's-1', 'On.', { now: true, querySource: 'api', ...key }],
    ['interrupt', 's-1', key],
    ['approve', 's-1', '1.1.0+2', { input: { a: 1 }, signal: undefined }],
    ['answer', 's-1', '1.1.0', 'yes', { signal: undefined }],
  ]);
  expect(new Set(names.map(String))).toEqual(new Set(['steerer,over HTTP']));
});

test('a start is sent under its key, in the name of its person, whose client finds the session of the first (Q11)', async () => {
  const sent = { session: 's-1', messageId: 'k-1' };
  const { calls, ports } = recording({ start: sent });
  const { ask } = await stagedApi({ ports: { as: () => ports as PagePorts } });
  const headers = { 'idempotency-key': 'k-1' };
  expect(await (await ask('/sessions', { headers, body: { prompt: 'Go.' } })).json()).toEqual(sent);
  expect(calls).toEqual([['start', 'Go.', { messageId: 'k-1', querySource: 'api', signal: undefined }]]);
});

test('a decision that is sent again with its key is answered as taken, another one is refused (Q11)', async () => {
  const decided = new ClientProblem('no_call', 'call 1.1.0 was decided already');
  const { ports } = recording({
    approve: decided,
    deny: decided,
    topUp: new ClientProblem('refused', 'not more than now'),
  });
  const at = { at: 1, by: 'decideer over HTTP' };
  const asked: PersonRequest[] = [
    { kind: 'approve', call: '1.1.0', edited: false, ...at },
    { kind: 'topUp', limits: { maxTurns: 9 }, at: 1, by: 'steerer over HTTP' },
  ];
  const read: string[] = [];
  const agent = 'agent-0123456789abcdef-0';
  const recent = (session: string) => {
    read.push(session);
    return Promise.resolve({ messages: [], before: [], asked, raised: {}, next: {} });
  };
  const { ask } = await stagedApi({ ports: { recent, as: () => ports as PagePorts } });
  const send = (path: string, body: unknown, role: string, key = 'k') =>
    ask(`/sessions/s-1/${path}`, {
      body,
      headers: { authorization: `Bearer ${token(role)}`, ...(key === '' ? {} : { 'idempotency-key': key }) },
    });
  expect((await send('calls/1.1.0/approve', {}, 'decide')).status).toBe(200);
  expect((await send('top-up', { maxTurns: 9 }, 'steer')).status).toBe(200);
  expect((await send(`calls/${agent}.1.1.0/approve`, {}, 'decide')).status).toBe(200);
  expect(read).toEqual(['s-1', 's-1', `s-1.${agent}`]);
  for (const other of [
    send('calls/1.1.0/approve', {}, 'decide', ''),
    send('calls/1.1.0/approve', {}, 'steer'),
    send('calls/1.1.0/approve', { input: {} }, 'decide'),
    send('calls/1.1.1/approve', {}, 'decide'),
    send('calls/1.1.0/deny', { reason: 'no' }, 'decide'),
    send('top-up', { maxTurns: 8 }, 'steer'),
  ])
    expect((await problemFrom(other)).status).toBeGreaterThanOrEqual(400);
});

test.each([
  [new ClientProblem('no_worker', 'nobody polls'), 503, 'no_worker'],
  [new ClientProblem('unanswered', 'no answer'), 503, 'unanswered'],
  [new StoreError('unavailable', 'cannot read'), 503, 'store'],
  [new StoreError('corrupt', 'damaged'), 500, 'store'],
  [new Error('two\nlines \u202e'), 500, 'defect'],
])('%s is a problem with its status (Q11)', async (error, status, kind) => {
  const { ask } = await stagedApi({ ports: recording({ result: error }).ports });
  expect(await problemFrom(ask('/sessions/s-1/result'))).toMatchObject({ status, kind });
});

test('the same key of two people is the id of two messages (Q11)', async () => {
  const { calls, ports } = recording({ send: {}, interrupt: undefined });
  const { ask } = await stagedApi({ ports: { as: () => ports as PagePorts } }, access);
  const own = { 'idempotency-key': 'k'.repeat(200) };
  for (const headers of [own, { ...own, authorization: `Bearer ${token('steer')}` }])
    for (const path of ['messages', 'interrupt'])
      await ask(`/sessions/s-1/${path}`, { headers, body: path === 'messages' ? { prompt: 'On.' } : {} });
  const ids = calls.map((args) => (args.at(-1) as { readonly messageId: string }).messageId);
  expect(new Set(ids).size).toBe(2);
  expect(ids.every((id) => id.length <= 200)).toBe(true);
});

test('captures of files and the difference of two points are read over HTTP, the patch left out on request (T11 Q11)', async () => {
  const diff = { files: [{ root: '/w', path: 'a', kind: 'added', insertions: 1, deletions: 0 }], patch: 'diff --git' };
  const { calls, ports } = recording({ diff, files: [] });
  const { ask } = await stagedApi({ ports });
  expect(await (await ask('/sessions/s-1/files')).json()).toEqual({ captures: [] });
  expect(await (await ask('/sessions/s-1/diff?from=1.2&to=40&path=src&stat=true')).json()).toEqual(diff);
  await ask('/sessions/s-1/diff');
  expect(calls).toEqual([
    ['files', 's-1', {}],
    ['diff', 's-1', { from: '1.2', to: '40', stat: true, paths: ['src'] }],
    ['diff', 's-1', {}],
  ]);
  const missing = new ClientProblem('refused', 'no snapshots are on this machine');
  const none = await stagedApi({ ports: recording({ diff: missing }).ports });
  expect(await problemFrom(none.ask('/sessions/s-1/diff'))).toMatchObject({ status: 400, kind: 'refused' });
  expect((await ask('/sessions/s-1/diff?stat=yes')).status).toBe(400);
});

test('a transcript comes a piece at a time (Q11)', async () => {
  const transcript: PagePorts['transcript'] = async function* (_, { from = 0 } = {}) {
    for (let position = from; position < 5; position += 1)
      yield { position, entry: { kind: 'notice', notice: { kind: 'interrupted' } } };
  };
  const { ask } = await stagedApi({ ports: { transcript } });
  const piece = async (query: string) => {
    const read = (await (await ask(`/sessions/s-1/transcript${query}`)).json()) as {
      entries: { position: number }[];
      next: number | null;
    };
    return [read.entries.map(({ position }) => position), read.next];
  };
  expect(await piece('')).toEqual([[0, 1, 2, 3, 4], null]);
  expect(await piece('?size=2')).toEqual([[0, 1], 2]);
  expect(await piece('?from=2&size=3')).toEqual([[2, 3, 4], null]);
  for (const wrong of ['?size=0', '?size=1001', '?from=-1', '?from=x'])
    expect((await ask(`/sessions/s-1/transcript${wrong}`)).status).toBe(400);
});
