// Two MCP servers of 260 tools of 2 KB: what a request says of them, and how one of them is found,
// called, kept over a summary and had by a worker that comes later.
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { harness } from '../support/harness.ts';
import { manyToolsServer } from '../support/mcp/servers.ts';
import { offered } from '../support/offered.ts';

const mcpServers = { one: manyToolsServer(260, 2_000), two: manyToolsServer(260, 2_000) };
const sizeOf = (body: unknown): number => JSON.stringify(body).length;
const said = ({ messages }: ParsedRequest): string => JSON.stringify(messages);

test('a request has the names of most tools, and their definitions only where that is asked for (L74)', async () => {
  const h = await harness({ script: [reply('Hi.')], worker: { mcpServers } });
  const session = await h.open('Hi.');
  await session.ended(1);
  const all = await harness({ script: [reply('Hi.')], worker: { mcpServers, config: { deferTools: false } } });
  const other = await all.open('Hi.');
  await other.ended(1);
  expect(sizeOf(all.bodies()[0])).toBeGreaterThan(800_000);
  expect(sizeOf(h.bodies()[0])).toBeLessThan(60_000);
  expect(offered(h.bodies()[0]).filter((name) => name.startsWith('mcp__'))).toEqual([]);
  expect(JSON.stringify(h.bodies()[0]?.system)).toContain('- mcp__two__: action_0, ');
  const live = h.liveText(session.id);
  expect(live).toContain('400 tools of MCP servers are left out of requests (about ');
  expect(live).toContain('left out of the MCP server one: there are more than 200 tools');
});

test('one is found, called under its rule, kept over a summary and had by a later worker (L10 L55 L74)', async () => {
  const name = 'mcp__two__action_123';
  const call = reply([toolUse(name, { what: 'it' })]);
  const script = (request: ParsedRequest): Reply => {
    if (asksForSummary(request)) return reply('They began.');
    const now = said({ ...request, messages: request.messages.slice(-2) });
    if (now.includes('did it')) return reply('Done.');
    if (now.includes('Begin.')) return reply([toolUse('find_tools', { query: 'two action 123', limit: 1 })]);
    return offered(request).includes(name) || said(request).includes(`Loaded`) ? call : reply('It is not there.');
  };
  const h = await harness({ script, worker: { mcpServers } });
  const session = await h.open(`Begin. ${'Long. '.repeat(2_000)}`, {
    permissionMode: 'dontAsk',
    permissions: { allow: ['mcp__two'] },
    tools: ['read', 'mcp__one', 'mcp__two'],
  });
  const first = await session.ended(1);
  expect([first.terminal.reason, first.turns]).toEqual(['completed', 3]);
  expect(offered(h.bodies()[1]).filter((tool) => tool.startsWith('mcp__'))).toEqual([name]);
  await session.send('/compact', { compact: {} });
  await session.ended(2);
  await h.worker.stop();
  const later = await h.startWorker();
  onTestFinished(() => later.stop());
  await session.send('Again.');
  const last = await session.ended(3);
  expect([last.terminal.reason, last.turns]).toEqual(['completed', 2]);
  const after = h.bodies().at(-1) as ParsedRequest;
  expect(said(after)).not.toContain('Begin.');
  expect(said(after)).toContain('action_123 did it');
  expect(offered(after).filter((tool) => tool.startsWith('mcp__'))).toEqual([name]);
  expect(h.model.problems).toEqual([]);
});
