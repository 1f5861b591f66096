// Checks what servers a query has after its program changed them, and where its prompt is parted.
import { expect, test } from 'vitest';
import { promptParts } from '../../../client/agent-sdk/commands.ts';
import { createServerChanges } from '../../../client/agent-sdk/server-changes.ts';
import type { SDKUserMessage } from '../../../client/agent-sdk/shapes/messages.ts';
import { createSdkMcpServer, tool } from '../../../client/agent-sdk/tools.ts';

const program = (name: string) =>
  createSdkMcpServer({ name, tools: [tool('t', 'T.', {}, async () => ({ content: [] }))] });
const outside = { command: 'node', args: ['server.mjs'] };

test('servers that are set replace those of the program and those set before, and others stay (Q7)', async () => {
  const own = { shop: program('shop'), files: outside, mail: outside };
  const changes = createServerChanges();
  expect(Object.keys(changes.servers(own) ?? {})).toEqual(['shop', 'files', 'mail']);
  const set = await changes.set(own, { desk: program('desk'), mail: { command: 'other' } });
  expect(set).toEqual({ added: ['desk'], removed: ['shop'], errors: {} });
  expect(changes.isPending()).toBe(true);
  expect(changes.servers(own)).toMatchObject({ files: outside, mail: { command: 'other' }, desk: { type: 'sdk' } });
  expect(changes.isPending()).toBe(false);
  // A server of the options that a call has named goes when a later call leaves it out.
  expect(await changes.set(own, {})).toEqual({ added: [], removed: ['desk', 'mail'], errors: {} });
  expect(changes.servers(own)).toEqual({ files: outside });
});

test('a server is turned off, on, and connected again by its name, and one that is not there is refused (Q7)', () => {
  const own = { files: outside };
  const changes = createServerChanges();
  changes.toggle(own, 'files', true);
  expect(changes.isPending()).toBe(false);
  changes.toggle(own, 'files', false);
  expect(changes.isPending()).toBe(true);
  expect(changes.servers(own)).toEqual({});
  expect(changes.status(own)).toEqual([{ name: 'files', status: 'disabled' }]);
  changes.reconnect(own, 'files');
  expect(changes.isPending()).toBe(true);
  expect(changes.servers(own)).toEqual(own);
  expect(() => changes.reconnect(own, 'mail')).toThrow('the query has no server "mail"');
  expect(() => changes.toggle(own, 'mail', false)).toThrow('the query has no server "mail"');
});

test('a server that is not valid is refused when it is set, and changes nothing (Q7)', async () => {
  const changes = createServerChanges();
  await expect(changes.set({}, { bad: { command: 1 as never } })).rejects.toThrow('setMcpServers()');
  expect(changes.isPending()).toBe(false);
});

test('a prompt is parted before the first message that needs another worker, which begins the next part (Q7)', async () => {
  let isPending = false;
  const prompt = async function* (): AsyncGenerator<SDKUserMessage> {
    for (const content of ['one', 'two', '/clear', 'three'])
      yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null };
  };
  const parts: unknown[] = [];
  for (const part of promptParts(prompt(), () => isPending)) {
    const contents: unknown[] = [];
    isPending = false;
    for await (const { message } of part.prompt as AsyncIterable<SDKUserMessage>) {
      contents.push(message.content);
      isPending = message.content === 'one';
    }
    parts.push([contents, part.goesOn(), part.clearedBy()?.message?.content ?? null]);
  }
  expect(parts).toEqual([
    [['one'], true, null],
    [['two'], false, '/clear'],
    [['three'], false, null],
  ]);
});
