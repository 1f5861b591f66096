// MCP servers whose process ends before it is connected: what people are told of it, and what the
// model is.
import { describe, expect, test } from 'vitest';
import { openTestServers } from '../../support/mcp/servers.ts';
import { workingSandboxes } from '../sandboxes.ts';

describe('a server that fails at its start', () => {
  const lost = { backoffMs: 60_000, mostBackoffMs: 60_000 };

  test('has its last words in the log, without its secrets, and the model is told none of them (L74 L75)', async () => {
    const secret = 'tok-0123456789';
    const script = `printf 'Traceback\\nImportError: no module mcp (%s)\\n' "$OWN" >&2; exit 1`;
    const bad = { command: 'sh', args: ['-c', script], env: { OWN: secret } };
    for (const sandbox of await workingSandboxes()) {
      const { registry, warnings } = await openTestServers({ bad }, { sandbox, bounds: lost });
      await registry.refresh?.();
      const why = 'its process ended with status 1';
      const said = 'it said last: ImportError: no module mcp ([redacted])';
      expect(warnings).toEqual([`MCP server bad: ${why}; ${said}`]);
      expect(registry.whyMissing?.('mcp__bad__x')).toContain(`away: ${why}. It is`);
    }
  });

  test('for its program cannot be loaded is explained by its error, and not by what Node prints last (L75)', async () => {
    const { registry, warnings } = await openTestServers(
      { bad: { command: process.execPath, args: ['/no/such/server.mjs'] } },
      { bounds: lost },
    );
    await registry.refresh?.();
    expect(warnings).toEqual([
      "MCP server bad: its process ended with status 1; it said last: Error: Cannot find module '/no/such/server.mjs'",
    ]);
  });

  test('for its command is misspelt is told apart, however it is held (L75)', async () => {
    for (const command of ['no-such-program', '/no/such/program'])
      for (const sandbox of await workingSandboxes()) {
        const { registry, warnings } = await openTestServers({ none: { command } }, { sandbox, bounds: lost });
        await registry.refresh?.();
        const why = `there is no program "${command}": correct its command, or give the whole path`;
        expect(registry.whyMissing?.('mcp__none__x')).toContain(`away: ${why}. It is`);
        expect(warnings).toEqual([`MCP server none: ${why}`]);
      }
  });
});
