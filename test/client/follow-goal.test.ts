import { expect, test } from 'vitest';
import { goalAfter, goalOf, hasNoRun, lookForGoal } from '../../client/follow/news.ts';
import { description, ended, message } from './support.ts';

const last = (run: number, ...messages: string[]) => ({ ...ended({ run, messages }), head: null });

test.each([
  ['a new session', description(), null, { from: 1, underWay: true }],
  ['a run under way', description({ runs: 2, last: last(1) }), null, { from: 2, underWay: true }],
  ['a session at rest', description({ phase: 'idle', runs: 2, last: last(2) }), null, { from: 2, underWay: true }],
  [
    'a message not seen yet',
    description({ phase: 'idle', unseen: true, last: last(2) }),
    null,
    { from: 3, underWay: true },
  ],
  [
    'a closed session',
    description({ phase: 'closed', status: 'cancelled', last: last(2) }),
    null,
    { from: 2, underWay: true },
  ],
  ['a message to one at rest', description({ phase: 'idle', last: last(2) }), 'm', { from: 3, underWay: false }],
  ['a message to a busy one', description({ runs: 3, last: last(2) }), 'm', { from: 3, underWay: true }],
  ['a message answered already', description({ phase: 'idle', last: last(2, 'm') }), 'm', { from: 2, underWay: true }],
] as const)('knows the first run of interest of %s', (_what, seen, id, goal) => {
  expect(goalOf(seen, id === null ? null : message(id))).toMatchObject(goal);
});

test('takes an interrupt that opened no run for no reason to wait', () => {
  const goal = goalOf(description({ phase: 'idle', unseen: true, runs: 1, last: last(1) }), null);
  expect(lookForGoal(goal, description({ phase: 'idle', runs: 1, last: last(1) }))).toMatchObject({ kind: 'ended' });
});

test('expects a run after the last one while agents work in the background (L71)', () => {
  const idle = { phase: 'idle', runs: 1, last: last(1) } as const;
  const atWork = description({ ...idle, background: 1 });
  expect(hasNoRun(goalAfter(1), atWork)).toBe(false);
  expect(lookForGoal(goalAfter(1), atWork)).toEqual({ kind: 'not_yet' });
  expect(hasNoRun(goalAfter(1), description(idle))).toBe(true);
});
