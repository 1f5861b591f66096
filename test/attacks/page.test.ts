// The page over real HTTP: asked under other names, with what a browser sends elsewhere, and for
// paths that lead away.
import { request } from 'node:http';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forwardersOf } from '../../page/hosting/page-host.ts';
import { openAddress, newAddress } from '../../page/page-address.ts';
import { type ServedPage, servePage } from '../../page/serve-page.ts';
import { basic, stagedPorts } from '../support/page-ports.ts';
import { tempDir } from '../support/temp-dir.ts';

const { ports } = await stagedPorts();

let page: ServedPage;
let url: URL;
const code = (): string => new URL(page.entrance()).searchParams.get('code') ?? '';
let inside: string;

beforeAll(async () => {
  page = await servePage(ports);
  url = new URL(page.url);
  const answer = await ask('/sign-in', { origin: url.origin, body: JSON.stringify({ token: code() }) });
  inside = basic((JSON.parse(answer.text) as { readonly pass: string }).pass);
});
afterAll(() => page.close());

type Asked = {
  readonly host?: string;
  /** As a browser sends it that was let in. */
  readonly authorization?: string;
  readonly address?: string;
  readonly port?: string | number;
  readonly more?: Readonly<Record<string, string>>;
  /** Of a page that posts. */
  readonly origin?: string;
  readonly body?: string;
};
type Answer = { readonly status: number; readonly headers: Readonly<Record<string, unknown>>; readonly text: string };

/** As a browser sends it, at any name: the path goes out as it is written. */
function ask(path: string, asked: Asked = {}): Promise<Answer> {
  const { host = url.host, authorization, address = '127.0.0.1', port = url.port, origin, body = '', more } = asked;
  const posts = origin === undefined ? {} : { origin, 'content-type': 'application/json' };
  const headers = { host, ...(authorization === undefined ? {} : { authorization }), ...posts, ...more };
  const method = origin === undefined ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const sent = request({ host: address, port, path, method, headers, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    sent.once('error', reject).end(body);
  });
}

test('has a name of its own and no cookie, so that nothing goes to another port of this machine', async () => {
  expect(url.hostname).toMatch(/^perdure-[0-9a-f]{16}\.localhost$/);
  const other = await servePage(ports);
  expect(new URL(other.url).hostname).not.toBe(url.hostname);
  await other.close();
  const entered = await ask('/sign-in', { origin: url.origin, body: JSON.stringify({ token: code() }) });
  expect([entered.status, entered.headers['set-cookie']]).toEqual([200, undefined]);
  expect((await ask('/', { authorization: inside })).status).toBe(200);
});

test('gives nothing under any other name, not even to who is let in: no redirect, not its own name', async () => {
  const { port, hostname } = url;
  const others = ['127.0.0.2', 'localhost.', 'x.localhost', `x.${hostname}`, `${hostname}.`, 'evil.example', '0.0.0.0'];
  const hosts = [
    ...others.map((name) => `${name}:${port}`),
    `${hostname}:x`,
    'localhost:x',
    'localhost@evil.example',
    `${url.host}.evil.example`,
  ];
  for (const host of hosts) {
    for (const path of [`/?code=${code()}`, '/', '/static/style.css', '/nowhere', '/sign-in', '/entered']) {
      const answer = await ask(path, { host, authorization: inside });
      // 400: not a host at all.
      expect([host, [400, 421].includes(answer.status)]).toEqual([host, true]);
      if (answer.status === 421)
        expect(answer.text).toMatch(/^this name is not one of the page: .* see --page-forwarded and --page-host/);
      expect(answer.headers['set-cookie'] ?? answer.headers['location']).toBeUndefined();
      expect(JSON.stringify(answer)).not.toContain(url.hostname);
    }
  }
});

test('is there through a forwarded port, under its own name and loopback ones, to who is let in; another port may not post', async () => {
  const authorization = inside;
  for (const name of [url.hostname, 'localhost', '127.0.0.1', '[::1]']) {
    for (const host of [name, `${name}:9000`]) {
      expect((await ask('/', { host })).status).toBe(401);
      expect((await ask('/', { host, authorization })).status).toBe(200);
    }
    const post = (origin: string) => ask('/nowhere', { host: `${name}:9000`, authorization, origin });
    expect((await post(`http://${name}:9000`)).status).toBe(404);
    expect((await post(`https://${name}:9000`)).status).toBe(404);
    for (const other of [`http://${name}:8000`, `http://${name}`, 'http://localhost:3000', 'https://evil.example'])
      expect([other, (await post(other)).status]).toEqual([other, 403]);
  }
});

test('is there under the names of a cloud workspace’s forwarder, and under no other workspace’s', async () => {
  const forwarders = forwardersOf({
    CODESPACES: 'true',
    CODESPACE_NAME: 'fuzzy-train',
    GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN: 'app.github.dev',
  });
  const kept = { address: newAddress(), keep: () => undefined, letGo: () => undefined };
  const served = await servePage(ports, kept, { forwarders });
  const port = Number(new URL(served.url).port);
  const name = `fuzzy-train-${port}.app.github.dev`;
  expect(new URL(served.entrance()).origin).toBe(`https://${name}`);
  const token = new URL(served.entrance()).searchParams.get('code') ?? '';
  // The forwarder puts its own end in place of the name that the browser knows, in one header or in
  // both.
  const rewritten = [`http://localhost:${port}`, `https://localhost:${port}`];
  const enter = (host: string, origin: string, body = '{}') => ask('/sign-in', { host, port, origin, body });
  for (const host of [name, 'localhost', `localhost:${port}`])
    for (const origin of rewritten)
      expect([host, origin, (await enter(host, origin)).status]).toEqual([host, origin, 401]);
  expect((await enter(name, `https://${name}`, JSON.stringify({ token }))).status).toBe(200);
  for (const origin of ['https://evil.example', `https://fuzzy-train-3000.app.github.dev`, 'http://localhost:3000'])
    expect([origin, (await enter(name, origin)).status]).toEqual([origin, 403]);
  for (const host of [`other-${port}.app.github.dev`, `fuzzy-train-${port + 1}.app.github.dev`, `${name}.evil.example`])
    expect((await ask('/sign-in', { host, port })).status).toBe(421);
  const forged = { host: 'evil.example', port, more: { 'x-forwarded-host': name } };
  expect((await ask('/sign-in', forged)).status).toBe(421);
  await served.close();
});

test('a code that was used opens neither the same page again nor the next process of its data folder', async () => {
  const root = tempDir();
  let used = '';
  for (const status of [200, 401]) {
    const served = await servePage(ports, openAddress(root));
    const { host, port, origin } = new URL(served.url);
    used ||= new URL(served.entrance()).searchParams.get('code') ?? '';
    const enter = () => ask('/sign-in', { host, port, origin, body: JSON.stringify({ token: used }) });
    expect([(await enter()).status, (await enter()).status]).toEqual([status, 401]);
    await served.close();
  }
});

test.each([
  '//evil.example/',
  '/%09/evil.example/',
  '/%0a/evil.example',
  '/%0d%0a/evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/%5cevil.example',
  '/%2f/evil.example',
  '/%2509/evil.example',
  '/.//evil.example',
  '/sessions/..%2f%2fevil.example',
  '/sessions//evil.example',
  '/sessions/s-1/..//evil.example',
  '/sessions/%09',
  'http://evil.example/',
])('leads from %s to no other site', async (path) => {
  const { status, headers } = await ask(`${path}?code=${code()}`, { authorization: inside });
  // 400 and 421: refused, and led nowhere.
  if (status === 303) expect(headers['location']).toBe('/');
  else expect([[400, 421].includes(status), headers['location']]).toEqual([true, undefined]);
});

test('leads to the session that was asked for', async () => {
  const { headers } = await ask(`/sessions/s-1?code=${code()}`, { authorization: inside });
  expect(headers['location']).toBe('/sessions/s-1');
});

test('leaves nobody the same port of the other loopback address, which a browser may try first', async () => {
  const taken = await new Promise<string>((resolve) => {
    const other = createServer();
    other.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    other.listen({ host: '::1', port: Number(url.port), exclusive: true }, () => other.close(() => resolve('free')));
  });
  // EADDRNOTAVAIL or EAFNOSUPPORT: there is no IPv6 here, for nobody.
  expect(['EADDRINUSE', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']).toContain(taken);
  if (taken === 'EADDRINUSE') expect((await ask('/', { address: '::1' })).status).toBe(401);
});
