// MCP servers' tools in sessions: called durably, asked about, named by rules, lists and agents.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover, UPDATES } from '../../workflows/contract/session.ts';
import { harness } from '../support/harness.ts';
import { effectsIn, oddServer } from '../support/mcp/servers.ts';
import { offered } from '../support/offered.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

test('a session calls the tools of a server, and the model reads what it says of them (L74)', async () => {
  const h = await harness({
    script: [reply([toolUse('mcp__odd__echo', { text: 'hello' })]), reply('Done.')],
    worker: { mcpServers: { odd: oddServer() } },
  });
  const session = await h.open('Call.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [first, second] = h.bodies();
  expect(offered(first)).toContain('mcp__odd__echo');
  expect(JSON.stringify(first?.system)).toContain('Use echo first.');
  expect(JSON.stringify(second?.messages.at(-1))).toContain('hello');
});

test('every call of a server that is not trusted asks, and its rules are by server (L55 L76)', async () => {
  const h = await harness({
    script: [reply([toolUse('mcp__odd__echo', {})]), reply('No.')],
    worker: { mcpServers: { odd: oddServer() } },
  });
  const denied = await h.open('Call.', { permissionMode: 'dontAsk' });
  await denied.ended(1);
  expect(JSON.stringify(h.bodies()[1])).toContain('would ask is denied');
});

test('a rule for a server allows its tools, and a list names them by it (L55 L74)', async () => {
  const h = await harness({
    script: [reply([toolUse('mcp__odd__echo', { text: 'hi' }), toolUse('mcp__other__echo', {})]), reply('Done.')],
    worker: { mcpServers: { odd: oddServer(), other: oddServer() } },
  });
  const session = await h.open('Call.', {
    permissionMode: 'dontAsk',
    permissions: { allow: ['mcp__odd'] },
    tools: ['read', 'mcp__odd'],
  });
  await session.ended(1);
  const [first, second] = h.bodies();
  expect(offered(first).filter((name) => !name.startsWith('mcp__odd__'))).toEqual(['read']);
  expect(second?.messages.at(-1)?.content).toMatchObject([
    { content: expect.stringContaining('hi') },
    { is_error: true, content: expect.stringContaining('There is no tool named') },
  ]);
});

test('a tool that came with list_changed is offered from the next iteration on (L44 L75)', async () => {
  const h = await harness({
    script: [reply([toolUse('mcp__odd__grow', {})]), reply([toolUse('mcp__odd__grown_1', {})]), reply('Done.')],
    worker: { mcpServers: { odd: oddServer() } },
  });
  const session = await h.open('Grow.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const [first, second, third] = h.bodies();
  expect(offered(first)).not.toContain('mcp__odd__grown_1');
  expect(offered(second)).toContain('mcp__odd__grown_1');
  expect(JSON.stringify(third?.messages.at(-1))).toContain('noted grown_1');
});

test('a large result is stored whole and shown as a preview (L6 L74)', async () => {
  const h = await harness({
    script: [reply([toolUse('mcp__odd__huge', {})]), reply('Done.')],
    worker: { mcpServers: { odd: oddServer() } },
  });
  const session = await h.open('Call.');
  await session.ended(1);
  expect(JSON.stringify(h.bodies()[1]?.messages.at(-1))).toMatch(/perdure:result\/[0-9a-f]{64}/);
});

test('an agent calls the tools of a server that its type names (L66 L74)', async () => {
  const h = await harness({
    script: (request, n) => {
      if (n === 1) return reply([toolUse('agent', { description: 'Call', prompt: 'Call it.', type: 'caller' })]);
      const tools = offered(request);
      if (tools.length < 5 || !tools.includes('agent')) {
        return JSON.stringify(request.messages).includes('noted note')
          ? reply(`called, of ${tools.join(' ')}`)
          : reply([toolUse('mcp__odd__note', {})]);
      }
      return reply('Done.');
    },
    worker: {
      mcpServers: { odd: oddServer() },
      config: { agents: { caller: { description: 'Calls.', tools: ['mcp__odd__note'] } } },
    },
  });
  const session = await h.open('Have it called.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(JSON.stringify(h.bodies().at(-1)?.messages)).toContain('called, of mcp__odd__note');
});

test('a call that waits while its session is handed over is made once, when it is allowed (L4 L55 L74)', async () => {
  const effects = join(tempDir(), 'effects');
  const h = await harness({
    script: (request) =>
      JSON.stringify(request).includes('noted note') ? reply('Done.') : reply([toolUse('mcp__odd__note', {})]),
    worker: { mcpServers: { odd: oddServer({ effects }) } },
    handover: { ...defaultHandover, signals: 2 },
  });
  const session = await h.open('Call.', { permissionMode: 'default' });
  const { call, inputHash } = await until(async () => (await session.memo())?.approvals?.[0] ?? null);
  const { runId } = await session.handle.describe();
  await until(async () => {
    await session.send('Still there?');
    return (await session.handle.describe()).runId !== runId;
  });
  await until(async () => (await session.memo())?.approvals?.[0]?.call === call);
  expect(effectsIn(effects).filter((effect) => effect.call === 'note')).toEqual([]);
  await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(effectsIn(effects).filter((effect) => effect.call === 'note')).toHaveLength(1);
});

test('an interrupt is told to the server, and the call has an outcome that says so (L48 L77)', async () => {
  const effects = join(tempDir(), 'effects');
  const h = await harness({
    script: [reply([toolUse('mcp__odd__hang', {})])],
    worker: { mcpServers: { odd: oddServer({ effects }) } },
  });
  const session = await h.open('Hang.');
  await until(() => effectsIn(effects).some(({ call }) => call === 'hang'));
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' } });
  await until(() => effectsIn(effects).some(({ cancelled }) => cancelled !== undefined));
});
