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
