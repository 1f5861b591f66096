// What `perdure doctor` says of a configuration: its MCP servers are connected once, and ended
// (L74).
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runChecks } from '../../../client/runtime/doctor.ts';
import { manyToolsServer, oddServer } from '../../support/mcp/servers.ts';
import { tempDir } from '../../support/temp-dir.ts';

const env = () => ({ PATH: process.env['PATH'], HOME: tempDir(), PERDURE_DATA: join(tempDir(), 'data') });

function configFile(config: object): string {
  const file = join(tempDir(), 'perdure.config.mjs');
  writeFileSync(file, `export default ${JSON.stringify(config)};`);
  return file;
}

test('doctor says of each MCP server how many tools it has, or why it cannot be used (L74)', async () => {
  const servers = {
    odd: oddServer(),
    none: { command: '/no/such/program' },
    gone: oddServer({}, { command: 'false' }),
  };
  const checks = await runChecks(env(), configFile({ mcpServers: servers }));
  expect(checks.filter(({ name }) => name.startsWith('MCP'))).toEqual([
    { name: 'MCP odd', state: 'ok', found: expect.stringMatching(/^\d+ tools$/) as string },
    { name: 'MCP none', state: 'missing', found: expect.stringMatching(/^it cannot be used: /) as string },
    { name: 'MCP gone', state: 'missing', found: expect.stringMatching(/its process ended with status 1/) as string },
  ]);
});

test('doctor says that tools are too many for each request, and which are left out of their server (L74)', async () => {
  const mcpServers = { one: manyToolsServer(260, 2_000), two: manyToolsServer(20, 2_000) };
  const said = async (more: object) =>
    (await runChecks(env(), configFile({ mcpServers, ...more }))).filter(({ name }) => name.startsWith('MCP'));
  const lacks = '200 tools, and 1 left out; the first: there are more than 200 tools';
  const [one, two, deferred] = await said({});
  expect([one, two]).toEqual([
    { name: 'MCP one', state: 'note', found: lacks },
    { name: 'MCP two', state: 'ok', found: '20 tools' },
  ]);
  expect(deferred).toMatchObject({ name: 'MCP tools', state: 'ok' });
  expect(deferred?.found).toMatch(
    /^220 tools of MCP servers are left out of requests \(about 1\d\d,\d{3} tokens in each\)/,
  );
  expect(await said({ deferTools: 200_000 })).toHaveLength(2);
});

test('doctor says what snapshots of files take, and of what bound (T4)', async () => {
  const here = env();
  const found = async (diskBytes?: number) => {
    const config = configFile(diskBytes === undefined ? {} : { snapshots: { diskBytes } });
    return (await runChecks(here, config)).find(({ name }) => name === 'snapshots');
  };
  expect(await found()).toEqual({
    name: 'snapshots',
    state: 'ok',
    found: '0 bytes of at most 10.7 GB: 0 loose objects, 0 packs',
  });
  const objects = join(here.PERDURE_DATA, 'snapshots/objects');
  mkdirSync(join(objects, 'ab'), { recursive: true, mode: 0o700 });
  writeFileSync(join(objects, 'ab', 'c'.repeat(38)), 'x'.repeat(4_096));
  expect(await found(1_000)).toEqual({
    name: 'snapshots',
    state: 'note',
    found: expect.stringMatching(
      /^4\.\d KB of at most 1\.0 KB: 1 loose object, 0 packs; no more are taken: perdure gc/,
    ) as string,
  });
});

test('doctor says what is wrong with a configuration', async () => {
  const checks = await runChecks(env(), configFile({ mcpServers: { odd: {} } }));
  expect(checks.find(({ name }) => name === 'configuration')).toMatchObject({
    state: 'missing',
    found: expect.stringContaining('"mcpServers.odd.command" is missing') as string,
  });
});

test('doctor says of each model of the configuration what its server and the catalogue know of it (X1)', async () => {
  const server = createServer((request, response) => {
    const known = request.url === '/v1/models/claude-opus-5-5';
    response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' });
    const model = { type: 'model', id: 'claude-opus-5-5', max_input_tokens: 500_000, max_tokens: 64_000 };
    response.end(JSON.stringify(known ? model : { type: 'error', error: { type: 'not_found_error', message: 'no' } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const here = { ...env(), ANTHROPIC_API_KEY: 'x', ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}` };
  const checks = await runChecks(here, configFile({ model: 'opus', fallbackModels: ['qwen3:8b', 'claude-haiku-5'] }));
  const found = checks.filter(({ name }) => name === 'models');
  const [opus, qwen, never, small] = found.map((check) => check.found);
  expect(found.map(({ state }) => state)).toEqual(['ok', 'note', 'missing', 'ok']);
  expect(opus).toBe(
    'claude-opus-5-5: a window of 500,000 tokens, answers of 64,000, $4 in and $20 out per million; as its server says',
  );
  expect(qwen).toMatch(
    /^qwen3:8b: an assumed window of 200,000 tokens.*, no known price; by the catalogue of .*does not know it$/,
  );
  expect(never).toMatch(/^"claude-haiku-5" is no model: did you mean claude-haiku-5-5/);
  expect(small).toMatch(/^claude-haiku-5-5: a window of 1,000,000 tokens/);
});
