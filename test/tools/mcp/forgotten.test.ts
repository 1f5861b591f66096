// MCP servers at an address that have forgotten a session: a new one is begun, and what was asked is
// asked again (L75).
import { describe, expect, test } from 'vitest';
import { noSandbox, oddAddress, forgetfulEverythingAt } from '../../support/mcp/addresses.ts';
import { openTestServers } from '../../support/mcp/servers.ts';
import { until } from '../../support/until.ts';

const said = (message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null });

/** Answers as servers give them, with where they are from. */
const answers = [
  ['the protocol', 404, ''],
  ['the TypeScript SDK', 404, said('Session not found')],
  ['its examples', 400, said('Bad Request: No valid session ID provided')],
  ['one of them, started again', 400, said('Bad Request: Server not initialized')],
  ['the Python SDK, before', 400, said('Bad Request: No valid session ID provided')],
  ['mcp-go, before', 400, 'Invalid session ID'],
  ['rmcp', 401, 'Unauthorized: Session not found'],
  ['others', 503, said('Unknown or expired session')],
] as const;

async function opened(unknown: { readonly status: number; readonly body: string }, bounds = {}) {
  const odd = await oddAddress({ unknown });
  const all = await openTestServers({ odd: odd.settings }, { sandbox: noSandbox, bounds });
  await all.registry.refresh?.();
  return { ...odd, ...all };
}

test.each(answers)('by the answer of %s (%d): the call runs once, in a new session (L75)', async (_, status, body) => {
  const { call, forget, called, connections, warnings } = await opened({ status, body });
  await call('mcp__odd__note');
  forget();
  const both = await Promise.all([call('mcp__odd__note'), call('mcp__odd__note')]);
  expect(both.map(({ content }) => content)).toEqual(['noted note', 'noted note']);
  expect([called, connections()]).toEqual([['s-1', 's-2', 's-2'], 2]);
  expect(warnings).toEqual([]);
});

test.each([
  [400, 'the sum is wrong'],
  [400, 'a session of two hours is too long'],
])('another answer of %d is the refusal of one call (%s)', async (status, body) => {
  const { call, forget, connections } = await opened({ status, body });
  forget();
  await expect(call('mcp__odd__note')).rejects.toThrow(`refused it: Error POSTing to endpoint: ${body}`);
  expect(connections()).toBe(1);
});

test('a list that meets a forgotten session comes from a new one', async () => {
  const { registry, forget, connections } = await opened({ status: 400, body: 'no such session' }, { pollMs: 1 });
  forget();
  await until(async () => {
    await registry.refresh?.();
    return connections() === 2 && registry.get('mcp__odd__note') !== undefined;
  });
});

test('a server that forgets each session at once is away for a while, and its calls have not run', async () => {
  const odd = await opened({ status: 404, body: '' }, { backoffMs: 60_000, mostBackoffMs: 60_000 });
  odd.forget(true);
  for (const _ of [1, 2])
    await expect(odd.call('mcp__odd__note')).rejects.toThrow('Not run: The MCP server odd is away: Error POSTing');
  expect([odd.called, odd.connections()]).toEqual([[], 2]);
});

describe.each(['http', 'sse'] as const)('server-everything over %s, started again at its address', (type) => {
  test('serves the next call in a new session', async () => {
    const { settings, forget } = await forgetfulEverythingAt(type);
    const { registry, call, names } = await openTestServers({ every: settings }, { sandbox: noSandbox });
    await registry.refresh?.();
    await until(() => names().length > 5);
    expect((await call('mcp__every__echo', { message: 'one' })).content).toBe('Echo: one');
    forget();
    expect((await call('mcp__every__echo', { message: 'two' })).content).toBe('Echo: two');
  });
});
