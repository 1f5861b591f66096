// perdure mcp-tools: what servers offer, by the names that rules have for it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { McpServers } from '../../tools/mcp/servers.ts';
import { mainHere } from '../support/cli-here.ts';
import { manyToolsServer, oddServer, packagedServer } from '../support/mcp/servers.ts';
import { tempDir } from '../support/temp-dir.ts';

async function listed(mcpServers: McpServers, ...args: readonly string[]) {
  const file = join(tempDir(), 'config.mjs');
  writeFileSync(file, `export default ${JSON.stringify({ mcpServers })};`);
  const env = { PATH: process.env['PATH'], HOME: tempDir(), PERDURE_DATA: join(tempDir(), 'data') };
  const { status, out, err } = await mainHere(['mcp-tools', ...args, '--config', file], { cwd: () => '/', env });
  return { status, err, lines: out.split('\n').slice(0, -1) };
}

const filesIn = (folder: string) => ({ ...packagedServer('server-filesystem', folder), trusted: true });

test('lists each tool by its name for rules, with what its server says that it does (L74 L76)', async () => {
  const { status, lines, err } = await listed({ files: filesIn(tempDir()), odd: oddServer() });
  expect([status, err]).toEqual([0, '']);
  const [heading, ...rows] = lines;
  expect(heading).toMatch(/^files: \d+ tools$/);
  expect(rows).toContainEqual(expect.stringMatching(/^ {2}mcp__files__list_directory +read-only +Get a detailed/));
  expect(rows).toContainEqual(expect.stringMatching(/^ {2}mcp__files__write_file +destructive +Create a new file/));
  expect(rows).toContainEqual(expect.stringMatching(/^ {2}mcp__files__create_directory +adds only +Create a new/));
  expect(rows).toContainEqual(expect.stringMatching(/^odd: \d+ tools; not trusted, so that each asks/));
  expect(rows).toContainEqual(expect.stringMatching(/^ {2}mcp__odd__echo +read-only +Does echo\.$/));
  expect(rows).toContainEqual(expect.stringMatching(/^ {2}mcp__odd__note +no hint +Does note\.$/));
});

test('lists one server, for programs as a JSON object a tool (L74)', async () => {
  const { status, lines } = await listed({ files: filesIn(tempDir()), bad: { command: 'false' } }, 'files', '--json');
  const tools = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  expect(status).toBe(0);
  expect(tools).toContainEqual({
    name: 'mcp__files__write_file',
    server: 'files',
    tool: 'write_file',
    readOnly: false,
    destructive: true,
    idempotent: true,
    description: expect.stringContaining('Create a new file') as string,
  });
});

test('says where tools are too many for each request, but not of one server alone (L74)', async () => {
  const servers = { one: manyToolsServer(30, 2_000), two: manyToolsServer(30, 2_000) };
  expect((await listed(servers)).err).toMatch(
    /^60 tools of MCP servers are left out of requests .*until the model finds/,
  );
  expect((await listed(servers, 'one')).err).toBe('');
});

test('a server that cannot be used is named with why and its last words, and the others are listed (L75)', async () => {
  const servers = { bad: { command: 'sh', args: ['-c', 'echo "no such table" >&2; exit 2'] }, odd: oddServer() };
  const { status, lines, err } = await listed(servers);
  expect(status).toBe(1);
  const why = 'its process ended with status 2; it said last: no such table';
  expect(err).toBe(`the MCP server bad cannot be used: ${why}\n`);
  expect(lines[0]).toMatch(/^odd: /);
});

test('says which servers there are where it is asked for another, and how they are named where there is none', async () => {
  expect(await listed({ files: filesIn(tempDir()) }, 'flies')).toMatchObject({
    status: 2,
    err: 'perdure: the configuration names no MCP server "flies": did you mean files?\n',
  });
  expect(await listed({})).toMatchObject({
    status: 0,
    lines: [],
    err: expect.stringContaining('"mcpServers"') as string,
  });
});
