// Which proxy an address is asked through, by the variables that people set for curl.
import { describe, expect, test } from 'vitest';
import { describeNetwork, describeRoute } from '../../../connection/network/network.ts';
import { readProxyRules } from '../../../connection/network/proxy-rules.ts';
import { createRedactor } from '../../../worker/redact.ts';

const through = (env: Record<string, string>, url: string): string | null =>
  readProxyRules(env).proxyFor(new URL(url))?.label ?? null;

describe('a proxy', () => {
  test.each<[Record<string, string>, string, string | null]>([
    [{ HTTPS_PROXY: 'http://p:1' }, 'https://api.example', 'p:1'],
    [{ HTTPS_PROXY: 'http://p:1' }, 'http://api.example', null],
    [{ HTTP_PROXY: 'http://p:1' }, 'http://api.example', 'p:1'],
    [{ HTTP_PROXY: 'http://p:1' }, 'https://api.example', null],
    [{ https_proxy: 'http://small:1', HTTPS_PROXY: 'http://LARGE:1' }, 'https://api.example', 'small:1'],
    [{ https_proxy: '', HTTPS_PROXY: 'http://large:1' }, 'https://api.example', null],
    [{ ALL_PROXY: 'http://all:1', HTTPS_PROXY: 'http://p:1' }, 'https://api.example', 'p:1'],
    [{ ALL_PROXY: 'http://all:1', HTTPS_PROXY: 'http://p:1' }, 'http://api.example', 'all:1'],
    [{ all_proxy: 'socks5://s:1' }, 'https://api.example', null],
    [{ HTTPS_PROXY: 'p.example:3128' }, 'https://api.example', 'p.example:3128'],
    [{ HTTPS_PROXY: 'http://p.example' }, 'https://api.example', 'p.example:80'],
    [{ HTTPS_PROXY: 'https://p.example' }, 'https://api.example', 'p.example:443'],
    [{ HTTPS_PROXY: 'http://me:secret@p.example:8080/' }, 'https://api.example', 'p.example:8080'],
  ])('of %o is that for %s: %s (X5)', (env, url, proxy) => {
    expect(through(env, url)).toBe(proxy);
  });

  test.each([
    'http://localhost:8931',
    'http://127.0.0.1:8931',
    'https://127.9.9.9',
    'http://[::1]:1',
    'http://a.localhost',
  ])('never leads to %s, for its localhost is another machine (X5)', (url) => {
    expect(through({ HTTP_PROXY: 'http://p:1', HTTPS_PROXY: 'http://p:1' }, url)).toBeNull();
  });

  test.each(['socks5://p:1', 'ftp://p:1', 'http://'])(
    'that is none, such as %s, is refused by its variable (X5)',
    (value) => {
      expect(() => readProxyRules({ https_proxy: value })).toThrow(/^https_proxy is no address of an HTTP proxy/);
    },
  );

  test('wants a name and password, which are sent as they were meant, and shown nowhere (X5)', () => {
    const env = { HTTPS_PROXY: 'http://me:s%40cret%zz-canary@p.example:8080' };
    const [proxy] = readProxyRules(env).proxies;
    expect(Buffer.from(proxy?.token?.slice('Basic '.length) ?? '', 'base64').toString()).toBe('me:s%40cret%zz-canary');
    const { token: _, ...visible } = proxy ?? {};
    expect(JSON.stringify([visible, describeRoute(env, 'https://api.example')])).not.toContain('canary');
  });

  test('has a password that is taken out of failures and logs, also as it is sent (X5)', () => {
    const redact = createRedactor({ https_proxy: 'me:canary-1@p:1', HTTP_PROXY: 'http://me:canary-2@p:1' });
    const sent = Buffer.from('me:canary-1').toString('base64');
    expect(redact(`canary-1 canary-2 Basic ${sent}`)).not.toMatch(/canary|Y2FuYXJ5/);
  });
});

describe('NO_PROXY', () => {
  test.each<[string, string, boolean]>([
    ['*', 'https://api.example', true],
    ['api.example', 'https://api.example', true],
    ['API.Example', 'https://api.example', true],
    ['api.example', 'https://eu.api.example', true],
    ['api.example', 'https://myapi.example', false],
    ['.example', 'https://api.example', true],
    ['*.example', 'https://api.example', true],
    ['other, api.example', 'https://api.example', true],
    ['other api.example', 'https://api.example', true],
    ['api.example:443', 'https://api.example', true],
    ['api.example:8443', 'https://api.example', false],
    ['api.example:8443', 'https://api.example:8443', true],
    ['10.1.2.3', 'https://10.1.2.3', true],
    ['10.0.0.0/8', 'https://10.1.2.3:8443', true],
    ['10.0.0.0/8', 'https://11.1.2.3', false],
    ['10.0.0.0/33', 'https://10.1.2.3', false],
    ['10.0.0.0/8', 'https://10.example', false],
    ['fd00::/8', 'https://[fd12::1]', true],
    ['[fd12::1]:443', 'https://[fd12::1]', true],
    ['fd00::/8', 'https://[fe80::1]', false],
    ['2.3', 'https://10.1.2.3', false],
    ['', 'https://api.example', false],
  ])('of "%s" excepts %s: %s (X5)', (list, url, excepted) => {
    expect(through({ HTTPS_PROXY: 'http://p:1', NO_PROXY: list }, url)).toBe(excepted ? null : 'p:1');
  });

  test('in small letters goes first (X5)', () => {
    const env = { HTTPS_PROXY: 'http://p:1', no_proxy: '', NO_PROXY: '*' };
    expect(through(env, 'https://api.example')).toBe('p:1');
  });
});

test('people are told what is asked through what (X5)', () => {
  const env = { https_proxy: 'http://me:canary@p:1' };
  expect(describeRoute({}, 'https://api.example')).toBeUndefined();
  expect(describeRoute(env, 'https://api.example')).toBe('api.example through the proxy p:1 (https_proxy)');
  expect(describeRoute({ ...env, NO_PROXY: '*' }, 'https://api.example')).toMatch(
    /^api\.example directly, as NO_PROXY/,
  );
  expect(describeRoute(env, 'http://127.0.0.1:8931')).toBe('127.0.0.1:8931 directly, for it is this machine');
  const model = [{ what: 'the model', address: 'https://api.example' }];
  expect(describeNetwork(env, model).map(({ found }) => found)).toEqual([
    expect.stringMatching(/^the model at api\.example through the proxy p:1 \(/),
    expect.stringMatching(/^pages that web_fetch fetches: https through the proxy p:1 \(/),
  ]);
  expect(describeNetwork({ https_proxy: 'socks5://p:1', NODE_EXTRA_CA_CERTS: '/nowhere' }, model)).toEqual([
    { name: 'network', fine: false, found: expect.stringMatching(/^https_proxy is no address/) },
  ]);
  expect(describeNetwork({ NODE_EXTRA_CA_CERTS: '/nowhere' }, [])).toMatchObject([{ fine: false }]);
  expect(describeNetwork({}, model)).toEqual([]);
});
