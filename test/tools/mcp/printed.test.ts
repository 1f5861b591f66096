// Programs that print to their standard output what is no message (F11).
import { expect, test } from 'vitest';
import { deserializeMessage } from '@modelcontextprotocol/client';
import { createLineReader } from '../../../tools/mcp/long-lines.ts';
import { PrintedWords, readMessage } from '../../../tools/mcp/printed.ts';

const answer = { jsonrpc: '2.0', id: 1, result: { text: 'a {"b":1}' } };
const line = JSON.stringify(answer);

test.each([
  ['', ''],
  ['\uFEFF', ''],
  ['Loading... ', 'Loading... '],
  ['{"level":"info"}', '{"level":"info"}'],
  ['\u001B[32mready\u001B[0m', '\u001B[32mready\u001B[0m'],
])('an answer behind %j is read', (before, shown) => {
  expect(readMessage(`${before}${line}`, deserializeMessage)).toEqual({ message: answer, before: shown });
});

test('of a request that is printed in a log no one is told', () => {
  const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: {} });
  expect(() => readMessage(`received ${request}`, deserializeMessage)).toThrow();
  expect(() => readMessage('{"open": {"deep": [', deserializeMessage)).toThrow();
});

test('what came since the last message is told, and warned of where it does harm', () => {
  const warnings: string[] = [];
  const words = new PrintedWords((problem) => void warnings.push(problem));
  const none = { head: '', bytes: 0 };
  words.readLine('Server\trunning');
  expect(words.describe(none)).toBe('it printed "Server running": only messages belong on its standard output');
  words.readMessage('');
  expect([words.describe(none), warnings]).toEqual(['', []]);
  words.readMessage('Loading... ');
  words.readLine('{\0"\0');
  words.readLong({ head: '....', bytes: 9_000_000 });
  words.readLong({ head: '{"jsonrpc":', bytes: 9_000_000 });
  expect(warnings).toEqual([
    'it prints "Loading..." in front of an answer: only messages belong on its standard output',
    'it printed UTF-16, and messages are UTF-8',
    expect.stringMatching(/^it printed 9000000 bytes without the end of a line, from "\.\.\.\." on: each message is a/),
  ]);
});

test('a line that has not ended is known by its beginning and its bytes, and told of once when it is too long', () => {
  const told: object[] = [];
  const lines = createLineReader({
    limit: 10,
    onLine: () => undefined,
    onGrown: (open) => void told.push(open),
    onLong: () => undefined,
  });
  lines.read(Buffer.from('a\nbcdef'));
  expect(lines.open()).toEqual({ head: 'bcdef', bytes: 5 });
  for (const text of ['ghijklm', 'nop']) lines.read(Buffer.from(text));
  expect([told, lines.open()]).toEqual([[{ head: 'bcdefghijklm', bytes: 12 }], { head: 'bcdefghijklmnop', bytes: 15 }]);
  lines.read(Buffer.from('\n'));
  expect(lines.open()).toEqual({ head: '', bytes: 0 });
});
