// Lines of a server that may write anything (F11).
import { expect, test } from 'vitest';
import { readAnsweredId, createLineReader } from '../../../tools/mcp/long-lines.ts';

function reader(limit: number) {
  const [lines, long]: [string[], (readonly [string, string])[]] = [[], []];
  const { read } = createLineReader({ limit, onLine: (line) => lines.push(line), onLong: (ends) => long.push(ends) });
  return { lines, long, read: (text: string) => read(Buffer.from(text)) };
}

test('lines are whole however they are cut, also within a character', () => {
  for (const size of [1, 2, 3, 7, 100]) {
    const lines: string[] = [];
    const { read } = createLineReader({ limit: 100, onLine: (line) => lines.push(line), onLong: () => undefined });
    const bytes = Buffer.from('{"a":1}\n\n{"b":"é€"}\nhalf');
    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size));
    expect(lines).toEqual(['{"a":1}', '', '{"b":"é€"}']);
  }
});

test('a line that is too long is dropped by itself, whatever its size, and its ends tell whom it answers', () => {
  const { lines, long, read } = reader(1_000);
  read('{"id":1}\n{"jsonrpc":"2.0","result":"');
  for (let n = 0; n < 100; n += 1) read('x'.repeat(997));
  read('","id":42}\n{"id":2}\n');
  expect(lines).toEqual(['{"id":1}', '{"id":2}']);
  expect(long.map(readAnsweredId)).toEqual([42]);
});

test.each([
  ['at its beginning', ['{"jsonrpc":"2.0","id":7,"result":', '"}'], 7],
  ['nowhere', ['{"method":"notifications/x","params":"', '"}'], undefined],
  ['as a text', ['{"id":"7","result":', '"}'], undefined],
  [
    'at its end, whatever is called so within it',
    ['{"result":{"structuredContent":{"id":7,"x":"', '"},"jsonrpc":"2.0","id":3}'],
    3,
  ],
  ['nowhere, where only what is within it is called so', ['{"result":{"id":7,"x":"', '","id":8}}'], undefined],
] as const)('the id of a dropped line is found %s', (_, ends, id) => {
  expect(readAnsweredId(ends)).toBe(id);
});
