// Results on the screen: whose they are, and what they took.
import { expect, test } from 'vitest';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { at, screen } from './screen.ts';

test('names the call of a result again when the result does not come under it', () => {
  const call = (index: number, name = 'read') => ({ iteration: 1, index, name, ...at(1) });
  const end = { type: 'tool_end', isError: false, content: 'it', durationMs: 1 } as const;
  const seen = screen([
    { type: 'tool_use', id: 'toolu_0', input: { path: 'a.txt' }, ...call(0) },
    { type: 'tool_use', id: 'toolu_1', input: { path: 'b.txt' }, ...call(1) },
    { type: 'reply', iteration: 1, stopReason: 'tool_use', fate: 'whole', ...at(1) },
    { type: 'tool_progress', text: 'halfway', ...call(1) },
    { ...end, ...call(1) },
    { ...end, ...call(0) },
    { ...end, ...call(2, 'glob') },
  ]);
  const shown = ['  │ it', '  │ (1 ms)'];
  expect(seen.split('\n')).toEqual([
    '▸ read a.txt',
    '▸ read b.txt',
    '  … halfway',
    ...shown,
    '◂ read a.txt',
    ...shown,
    '◂ glob',
    ...shown,
    '',
  ]);
});

test('names the call of a result that comes after a person decided (L55)', () => {
  const call = { iteration: 1, index: 0, name: 'bash' };
  const pending = { call: '1.1.0', tool: 'bash', reason: 'ask first', inputHash: 'h', head: 'h' as Hash, index: 0 };
  const session = 's-1' as SessionId;
  const seen = screen([
    { type: 'tool_use', id: 'toolu_0', input: { command: 'make' }, ...call, ...at(1) },
    { type: 'approval', session, ...pending, deadline: 0, input: { command: 'make' } },
    { type: 'approval_settled', session, call: '1.1.0' },
    { type: 'tool_start', early: false, ...call, ...at(2) },
    { type: 'tool_end', isError: false, content: 'made', durationMs: 4, ...call, ...at(2) },
  ]);
  expect(seen.split('\n').slice(-4)).toEqual(['◂ bash make', '  │ made', '  │ (4 ms)', '']);
});

test('leaves the time out of the result of a call that was denied: none was spent (L55)', () => {
  const call = { iteration: 1, index: 0, name: 'bash', ...at(1) };
  const denied = { type: 'tool_end', isError: true, content: 'Not run: no', durationMs: 3, untimed: true } as const;
  expect(
    screen([
      { type: 'tool_use', id: 'toolu_0', input: {}, ...call },
      { ...denied, ...call },
    ]),
  ).toBe('▸ bash\n  ✗ Not run: no\n');
});

test('a result that failed shows its last lines, where the reason is, and any other its first (O18)', () => {
  const call = { iteration: 1, index: 0, name: 'bash', durationMs: 1, ...at(1) };
  const content = 'one\ntwo\nthree\nfour\nfive\n(exit status 1)';
  const lines = (isError: boolean) => screen([{ type: 'tool_end', isError, content, ...call }]).split('\n');
  expect(lines(true)).toEqual([
    '◂ bash',
    '  ✗ (3 earlier lines)',
    '  │ four',
    '  │ five',
    '  │ (exit status 1)',
    '  │ (1 ms)',
    '',
  ]);
  expect(lines(false).slice(1, 3)).toEqual(['  │ one', '  │ two']);
});

test('below an edit stands what it takes out and puts in, bounded, and nothing of it acts on the terminal (O18)', () => {
  const edit = (old_string: string, new_string: string) =>
    screen([
      {
        type: 'tool_use',
        id: 't',
        name: 'edit',
        input: { path: 'a.ts', old_string, new_string },
        iteration: 1,
        index: 0,
        ...at(1),
      },
    ]);
  expect(edit('a\n  b\n', 'a\n  c\n').split('\n')).toEqual(['▸ edit a.ts', '    a', '  -   b', '  +   c', '']);
  const long = edit('', 'x\n'.repeat(50)).split('\n');
  expect([long.length, long.at(-2)]).toEqual([15, '  (38 more lines)']);
  expect(edit('', '\u001b]52;c;aGk=\u0007\u202e')).toContain(String.raw`+ \x1b]52;c;aGk=\x07\u202e`);
  expect(edit('', 'y'.repeat(1_000_000)).length).toBeLessThan(300);
});
