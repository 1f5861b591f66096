// A server that FastMCP made, the framework that most servers in Python are written with: as a
// process, at an address, and broken.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../../worker/embedded/free-port.ts';
import { openTestServers } from '../support/mcp/servers.ts';
import { until } from '../support/until.ts';
import { installPackages } from './python-packages.ts';

const script = join(import.meta.dirname, 'fastmcp/server.py');
const { python, isMissing } = installPackages(['fastmcp==4.2.3']);

const answers = () => Promise.resolve({ action: 'accept' as const, content: { value: 'large' } });

async function atAddress() {
  const port = await findFreePort();
  const child = spawn(python, [script, String(port)], { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
  await until(() => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${said}`);
    return said.includes('Uvicorn running');
  });
  return { type: 'http' as const, url: `http://127.0.0.1:${port}/mcp`, answers };
}

const ways = {
  'as a process': () => Promise.resolve({ command: python, args: [script], answers }),
  'at an address': atAddress,
};

/** Python takes its time to load it, and on a busy machine more than a server is waited for. */
const isSlow = (warning: string): boolean => warning.includes('was not ready within');

describe('a server of FastMCP', () => {
  test.each(Object.entries(ways))('%s tells a result once, and what it asks is answered (L75 L77)', async (_, way) => {
    if (isMissing()) return;
    const { registry, names, call, warnings } = await openTestServers({ shop: await way() });
    await until(async () => {
      if (!warnings.every(isSlow)) throw new Error(warnings.join('\n'));
      await registry.refresh?.();
      return names().includes('mcp__shop__confirm');
    });
    expect((await call('mcp__shop__add', { a: 1, b: 2 })).content).toBe('3');
    expect((await call('mcp__shop__confirm')).content).toBe('accept: large');
  });

  test('that fails at its start has its last words in the log (L75)', async () => {
    if (isMissing()) return;
    const shop = { command: python, args: [script], env: { BROKEN: 'yes' } };
    const { registry, warnings } = await openTestServers(
      { shop },
      { bounds: { backoffMs: 60_000, mostBackoffMs: 60_000 } },
    );
    await registry.refresh?.();
    await until(() => warnings.some((warning) => !isSlow(warning)));
    expect(warnings.filter((warning) => !isSlow(warning))).toEqual([
      'MCP server shop: its process ended with status 1; it said last: RuntimeError: the shop has no database',
    ]);
  });
});
