// Credentials of MCP servers at an address, and what becomes of a run without them (L34, L74).
import { describe, expect, test } from 'vitest';
import type { McpServers } from '../../../tools/mcp/servers.ts';
import { FatalToolFailure } from '../../../tools/tool.ts';
import { noSandbox, oddAddress } from '../../support/mcp/addresses.ts';
import { openTestServers } from '../../support/mcp/servers.ts';

async function opened(servers: McpServers, bounds = {}) {
  const all = await openTestServers(servers, { sandbox: noSandbox, bounds });
  await all.registry.refresh?.();
  return all;
}

describe('credentials (L74)', () => {
  test('headers go with every request', async () => {
    const { settings, seen } = await oddAddress({}, { headers: { authorization: 'Bearer 1' } });
    const { call } = await opened({ odd: settings });
    await call('mcp__odd__note');
    expect(new Set(seen)).toEqual(new Set(['Bearer 1']));
  });

  test('a function for headers is asked once a connection, and again when the server answers 401', async () => {
    let [valid, asked] = ['Bearer 1', 0];
    const { settings, seen } = await oddAddress(
      { token: () => valid },
      { headers: () => Promise.resolve({ authorization: `Bearer ${(asked += 1)}` }) },
    );
    const { call } = await opened({ odd: settings });
    await call('mcp__odd__note');
    expect(asked).toBe(1);
    valid = 'Bearer 2';
    expect((await call('mcp__odd__note')).content).toBe('noted note');
    expect([asked, seen.at(-1)]).toEqual([2, 'Bearer 2']);
  });

  test('a function that fails leaves the server away, and says why', async () => {
    const headers = (): Promise<never> => Promise.reject(new Error('the token service is down'));
    const { settings } = await oddAddress({}, { headers });
    const { registry } = await opened({ odd: settings }, { backoffMs: 60_000, mostBackoffMs: 60_000 });
    expect(registry.whyMissing?.('mcp__odd__note')).toContain('the token service is down');
  });

  test('a call on a connection that lacks them now ends the run where the configuration says so (L34)', async () => {
    let valid = 'Bearer 1';
    const headers = { authorization: 'Bearer 1' };
    const { settings } = await oddAddress({ token: () => valid }, { headers, missingCredentials: 'end' });
    const { call } = await opened({ odd: settings }, { backoffMs: 60_000, mostBackoffMs: 60_000 });
    await call('mcp__odd__note');
    valid = 'Bearer 2';
    await expect(call('mcp__odd__note')).rejects.toBeInstanceOf(FatalToolFailure);
    // It is not connected again yet, and why has not changed.
    await expect(call('mcp__odd__note')).rejects.toBeInstanceOf(FatalToolFailure);
  });

  test('headers that cannot be had are missing credentials, another failure is not (L34)', async () => {
    const slow = { backoffMs: 60_000, mostBackoffMs: 60_000 };
    const headers = (): Promise<never> => Promise.reject(new Error('the token service is down'));
    const { settings } = await oddAddress({}, { headers, missingCredentials: 'end' });
    const gone = { ...settings, url: 'http://127.0.0.1:1/mcp', headers: {} };
    const { registry } = await opened(
      { odd: settings, gone, told: { ...settings, missingCredentials: 'tell' as const } },
      slow,
    );
    expect(['odd', 'gone', 'told'].map((name) => registry.endsRun?.(`mcp__${name}__note`))).toEqual([
      true,
      false,
      false,
    ]);
  });

  const metadata = 'https://shop.example/.well-known/oauth-protected-resource';
  const slow = { backoffMs: 60_000, mostBackoffMs: 60_000 };

  test('a server that wants a login is away, and says what to do and where tokens come from (L75)', async () => {
    const challenge = `Bearer resource_metadata="${metadata}", scope="tools read"`;
    const { settings } = await oddAddress({ token: () => 'Bearer x', challenge });
    const { registry } = await opened({ odd: settings }, slow);
    const remedy = "put a token into its configuration, as headers: { authorization: 'Bearer …' }";
    expect(registry.whyMissing?.('mcp__odd__note')).toContain(
      `is away: it wants a login (HTTP status 401: no): ${remedy}; its token needs the scope "tools read"; ${metadata} names the server that issues tokens. It is`,
    );
  });

  test('a server that refuses a token in its headers says so, and a call that it refuses has not run (L75)', async () => {
    let valid = 'Bearer 1';
    const challenge = `Bearer error="invalid_token", error_description="it expired", resource_metadata=${metadata}`;
    const { settings } = await oddAddress(
      { token: () => valid, challenge },
      { headers: { authorization: 'Bearer 1' } },
    );
    const { call } = await opened({ odd: settings }, slow);
    valid = 'Bearer 2';
    await expect(call('mcp__odd__note')).rejects.toThrow(
      `Not run: the MCP server odd refused it: it does not accept the \`headers\` of its configuration (HTTP status 401: it expired): renew the token there; ${metadata} names`,
    );
  });
});
