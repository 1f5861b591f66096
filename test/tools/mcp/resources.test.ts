// Resources of servers, by one tool (L77).
import { expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { everythingAt, noSandbox, oddAddress } from '../../support/mcp/addresses.ts';
import { openTestServers } from '../../support/mcp/servers.ts';

test('a server’s resources are listed and read, and a server without any is named as such (L77)', async () => {
  const servers = { every: await everythingAt('http'), odd: (await oddAddress()).settings };
  const { registry, names, call } = await openTestServers(servers, { sandbox: noSandbox });
  await registry.refresh?.();
  await until(() => names().includes('mcp_resources'));
  const { content } = await call('mcp_resources', { server: 'every' });
  const uri = /^(demo:\S+): /m.exec(content)?.[1];
  expect(content).toContain('(a template)');
  expect((await call('mcp_resources', { server: 'every', uri })).content).toMatch(/^\(resource demo:/);
  await expect(call('mcp_resources', { server: 'every', uri: 'none://x' })).rejects.toThrow(/refused it/);
  await expect(call('mcp_resources', { server: 'odd' })).rejects.toThrow(
    'No MCP server "odd" has resources: every may.',
  );
});

test('a call in a worker whose servers are not connected yet waits for the one that it is about (L44 L77)', async () => {
  let connect = (): void => undefined;
  const slow = new Promise<void>((resolve) => (connect = resolve));
  const every = { ...(await everythingAt('http')), headers: () => slow.then(() => ({})) };
  const servers = { every, odd: (await oddAddress()).settings };
  const { registry } = await openTestServers(servers, { sandbox: noSandbox });
  expect(registry.whyMissing?.('mcp_resources')).toMatch(/no MCP server with resources is connected yet/);
  const arriving = registry.arrive?.('mcp_resources', new AbortController().signal);
  connect();
  await arriving;
  expect(registry.get('mcp_resources')).toBeDefined();
});

test('the tool is offered only while a server has resources, and reads unasked only of one that is trusted (L76 L77)', async () => {
  const { names, registry } = await openTestServers({ odd: (await oddAddress()).settings }, { sandbox: noSandbox });
  await registry.refresh?.();
  expect(names()).not.toContain('mcp_resources');
  for (const [trusted, risk] of [
    [false, 'external'],
    [true, 'read'],
  ] as const) {
    const every = { ...(await everythingAt('http')), trusted };
    const opened = await openTestServers({ every }, { sandbox: noSandbox });
    await opened.registry.refresh?.();
    await until(() => opened.names().includes('mcp_resources'));
    const tool = opened.registry.get('mcp_resources');
    const judge = tool?.risk as (input: object, context: object) => string;
    expect(judge({ server: 'every' }, {})).toBe(risk);
    expect(tool?.subject?.({ server: 'every' }, { cwd: '/', dir: '/' })).toEqual({ kind: 'name', name: 'every' });
  }
});
