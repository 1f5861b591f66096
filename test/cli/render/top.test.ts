// The screen of `perdure top`.
import { expect, test } from 'vitest';
import { createPaint } from '../../../client/paint.ts';
import { type TopFrame, topLines } from '../../../cli/render/top.ts';
import { description } from '../../client/support.ts';

const none = { running: 0, waiting_worker: 0, waiting_approval: 0, parked: 0, idle: 0, closed: 0 };
const frame: TopFrame = { counts: none, sessions: [], trouble: null, filter: '' };
const lines = (changes: Partial<TopFrame>, rows?: number) =>
  topLines(createPaint(false), { ...frame, ...changes }, Date.UTC(2026, 0, 2), rows);

test('the first line counts the phases that there are, and the rows are those of list (O19)', () => {
  const sessions = [description({ title: 'one' }), description({ title: 'two' })];
  const shown = lines({ counts: { ...none, parked: 3, waiting_approval: 1 }, sessions });
  expect(shown[0]).toBe('0 running · 1 waiting for a decision · 3 parked  2026-01-02 00:00:00 UTC');
  expect(shown[2]).toMatch(/^SESSION +PHASE/);
  expect(shown.slice(3).map((line) => line.slice(-3))).toEqual(['one', 'two']);
});

test('a server that does not answer is said above what was seen last, and so is the filter (O19)', () => {
  const shown = lines({ filter: 'phase:parked', trouble: 'the server is away', sessions: [description({})] });
  expect(shown.slice(1, 3)).toEqual(['filter: phase:parked', '! the server is away']);
  expect(shown).toHaveLength(6);
});

test('rows that do not fit the terminal are left out, and no sessions are said to be none (O19)', () => {
  const sessions = Array.from({ length: 50 }, () => description({}));
  expect(lines({ sessions }, 10)).toHaveLength(10);
  expect(lines({}).slice(1)).toEqual(['no sessions yet']);
  expect(lines({ filter: 'x' }).at(-1)).toBe('no session fits the filter');
});
