// What `perdure doctor` says of a configuration: its MCP servers are connected once, and ended (L74).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { examine } from '../../client/doctor.ts';
import { oddServer } from '../support/mcp/servers.ts';
import { tempDir } from '../support/temp-dir.ts';

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
  const checks = await examine(env(), configFile({ mcpServers: servers }));
  expect(checks.filter(({ name }) => name.startsWith('MCP'))).toEqual([
    { name: 'MCP odd', state: 'ok', found: expect.stringMatching(/^\d+ tools$/) as string },
    { name: 'MCP none', state: 'missing', found: expect.stringMatching(/^it cannot be used: /) as string },
    { name: 'MCP gone', state: 'missing', found: expect.stringMatching(/its process ended with status 1/) as string },
  ]);
});

test('doctor says what is wrong with a configuration', async () => {
  const checks = await examine(env(), configFile({ mcpServers: { odd: {} } }));
  expect(checks.find(({ name }) => name === 'configuration')).toMatchObject({
    state: 'missing',
    found: expect.stringContaining('"mcpServers.odd.command" is missing') as string,
  });
});
