// Questions of MCP servers in the middle of a call (L77): people answer them as those of the model,
// while the call waits.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AnswerServer } from '../../tools/mcp/servers.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { clientOf, harness, type Harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { effectsIn, oddServer, packagedServer } from '../support/mcp/servers.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

async function questionOf(session: OpenSession, before = ''): Promise<PendingApproval> {
  return until(async () => {
    const [first] = (await session.memo())?.approvals ?? [];
    return first?.question && first.call !== before ? first : null;
  });
}

const told = (h: Harness): string => JSON.stringify(h.bodies().at(-1)?.messages.at(-1));

const asks = { asksPeople: true, trusted: true };

test('a question of a server waits as one of the model, and the call goes on with the answer (L77 L81)', async () => {
  const h = await harness({
    script: [reply([toolUse('mcp__odd__choose', {})]), reply('Done.')],
    worker: { mcpServers: { odd: oddServer({}, { ...asks, timeoutMs: 5_000 }) } },
  });
  const session = await h.open('Paint.', { timeoutMs: 600_000 });
  const sessions = clientOf(h);
  const { call, tool, reason } = await questionOf(session);
  expect({ call, tool, reason }).toEqual({
    call: '1.1.0+q1',
    tool: 'mcp__odd__choose',
    reason: 'the MCP server odd asks a question',
  });
  expect((await session.memo())?.phase).toBe('waiting_approval');
  const input = { question: 'The MCP server odd asks: Which colour?\ncolour: Of the door', options: ['red', 'green'] };
  expect(await sessions.approvals(session.id)).toMatchObject([{ call, question: {}, input }]);
  await expect(sessions.answer(session.id, call, 'blue')).rejects.toThrow('none of those offered');
  await sessions.answer(session.id, call, 'green', { by: 'ann' });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  const answer = JSON.stringify({ action: 'accept', content: { colour: 'green' } });
  expect(told(h)).toContain(JSON.stringify(answer).slice(1, -1));
  expect((await session.memo())?.answered).toMatchObject([{ call, by: 'ann' }]);
  await keepHistory('a question of a server (L77)', session.handle);
});

test('a form of the official server is answered with JSON; what will not do is asked for again (L77)', async () => {
  const h = await harness({
    script: [reply([toolUse('mcp__every__trigger-elicitation-request', {})]), reply('Done.')],
    worker: { mcpServers: { every: { ...packagedServer('server-everything', 'stdio'), ...asks } } },
  });
  const session = await h.open('Ask.');
  const sessions = clientOf(h);
  const first = await questionOf(session);
  await sessions.answer(session.id, first.call, '{"name":"Ann","integer":500}');
  const again = await questionOf(session, first.call);
  expect(again.call).toBe('1.1.0+q2');
  const [waiting] = await sessions.approvals(session.id);
  expect(JSON.stringify(waiting?.input)).toContain('will not do: integer must be <= 100.)');
  await sessions.answer(session.id, again.call, '{"name":"Ann","integer":7}');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(told(h)).toMatch(/Ann/);
  expect(told(h)).toMatch(/7/);
});

test('a denial declines, and a stop withdraws the question and tells the server (L48 L77)', async () => {
  const effects = join(tempDir(), 'effects');
  const h = await harness({
    script: [reply([toolUse('mcp__odd__choose', {})]), reply([toolUse('mcp__odd__choose', {})]), reply('Done.')],
    worker: { mcpServers: { odd: oddServer({ effects }, asks) } },
  });
  const session = await h.open('Paint.');
  const first = await questionOf(session);
  await clientOf(h).deny(session.id, first.call, 'not now');
  const second = await questionOf(session, first.call);
  expect(told(h)).toContain('decline');
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools', by: 'interrupt' } });
  expect((await session.memo())?.approvals).toBeUndefined();
  await expect(clientOf(h).answer(session.id, second.call, 'red')).rejects.toThrow();
  await until(() => effectsIn(effects).some(({ cancelled }) => cancelled !== undefined));
});

test('what a server asks in a call of an agent is asked at the root, and in mode dontAsk nobody is asked (L70 L77)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('A.')]), reply('Done.')],
      'A.': [reply([toolUse('mcp__odd__choose', {})]), reply('A is done.')],
      'Quietly.': [reply([toolUse('mcp__odd__choose', {})]), reply('Done.')],
    }),
    worker: { mcpServers: { odd: oddServer({}, asks) } },
  });
  const session = await h.open('Go.');
  const { call, agent } = await questionOf(session);
  expect(agent?.call).toBe('1.1.0+q1');
  await clientOf(h).answer(session.id, call, 'red');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const quiet = await h.open('Quietly.', { permissionMode: 'dontAsk', permissions: { allow: ['mcp__odd'] } });
  expect(await quiet.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(told(h)).toContain('cancel');
});

test('a function of the configuration answers where nobody is asked, and no question waits (L77)', async () => {
  const answers: AnswerServer = ({ serverName, message }) =>
    Promise.resolve({ action: 'accept', content: { colour: `${serverName}: ${message}` } });
  const h = await harness({
    script: [reply([toolUse('mcp__odd__choose', {})]), reply('Done.')],
    worker: { mcpServers: { odd: oddServer({}, { answers }) } },
  });
  const session = await h.open('Paint.', { permissionMode: 'dontAsk', permissions: { allow: ['mcp__odd'] } });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(told(h)).toContain('odd: Which colour?');
  expect((await session.memo())?.answered).toBeUndefined();
});
