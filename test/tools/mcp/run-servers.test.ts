// MCP servers that runs bring: what their policies say, where the worker connects for them, and how
// long it stays connected (G54).
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createRunRegistries } from '../../../tools/builtin/run-tools.ts';
import { createRegistry } from '../../../tools/registry.ts';
import { createRunServers } from '../../../tools/mcp/run-servers.ts';
import type { RunServersOptions } from '../../../tools/mcp/server-pool.ts';
import type { KnownServers } from '../../../tools/mcp/servers.ts';
import type { RunServer, ServerToolConfig } from '../../../workflows/contract/mcp-servers.ts';
import { Vaults } from '../../../store/vaults/vaults.ts';
import { tokenEndpoint } from '../../support/mcp/token-endpoint.ts';
import { memoryKeys } from '../../support/memory-keys.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { anyContext } from '../../support/mcp/servers.ts';
import { everythingAt, noSandbox, oddAddress } from '../../support/mcp/addresses.ts';
import { openServers } from '../../../tools/mcp/open-servers.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { until } from '../../support/until.ts';

const ask: ServerToolConfig = { enabled: true, policy: 'always_ask' };
const off: ServerToolConfig = { enabled: false, policy: 'always_allow' };
const brought = (name: string, url: string, more: Partial<RunServer> = {}): RunServer => ({
  name,
  url,
  config: ask,
  tools: {},
  ...more,
});

function opened(known: KnownServers, options: Partial<RunServersOptions> = {}, base = createRegistry([])) {
  const logged: string[] = [];
  const servers = createRunServers({
    env: {},
    sandbox: noSandbox,
    log: (_, line) => void logged.push(line),
    bounds: { backoffMs: 60_000, mostBackoffMs: 60_000 },
    known,
    vaults: new Vaults({ store: memoryStore(), now: Date.now, keys: memoryKeys() }),
    ...options,
  });
  onTestFinished(() => servers.close());
  const registryOf = createRunRegistries(base, { sandbox: noSandbox as never }, servers);
  const open = async (...mcpServers: readonly RunServer[]) => {
    await servers.refresh(mcpServers);
    const registry = registryOf({ mcpServers });
    const names = () => registry.definitions().map(({ name }) => name);
    return { mcpServers, registry, names, away: () => servers.away(mcpServers) };
  };
  return { open, logged };
}

const call = async (registry: ReturnType<typeof createRegistry>, name: string, input: object = {}) =>
  (await registry.get(name)?.call(input, anyContext()))?.content;

test('tools are offered as the policies say, and what is not enabled is no tool (G52 G54)', async () => {
  const { settings } = await oddAddress();
  const { open } = opened({ [settings.url]: { trusted: true } });
  const { registry, names } = await open(
    brought('odd', settings.url, {
      tools: {
        note: { enabled: true, policy: 'always_allow' },
        once: { enabled: true, policy: 'auto' },
        die: off,
      },
    }),
  );
  const judge = (name: string, allow: readonly string[] = []) => {
    const settingsOfCall = { mode: 'default', permissions: { allow }, cwd: '/' } as const;
    const prepared = prepareCall(registry, settingsOfCall, { name: `mcp__odd__${name}`, input: {} });
    return prepared.kind === 'ready' ? prepared.permission.kind : prepared.kind;
  };
  expect(names()).toContain('mcp__odd__echo');
  expect(names()).not.toContain('mcp__odd__die');
  // It only reads, as a trusted server says, and it asks all the same.
  expect([judge('echo'), judge('echo', ['mcp__odd']), judge('note')]).toEqual(['ask', 'ask', 'allow']);
  expect([judge('once'), judge('once', ['mcp__odd']), judge('die')]).toEqual(['ask', 'allow', 'invalid']);
});

test('hints count where the configuration trusts the address, and nowhere else (G54 L76)', async () => {
  const { settings } = await oddAddress();
  const auto = { config: { enabled: true, policy: 'auto' } } as const;
  const trusting = await opened({ [settings.url]: { trusted: true } }).open(brought('odd', settings.url, auto));
  const wary = await opened({ [settings.url]: {} }).open(brought('odd', settings.url, auto));
  const traits = ({ registry }: typeof wary) =>
    [registry.get('mcp__odd__echo')?.risk, registry.get('mcp__odd__once')?.recovery] as const;
  expect([traits(trusting), traits(wary)]).toEqual([
    ['read', 'rerun'],
    ['external', 'report'],
  ]);
});

test('runs that name an address alike share a connection, and the order of tools is theirs (G54 L22)', async () => {
  const odd = await oddAddress();
  const { open } = opened({ [odd.settings.url]: {} });
  const first = await open(brought('odd', odd.settings.url));
  const second = await open(brought('odd', odd.settings.url, { config: off }), brought('other', odd.settings.url));
  expect(odd.connections()).toBe(2);
  expect(first.names()).toEqual(first.names().toSorted());
  expect(second.names().every((name) => name === 'find_tools' || name.startsWith('mcp__other__'))).toBe(true);
  expect(await call(first.registry, 'mcp__odd__note')).toBe('noted note');
});

test('a server of a run takes the place of the worker’s of the same name, for that run alone (G54)', async () => {
  const [own, named] = [await oddAddress(), await everythingAt('http')];
  const { registry: base, servers } = openServers({ kit: own.settings }, createRegistry([]), {
    env: {},
    sandbox: noSandbox,
    log: () => undefined,
  });
  onTestFinished(() => servers.close());
  await servers.refresh();
  const { open } = opened({ [named.url]: {} }, {}, base);
  const { names, registry } = await open(brought('kit', named.url));
  expect(names()).toContain('mcp__kit__get-sum');
  expect(names()).not.toContain('mcp__kit__note');
  expect(await call(registry, 'mcp__kit__echo', { message: 'hi' })).toBe('Echo: hi');
  expect(base.get('mcp__kit__note')).toBeDefined();
});

test('find_tools finds tools of the run’s servers (G54 L74)', async () => {
  const { url } = await everythingAt('http');
  const { registry } = await opened({ [url]: {} }).open(brought('kit', url));
  const found = await registry.get('find_tools')?.call({ query: 'sum', limit: 5 }, anyContext());
  expect(found).toMatchObject({ found: expect.arrayContaining(['mcp__kit__get-sum']) as unknown });
});

test('headers are the configuration’s, and go to its address alone (G54)', async () => {
  const token = 'Bearer sesame-of-the-host';
  const odd = await oddAddress({ token: () => token, challenge: 'Bearer scope="notes"' });
  const { open, logged } = opened({ [odd.settings.url]: { headers: { authorization: token } } });
  const known = await open(brought('odd', odd.settings.url));
  expect(await call(known.registry, 'mcp__odd__note')).toBe('noted note');
  const { away } = await opened({
    [`${odd.settings.url}x`]: { headers: { authorization: token } },
    [odd.settings.url]: {},
  }).open(brought('odd', odd.settings.url));
  expect(away()).toMatchObject([{ server: 'odd', unauthorized: true }]);
  expect(away()[0]?.detail).toContain('it wants a login');
  expect(odd.seen).toContain(undefined);
  expect(JSON.stringify([logged, away()])).not.toContain('sesame');
});

test('an address that the configuration does not name is public, or is not connected to (G54 L86)', async () => {
  const odd = await oddAddress();
  const { port } = new URL(odd.settings.url);
  const rebound = `http://public.example:${port}/mcp`;
  const lookup: RunServersOptions['lookup'] = ((_name: string, _how: object, done: (...all: unknown[]) => void) =>
    done(null, [{ address: '127.0.0.1', family: 4 }])) as never;
  const { open } = opened({}, { lookup });
  for (const url of [odd.settings.url, `http://[::ffff:127.0.0.1]:${port}/mcp`, rebound, 'http://169.254.169.254/']) {
    const { away, names } = await open(brought('odd', url));
    expect(away()).toMatchObject([{ server: 'odd', unauthorized: false }]);
    expect(away()[0]?.detail).toContain('no address of the public internet');
    expect(away()[0]?.detail).toContain('managed.mcpServers');
    expect(names()).toEqual([]);
  }
  expect(odd.connections()).toBe(0);
  expect((await opened({ [rebound]: {} }).open(brought('odd', rebound))).away()[0]?.detail).not.toContain(
    'public internet',
  );
});

test('a server at a public address is spoken with over connections to the address that was judged (G54 L86)', async () => {
  const { url } = await everythingAt('http');
  const { port } = new URL(url);
  const asked: string[] = [];
  // The range stands for the public internet here.
  const lookup: RunServersOptions['lookup'] = ((name: string, _how: object, done: (...all: unknown[]) => void) => {
    asked.push(name);
    done(null, [{ address: '127.0.0.1', family: 4 }]);
  }) as never;
  const { open } = opened({}, { lookup, fakeIpRanges: ['127.0.0.0/8'] });
  const { registry, away } = await open(brought('kit', `http://tools.example:${port}/mcp`));
  expect(away()).toEqual([]);
  expect(await call(registry, 'mcp__kit__echo', { message: 'hi' })).toBe('Echo: hi');
  expect(new Set(asked)).toEqual(new Set(['tools.example']));
});

test('a connection that nothing uses ends, and the next call has another (G54)', async () => {
  const odd = await oddAddress();
  const { open } = opened({ [odd.settings.url]: {} }, { idleMs: 1 });
  const { registry, names, away, mcpServers } = await open(brought('odd', odd.settings.url));
  const before = names();
  await until(async () => {
    if (odd.connections() > 1) return true;
    await new Promise((resolve) => setImmediate(resolve));
    return (await call(registry, 'mcp__odd__note')) === 'noted note' && odd.connections() > 1;
  });
  expect([names(), away(), mcpServers.length]).toEqual([before, [], 1]);
});

test('a public server whose answer no program can read is away, and harms nobody else', async () => {
  const server = createServer((socket) => socket.end('HTTP/1.1 999 Denied\r\ncontent-length: 0\r\n\r\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const lookup: RunServersOptions['lookup'] = ((_name: string, _how: object, done: (...all: unknown[]) => void) =>
    done(null, [{ address: '127.0.0.1', family: 4 }])) as never;
  const { open } = opened({}, { lookup, fakeIpRanges: ['127.0.0.0/8'] });
  const { away } = await open(brought('odd', `http://odd.example:${port}/mcp`));
  expect(away()).toMatchObject([{ server: 'odd' }]);
  expect(away()[0]?.detail).not.toContain('public internet');
});

const dates = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', archived_at: null };

/** Vaults of this process, each with a bearer token for the address. */
async function vaultsWith(url: string, tokens: Readonly<Record<string, string>>) {
  const vaults = new Vaults({ store: memoryStore(), now: Date.now, keys: memoryKeys() });
  const auth = { type: 'static_bearer', mcp_server_url: url } as const;
  const idOf = (name: string): string => `vlt_${name.padEnd(26, '0')}`;
  const put = async (name: string, token: string, version = 1): Promise<void> => {
    const [vault, id] = [idOf(name), `vcrd_${name}`];
    const secret = await vaults.writeSecrets({ vault, id }, auth, { token });
    const item = { ...dates, display_name: null, metadata: {}, auth, secret, version };
    await vaults.credentials(vault).append('ana', () => ({ id, item }));
  };
  for (const [name, token] of Object.entries(tokens)) {
    await vaults.heads.append('ana', () => ({ id: idOf(name), item: { ...dates, display_name: name, metadata: {} } }));
    await put(name, token);
  }
  const remove = (name: string) =>
    vaults.credentials(idOf(name)).append('ana', () => ({ id: `vcrd_${name}`, item: null }));
  return { vaults, idOf, put, remove };
}

test('each credential has a connection of its own, and the first vault that has one wins (G65)', async () => {
  const odd = await oddAddress();
  const { url } = odd.settings;
  const { vaults, idOf } = await vaultsWith(url, { ana: 'sesame-ana', ben: 'sesame-ben' });
  const { open } = opened({ [url]: { headers: { authorization: 'Bearer of-the-host', 'x-team': 'a' } } }, { vaults });
  const withVaults = (...names: string[]) => open(brought('odd', url, { vaults: names.map(idOf) }));
  const last = () => odd.seen.at(-1);
  const [ana, ben] = [await withVaults('ana'), await withVaults('ben')];
  const both = await withVaults('none', 'ben', 'ana');
  const host = await open(brought('odd', url));
  expect(odd.connections()).toBe(3);
  for (const [{ registry }, token] of [
    [ana, 'Bearer sesame-ana'],
    [ben, 'Bearer sesame-ben'],
    [both, 'Bearer sesame-ben'],
    [host, 'Bearer of-the-host'],
    [await withVaults('none'), 'Bearer of-the-host'],
  ] as const) {
    expect(await call(registry, 'mcp__odd__note')).toBe('noted note');
    expect(last()).toBe(token);
  }
});

test('a credential that was changed or deleted is looked at again before the next reply (G65)', async () => {
  let accepted = 'Bearer sesame-old';
  const odd = await oddAddress({ token: () => accepted });
  const { url } = odd.settings;
  const { vaults, idOf, put, remove } = await vaultsWith(url, { ana: 'sesame-old' });
  const { open, logged } = opened({ [url]: {} }, { vaults });
  const { mcpServers, registry, away } = await open(brought('odd', url, { vaults: [idOf('ana')] }));
  expect(away()).toEqual([]);
  accepted = 'Bearer sesame-new';
  await put('ana', 'sesame-new', 2);
  const refreshed = () => until(async () => (await registry.refresh?.(), odd.connections() === 2));
  await refreshed();
  expect(odd.seen.at(-1)).toBe('Bearer sesame-new');
  await remove('ana');
  await until(async () => (await registry.refresh?.(), away().length === 1));
  expect(away()).toMatchObject([{ server: 'odd', unauthorized: true }]);
  expect(odd.seen.at(-1)).toBeUndefined();
  expect(JSON.stringify([logged, away(), mcpServers])).not.toContain('sesame');
});

test('a refused token of a vault, or vaults that cannot be read, are named and not shown (G65)', async () => {
  const odd = await oddAddress({ token: () => 'Bearer other' });
  const { url } = odd.settings;
  const { vaults, idOf } = await vaultsWith(url, { ana: 'sesame-ana' });
  const { open, logged } = opened({ [url]: {} }, { vaults });
  const refused = await open(brought('odd', url, { vaults: [idOf('ana')] }));
  expect(refused.away()).toMatchObject([{ unauthorized: true }]);
  expect(refused.away()[0]?.detail).toContain('it does not accept the token of credential vcrd_ana');
  const away = { ...memoryStore(), read: () => Promise.reject(new Error('the store is away')) };
  const unread = opened({ [url]: {} }, { vaults: new Vaults({ store: away, now: Date.now, keys: undefined }) });
  const { away: unreadAway } = await unread.open(brought('odd', url, { vaults: [idOf('ana')] }));
  expect(unreadAway()[0]).toMatchObject({ unauthorized: true });
  expect(unreadAway()[0]?.detail).toContain('the vaults of the session could not be read');
  expect(odd.seen).not.toContain(undefined);
  expect(JSON.stringify([logged, refused.away()])).not.toContain('sesame');
});

test('a token that a server refuses is refreshed, and the call goes on with the new one (G65)', async () => {
  const endpoint = await tokenEndpoint({ expiresIn: 3_600 });
  let accepted = 'Bearer access-1';
  const odd = await oddAddress({ token: () => accepted });
  const { url } = odd.settings;
  const { vaults, idOf } = await vaultsWith(url, { ana: 'x' });
  const [vault, id] = [idOf('ana'), 'vcrd_ana'];
  const refresh = {
    client_id: 'perdure',
    token_endpoint: endpoint.url,
    token_endpoint_auth: { type: 'none' },
    resource: null,
    scope: null,
  } as const;
  const auth = { type: 'mcp_oauth', mcp_server_url: url, expires_at: null, refresh } as const;
  const secret = await vaults.writeSecrets({ vault, id }, auth, { token: 'access-1', refreshToken: 'refresh-1' });
  const item = { ...dates, display_name: null, metadata: {}, auth, secret, version: 2 };
  await vaults.credentials(vault).append('ana', () => ({ id, item }));
  const { open } = opened({ [url]: {} }, { vaults });
  const { registry } = await open(brought('odd', url, { vaults: [vault] }));
  accepted = 'Bearer access-2';
  expect(await call(registry, 'mcp__odd__note')).toBe('noted note');
  expect([odd.connections(), endpoint.asked.length]).toEqual([1, 1]);
});
