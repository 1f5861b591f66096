// A configuration may name MCP servers, and a wrong entry is reported.
import { expect, test } from 'vitest';
import { checkConfig, ConfigProblem } from '../../worker/config/config.ts';

test('programs and addresses, with all they may have (L74)', () => {
  const mcpServers = {
    files: {
      command: 'npx',
      args: ['-y', 'x'],
      env: { A: '1' },
      cwd: '/',
      trusted: true,
      timeoutMs: 1,
      connectTimeoutMs: 1,
    },
    shop: { type: 'http', url: 'https://shop.example/mcp', headers: () => ({}) },
    'old_one-2': {
      type: 'sse',
      url: 'http://localhost:1/sse',
      headers: { authorization: 'x' },
      missingCredentials: 'end',
    },
  };
  expect(checkConfig({ mcpServers }, 'f')).toEqual({ mcpServers });
});

const nameRight = 'give 1 to 32 letters, digits, "-" or "_", no two "_" together and none at an end';

test.each([
  ['a name with two underscores', { a__b: { command: 'x' } }, `a key of "mcpServers" is "a__b": ${nameRight}`],
  ['a name that ends with one', { a_: { command: 'x' } }, `a key of "mcpServers" is "a_": ${nameRight}`],
  ['a program without a command', { a: {} }, '"mcpServers.a.command" is missing: give a text of 1 to 4096 characters'],
  [
    'an address that is none',
    { a: { type: 'http', url: 'file:///x' } },
    '"mcpServers.a.url" is "file:///x": give an address that begins with https:// or http://',
  ],
  ['an address without a type', { a: { url: 'http://x/' } }, '"mcpServers.a.type" is missing: give one of http, sse'],
  [
    'a key that is not known',
    { a: { command: 'x', trust: true } },
    '"mcpServers.a.trust" is no key of the configuration: remove it or correct its name',
  ],
  [
    'what becomes of missing credentials, said otherwise',
    { a: { type: 'http', url: 'http://x/', missingCredentials: 'stop' } },
    '"mcpServers.a.missingCredentials" is "stop": give "tell" or "end"',
  ],
  ['a relative folder', { a: { command: 'x', cwd: 'y' } }, '"mcpServers.a.cwd" is "y": give an absolute path'],
  [
    'a time out of range',
    { a: { command: 'x', timeoutMs: 0 } },
    '"mcpServers.a.timeoutMs" is 0: give a whole number of milliseconds from 1 to 86400000',
  ],
] as const)('%s is told in one sentence that names it (L74)', (_what, mcpServers, told) => {
  expect(() => checkConfig({ mcpServers }, 'f')).toThrow(new ConfigProblem(`f: ${told}`));
});

test('servers that sessions may name are known by their addresses (G54)', () => {
  const managed = { mcpServers: { 'https://shop.example/mcp': { headers: { authorization: 'x' }, trusted: true } } };
  expect(checkConfig({ managed }, 'f')).toEqual({ managed });
});

test.each([
  [
    'an address that is none',
    { shop: {} },
    'a key of "managed.mcpServers" is "shop": give an address that begins with https:// or http://',
  ],
  [
    'people who answer such a server',
    { 'https://a.example/': { asksPeople: true } },
    '"managed.mcpServers.https://a.example/.asksPeople" is no key of the configuration: remove it or correct its name',
  ],
] as const)('%s is told in one sentence that names it (G54)', (_what, mcpServers, told) => {
  expect(() => checkConfig({ managed: { mcpServers } }, 'f')).toThrow(new ConfigProblem(`f: ${told}`));
});
