// MCP programs that print to their standard output what is no message, as processes (F11).
import { expect, test } from 'vitest';
import { noSandbox } from '../../support/mcp/addresses.ts';
import { openTestServers } from '../../support/mcp/servers.ts';
import { until } from '../../support/until.ts';

/** A server of one tool, whose answers go through `write`, a function in source. */
function printing(write: string, more = {}) {
  const script = `
    const write = ${write};
    const say = (id, result) => write(JSON.stringify({ jsonrpc: '2.0', id, result }), id);
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      const info = { capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } };
      if (method === 'initialize') say(id, { protocolVersion: params.protocolVersion, ...info });
      else if (method === 'tools/list') say(id, { tools: [{ name: 'ping', inputSchema: { type: 'object' } }] });
      else if (id !== undefined) say(id, { content: [{ type: 'text', text: 'pong' }] });
    });`;
  return { command: process.execPath, args: ['-e', script], ...more };
}

const opened = async (server: ReturnType<typeof printing>) =>
  await openTestServers({ odd: server }, { sandbox: noSandbox, bounds: { listMs: 60_000 } });

test('one that prints in front of its answers is understood, and its person is told once', async () => {
  const { registry, call, warnings } = await opened(printing('(text) => console.log("Loading... " + text)'));
  await registry.refresh?.();
  expect((await call('mcp__odd__ping')).content).toBe('pong');
  expect(warnings).toEqual([
    'MCP server odd: it prints "Loading..." in front of an answer: only messages belong on its standard output',
  ]);
});

test('one that begins with a byte order mark is understood, and nothing is said of it', async () => {
  const { registry, call, warnings } = await opened(printing('(text) => console.log("\\uFEFF" + text)'));
  await registry.refresh?.();
  expect((await call('mcp__odd__ping')).content).toBe('pong');
  expect(warnings).toEqual([]);
});

test('one that prints megabytes without the end of a line is told of while it does', async () => {
  const endless = '(text) => { for (let n = 0; n < 9; n += 1) process.stdout.write("#".repeat(2 ** 20)) }';
  const { registry, warnings } = await opened(printing(endless));
  void registry.refresh?.();
  await until(() => warnings.length > 0);
  expect(warnings[0]).toMatch(/^MCP server odd: it printed \d+ bytes without the end of a line, from "#+…" on: each/);
});

test('a call whose answer is garbled says what came instead', async () => {
  const garbled = '(text, id) => console.log(id < 2 ? text : "Traceback: " + text.slice(5))';
  const { registry, call } = await opened(printing(garbled, { timeoutMs: 2_000 }));
  await registry.refresh?.();
  await expect(call('mcp__odd__ping')).rejects.toThrow(
    /it did not answer within 2000 ms; it printed "Traceback: .*pong.*": only messages belong on its standard output\. It may/,
  );
});
