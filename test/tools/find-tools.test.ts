// The tool that finds tools of MCP servers: what it finds by which words, and what it says.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { addFindTools, describeDeferred, rankTools } from '../../tools/find-tools.ts';
import { createRegistry } from '../../tools/registry.ts';
import { acceptInput } from '../../system/schema/input-schema.ts';
import type { Tool, ToolContext, ToolOutput } from '../../tools/tool.ts';
import { anyContext } from '../support/mcp/servers.ts';
import { simpleTool } from './support.ts';

const of = (name: string, description: string, inputSchema: z.ZodType = z.object({})): Tool =>
  simpleTool({ name, description, inputSchema });

const tools = [
  of('mcp__hub__create_issue', 'Opens a new issue in a repository.'),
  of('mcp__hub__listIssues', 'All issues of a repository, page by page.'),
  of('mcp__hub__merge', 'Merges a pull request of a repository.', z.object({ squash: z.boolean() })),
  of('mcp__mail__send', 'Sends a message to people.', z.object({ recipients: z.string() })),
  of('read', 'Reads a file of a repository.'),
];

async function find(input: object, context: Partial<ToolContext> = {}, all = tools): Promise<ToolOutput> {
  const tool = addFindTools(createRegistry(all)).get('find_tools') as Tool;
  const checked = acceptInput(tool, input);
  if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
  return await tool.call(checked.value, { ...anyContext(), ...context });
}

test.each([
  ['issue', ['mcp__hub__create_issue', 'mcp__hub__listIssues']],
  ['create a new issue', ['mcp__hub__create_issue']],
  ['issues of the hub', ['mcp__hub__listIssues']],
  ['pull requests', ['mcp__hub__merge']],
  ['recipients', ['mcp__mail__send']],
  ['MAIL', ['mcp__mail__send']],
  ['squash', ['mcp__hub__merge']],
])('%s finds first what it is about (L74)', async (query, first) => {
  const { found = [] } = await find({ query });
  expect(found.slice(0, first.length)).toEqual(first);
});

test('tools that are no server’s are not found, nor those that the run does not have (L57 L74)', async () => {
  expect((await find({ query: 'repository file' })).found).not.toContain('read');
  const { found } = await find({ query: 'repository' }, { isOffered: (name) => name !== 'mcp__hub__merge' });
  expect([...(found ?? [])].sort()).toEqual(['mcp__hub__create_issue', 'mcp__hub__listIssues']);
});

test('tools are loaded by their names, and a name that is none is said (L74)', async () => {
  const { found, content } = await find({ query: 'select:mcp__mail__send, mcp__hub__merge, mcp__hub__gone' });
  expect(found).toEqual(['mcp__mail__send', 'mcp__hub__merge']);
  expect(content).toContain('(there is no tool "mcp__hub__gone")');
  await expect(find({ query: 'select:nothing' })).rejects.toThrow('There are tools of: hub (3), mail (1).');
});

test('words that no tool has find none, and it is said which servers have tools (L74)', async () => {
  const { found, content } = await find({ query: 'zebra' });
  expect(found).toBeUndefined();
  expect(content).toContain('There are tools of: hub (3), mail (1).');
});

test('as many come as are asked for, and no more than a request bears (L74)', async () => {
  const long = Array.from({ length: 12 }, (_, n) => of(`mcp__big__thing_${n}`, 'y'.repeat(30_000)));
  const { found, content } = await find({ query: 'thing', limit: 10 }, {}, long);
  expect(found).toHaveLength(2);
  expect(content).toContain('too long to be loaded with them');
  expect(content).toContain('(2 more have some of these words)');
  expect(content.length).toBeLessThan(2_000);
  expect((await find({ query: 'repository', limit: 1 })).found).toHaveLength(1);
});

test('a description of several lines is one line of the answer', async () => {
  const { content } = await find({ query: 'odd' }, {}, [of('mcp__odd__one', 'A\n- mcp__odd__two: B')]);
  expect(content.split('\n')).toHaveLength(2);
});

test('it is there while a server has tools, in the order of names, and another tool of its name keeps it (L22 L74)', () => {
  const names = (all: readonly Tool[]) =>
    addFindTools(createRegistry(all))
      .definitions()
      .map(({ name }) => name);
  expect(names(tools)).toEqual(['find_tools', ...tools.map(({ name }) => name)]);
  expect(names(tools.slice(-1))).toEqual(['read']);
  const own = of('find_tools', 'Finds hammers.');
  expect(addFindTools(createRegistry([...tools, own])).get('find_tools')).toBe(own);
});

test('names are listed by server, and each server has its share of the room (L74)', () => {
  const big = Array.from({ length: 900 }, (_, n) => `mcp__big__a_rather_long_name_${n}`);
  const lines = describeDeferred([...big, 'mcp__small__one', 'mcp__small__two']).split('\n');
  expect(lines[1]).toMatch(/^- mcp__big__: a_rather_long_name_0, .*, and \d+ more$/);
  expect(lines[2]).toBe('- mcp__small__: one, two');
  expect(lines.join('').length).toBeLessThan(6_500);
});

test('a word that few tools have counts more than one that all have', () => {
  const definitions = createRegistry(tools).definitions();
  expect(rankTools(definitions, 'repository file')[0]?.name).toBe('read');
});
