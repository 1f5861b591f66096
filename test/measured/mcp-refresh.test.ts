// What MCP servers add to an iteration in which nothing of their lists has changed. Alone on the
// machine: it is a measurement.
import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { atBest } from '../support/at-best.ts';
import { oddServer, openTestServers, packagedServer } from '../support/mcp/servers.ts';
import { until } from '../support/until.ts';

test('a refresh in which nothing changed takes at most 5 ms (L44 L75)', async () => {
  const servers = {
    odd: oddServer(),
    quiet: oddServer({ quiet: true }),
    every: packagedServer('server-everything', 'stdio'),
  };
  const { registry, names } = await openTestServers(servers, { bounds: { pollMs: 1 } });
  await until(async () => {
    await registry.refresh?.();
    return Object.keys(servers).every((server) => names().some((name) => name.startsWith(`mcp__${server}__`)));
  });
  const refresh = async (): Promise<number> => {
    const before = performance.now();
    await registry.refresh?.();
    registry.definitions();
    return performance.now() - before;
  };
  expect(await atBest(5, 40, refresh)).toBeLessThanOrEqual(5);
});
