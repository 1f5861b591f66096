// A page that is open to other machines: who gets in, what each may do, and what is refused before
// anything listens.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PagePorts } from '../../page/ports.ts';
import type { Access } from '../../page/hosting/access.ts';
import { type HostFlags, readPageHost } from '../../page/hosting/page-host.ts';
import { placeOfPage } from '../../page/hosting/page-options.ts';
import { serveHostedPage, type ServedPage } from '../../page/serve-page.ts';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { newPass } from '../../page/hosting/passes.ts';
import { stagedPage, stagedPorts } from '../support/page-ports.ts';
import { CERT, KEY } from '../support/tls-pair.ts';

const HOST = 'ops.example';
const token = (name: string): string => `${name}-`.padEnd(40, '0');
const people = (['look', 'decide', 'steer'] as const).map((role) => ({
  name: `a ${role}er`,
  role,
  token: token(role),
}));
const access: Access = { host: () => HOST, people, hosted: true };
const as = (role: string, more: object = {}) => ({
  host: HOST,
  cookie: `__Host-perdure=${newPass(token(role), HOST)}`,
  origin: `https://${HOST}`,
  'content-type': 'application/json',
  ...more,
});

test.each([
  ['look', { interrupt: 403, approve: 403, deny: 403, send: 403 }],
  ['decide', { interrupt: 403, approve: 200, deny: 200, send: 403 }],
  ['steer', { interrupt: 200, approve: 200, deny: 200, send: 200 }],
] as const)('a token of the role %s may do what its role may, and see everything (O12)', async (role, allowed) => {
  const { ask } = await stagedPage({}, access);
  expect((await ask('/sessions/s-1', { headers: as(role) })).status).toBe(200);
  const body = JSON.stringify({ call: '1.1.0', inputHash: 'h', input: '{}', reason: 'no', text: 'x' });
  for (const [action, status] of Object.entries(allowed)) {
    const answer = await ask(`/sessions/s-1/${action}`, { method: 'POST', headers: as(role), body });
    expect([action, answer.status]).toEqual([action, status]);
    if (status === 403) expect(await answer.text()).toContain(`and yours is ${role}: nothing was done`);
  }
  const bulk = JSON.stringify({ action: 'cancel', sessions: ['s-1'] });
  expect((await ask('/bulk', { method: 'POST', headers: as(role), body: bulk })).status).toBe(
    role === 'steer' ? 200 : 403,
  );
});

test.each([
  ['look', 'data-role="look"'],
  ['decide', 'data-role="decide"'],
  ['steer', 'data-role="steer"'],
] as const)('the page says the role %s, and marks what needs more: the sheet hides it (O12)', async (role, said) => {
  const { ask } = await stagedPage({}, access);
  for (const path of ['/', '/sessions/s-1', '/inbox']) {
    const page = await (await ask(path, { headers: as(role) })).text();
    expect(page).toContain(said);
    expect(page).not.toContain('data-owner');
    expect(page).toMatch(/<button[^>]* data-needs="steer" data-opens="new-task"/);
  }
  const sheet = await (await ask('/static/style.css', { headers: as(role) })).text();
  expect(sheet).toMatch(/body\[data-role='look'\] \[data-needs\],[^}]*display: none/);
});

test.each([
  ['decide', 403, []],
  ['steer', 200, ['approve']],
] as const)('the role %s that changes the input of a call is answered with %i (O12)', async (role, status, reached) => {
  const input = { command: 'ls' };
  const waiting = { call: '1.1.0', inputHash: 'h', input, session: 's-1' };
  const approvals = () => Promise.resolve([waiting] as unknown as Awaited<ReturnType<PagePorts['approvals']>>);
  const { ask, done } = await stagedPage({ ports: { approvals } }, access);
  const approve = (given: unknown) => {
    const body = JSON.stringify({ call: '1.1.0', inputHash: 'h', input: JSON.stringify(given) });
    return ask('/sessions/s-1/approve', { method: 'POST', headers: as(role), body });
  };
  const changed = await approve({ command: 'rm -rf .' });
  expect([changed.status, done]).toEqual([status, reached]);
  if (status === 403)
    expect(await changed.text()).toContain(
      'to change what a call does needs the role steer, and yours is decide: nothing was done',
    );
  expect((await approve(input)).status).toBe(200);
  expect(done).toEqual([...reached, 'approve']);
});

test('what somebody does is done in their name (O12)', async () => {
  const names: unknown[] = [];
  const { ports } = await stagedPorts();
  const { ask } = await stagedPage({ ports: { as: (name) => (names.push(name), ports) } }, access);
  await ask('/sessions/s-1/interrupt', { method: 'POST', headers: as('steer'), body: '{}' });
  expect(names).toEqual(['a steerer']);
});

test('people sign in with a token that is in no address, and a stranger is led there (O12)', async () => {
  const { ask } = await stagedPage({}, access);
  const stranger = { host: HOST, cookie: '', origin: `https://${HOST}`, 'content-type': 'application/json' };
  const led = await ask('/', { headers: { ...stranger, accept: 'text/html' } });
  expect([led.status, led.headers.get('location')]).toEqual([303, '/sign-in']);
  expect((await ask('/sessions/s-1/live', { headers: stranger })).status).toBe(401);
  expect((await ask(`/?token=${token('steer')}`, { headers: stranger })).status).toBe(401);
  expect(await (await ask('/sign-in', { headers: stranger })).text()).toContain('Your token');
  const sign = (given: unknown, more: object = {}) =>
    ask('/sign-in', { method: 'POST', headers: { ...stranger, ...more }, body: JSON.stringify({ token: given }) });
  for (const wrong of ['', 'guess', 7]) expect((await sign(wrong)).status).toBe(401);
  expect((await sign(token('look'), { origin: 'https://evil.example' })).status).toBe(403);
  const entered = await sign(token('look'));
  const cookie = entered.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/^__Host-perdure=[\w.-]+; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  expect([cookie.includes(token('look')), await entered.text()]).toEqual([false, '{}']);
  const [pair = ''] = cookie.split(';');
  expect((await ask('/', { headers: { host: HOST, cookie: pair } })).status).toBe(200);
});

test('only the very host and its origin are answered, over TLS (O12)', async () => {
  const { ask } = await stagedPage({}, access);
  for (const host of ['evil.example', 'ops.example:443', 'x.ops.example', 'OPS.example'])
    expect((await ask('/', { headers: as('steer', { host }) })).status).toBe(421);
  const post = (origin: string) =>
    ask('/sessions/s-1/interrupt', { method: 'POST', headers: as('steer', { origin }), body: '{}' });
  expect((await post('http://ops.example')).status).toBe(403);
  // The cookie of a page of this machine is none here.
  expect(
    (await ask('/', { headers: as('steer', { cookie: `perdure=${newPass(token('steer'), HOST)}` }) })).status,
  ).toBe(401);
});

test('behind a proxy nobody but the proxy is answered, and it only for what came over TLS (O12)', async () => {
  const { page } = await stagedPage({}, { ...access, proxy: '10.0.0.7' });
  const ask = (remoteAddress: string, proto: string) =>
    page.app.request(
      '/',
      { headers: as('look', { 'x-forwarded-proto': proto }) },
      { incoming: { socket: { remoteAddress } } },
    );
  expect((await ask('10.0.0.7', 'https')).status).toBe(200);
  expect((await ask('::ffff:10.0.0.7', 'https')).status).toBe(200);
  for (const [peer, proto] of [
    ['10.0.0.7', 'http'],
    ['10.0.0.8', 'https'],
    ['127.0.0.1', 'https'],
  ] as const)
    expect((await ask(peer, proto)).status).toBe(403);
});

const folder = mkdtempSync(join(tmpdir(), 'perdure-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const write = (name: string, text: string, mode = 0o600): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};
const pair = { pageCert: write('cert.pem', CERT), pageKey: write('key.pem', KEY) };
const pageTokens = write('tokens.json', JSON.stringify(people));
const pageHost = HOST;

test.each<[string, HostFlags, string]>([
  ['neither TLS nor a proxy', { pageHost, pageTokens }, 'needs TLS: give --page-cert and --page-key, or'],
  ['both', { pageHost, pageTokens, ...pair, pageProxy: '10.0.0.7' }, 'needs TLS: give'],
  ['a certificate without its key', { pageHost, pageTokens, pageCert: pair.pageCert }, 'belong together'],
  ['a key that is none', { pageHost, pageTokens, ...pair, pageKey: pageTokens }, 'are no certificate and its key'],
  ['no people', { pageHost, ...pair }, 'needs people who may see it'],
  [
    'a file for everybody',
    { pageHost, ...pair, pageTokens: write('open.json', JSON.stringify(people), 0o644) },
    'chmod 600',
  ],
  [
    'a short token',
    { pageHost, ...pair, pageTokens: write('short.json', '[{"name":"a","role":"look","token":"x"}]') },
    'will not do (0.token',
  ],
  [
    'an unknown role',
    { pageHost, ...pair, pageTokens: write('role.json', '[{"name":"a","role":"root","token":"x"}]') },
    'will not do (0.role',
  ],
  [
    'one token twice',
    { pageHost, ...pair, pageTokens: write('twice.json', JSON.stringify([people[0], { ...people[0], name: 'b' }])) },
    'gives one token twice',
  ],
  [
    'somebody who is named as the token of the API',
    { pageHost, ...pair, pageTokens: write('owner.json', JSON.stringify([{ ...people[0], name: 'The  Owner.' }])) },
    'names somebody "the owner"',
  ],
  ['no file', { pageHost, ...pair, pageTokens: join(folder, 'none.json') }, 'does not exist'],
  [
    'an address for a name',
    { pageHost: 'https://ops.example/', ...pair, pageTokens },
    'give the name that people open',
  ],
  [
    'a proxy by name',
    { pageHost, pageTokens, pageProxy: 'proxy.example' },
    'give the proxy’s IP address'.replace('’', "'"),
  ],
  ['a proxy, and nowhere to listen', { pageHost, pageTokens, pageProxy: '10.0.0.7' }, 'give --page-listen'],
  ['options without a name', { ...pair }, '--page-cert means nothing without --page-host'],
])('a page for other machines with %s is refused in one sentence (O12)', (_, flags, sentence) => {
  expect(() => readPageHost(flags)).toThrow(sentence);
  expect(() => readPageHost(flags)).toThrow(/^[^\n]+$/);
});

test('people of this machine have tokens without a name; a port goes with no name for others (O12 Q11)', async () => {
  const at = { cwd: () => folder, env: { PERDURE_DATA: folder } };
  const none = { host: null, people: [], forwarders: [] };
  expect(await placeOfPage(at, { pageTokens: 'tokens.json', port: 7420 })).toEqual({ ...none, people, port: 7420 });
  expect(await placeOfPage(at, {})).toEqual(none);
  await expect(placeOfPage(at, { pageHost, pageTokens, ...pair, port: 7420 })).rejects.toThrow(
    '--port is of this machine alone: with --page-host the name has the port',
  );
});

test.each(['pageTokens', 'pageKey'] as const)(
  'a file of %s that commands could read is refused (O12)',
  async (name) => {
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    symlinkSync(pair.pageKey, join(data, `${name}.link`));
    const at = { cwd: () => folder, env: { PERDURE_DATA: data } };
    const option = name === 'pageKey' ? '--page-key' : '--page-tokens';
    // The other one lies where it should.
    const kept = { pageTokens: 'data/people.json', pageKey: 'data/other.pem' };
    writeFileSync(join(folder, kept.pageTokens), JSON.stringify(people), { mode: 0o600 });
    writeFileSync(join(folder, kept.pageKey), KEY);
    expect((await placeOfPage(at, { pageHost, ...pair, ...kept })).host).not.toBeNull();
    for (const file of ['key.pem', `data/${name}.link`, 'none.json'])
      await expect(placeOfPage(at, { pageHost, ...pair, ...kept, [name]: file })).rejects.toThrow(
        `${option} names ${join(folder, file)}, which the agent's commands can read: put it into the data folder ${data}`,
      );
  },
);

let served: ServedPage;
let port: number;
beforeAll(async () => {
  port = await findFreePort();
  const host = readPageHost({ pageHost: `${HOST}:${port}`, ...pair, pageTokens, pageListen: `127.0.0.1:${port}` });
  served = await serveHostedPage((await stagedPorts()).ports, host!);
});
afterAll(() => served.close());

test('a page with a certificate of its own is served over TLS, under its name (O12)', async () => {
  expect(served.url).toBe(`https://${HOST}:${port}/`);
  const status = await new Promise((resolve, reject) => {
    const headers = { host: `${HOST}:${port}`, cookie: `__Host-perdure=${newPass(token('look'), HOST)}` };
    const at = { host: '127.0.0.1', port, path: '/', headers, ca: CERT, servername: HOST, agent: false } as const;
    request(at, (answer) => resolve(answer.resume().statusCode))
      .once('error', reject)
      .end();
  });
  expect(status).toBe(200);
});

test('a port that another has is told in one sentence (O12)', async () => {
  const host = readPageHost({ pageHost: HOST, ...pair, pageTokens, pageListen: `127.0.0.1:${port}` });
  await expect(serveHostedPage((await stagedPorts()).ports, host!)).rejects.toThrow(
    `the page cannot listen on 127.0.0.1:${port} (something else listens there)`,
  );
});
