// What a follower is told of calls that wait for a decision.
import { expect, test } from 'vitest';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { PendingApproval } from '../../workflows/contract/session.ts';
import { all, description, ended, followed, session } from './support.ts';

const pending = (head: Hash, call: string, inputHash = 'h'): PendingApproval => ({
  call,
  tool: 'bash',
  reason: 'it may change files',
  inputHash,
  head,
  index: 0,
  deadline: 9,
});

test('tells once that a call waits, and that it waits no more (L55)', async () => {
  const s = await followed({ run: 1, messages: [], answers: false });
  const waits = description({ phase: 'waiting_approval', runs: 1, approvals: [pending(s.head, '1.1.0')] });
  const looks = [waits, waits, waits, description({ runs: 1 })];
  const rest = description({ phase: 'idle', runs: 1, last: s.last });
  const events = await all(s.follow(() => looks.shift() ?? rest));
  expect(events.map(({ type }) => type)).toEqual(['approval', 'approval_settled', 'result']);
  expect(events[0]).toMatchObject({ session, call: '1.1.0', tool: 'bash', deadline: 9 });
  expect(events[1]).toEqual({ type: 'approval_settled', session, call: '1.1.0' });
});

test('tells of the same call again when it waits with another input (L55)', async () => {
  const s = await followed({ run: 1, answers: false });
  const waits = (inputHash: string) =>
    description({ phase: 'waiting_approval', runs: 1, approvals: [pending(s.head, '1.1.0', inputHash)] });
  const looks = [description({ runs: 1 }), waits('a'), waits('b')];
  const rest = description({ phase: 'idle', runs: 1, last: { ...ended({ run: 1 }), head: s.head } });
  const events = await all(s.follow(() => looks.shift() ?? rest));
  expect(events.map(({ type }) => type)).toEqual([
    'approval',
    'approval_settled',
    'approval',
    'approval_settled',
    'result',
  ]);
});

test('shows a question that waits already below what was said before it (L55)', async () => {
  const s = await followed({ run: 1 });
  const waits = description({ phase: 'waiting_approval', runs: 1, approvals: [pending(s.head, '1.1.0')] });
  const start = { run: 1, queryId: 'c.1', depth: 0, cwd: '/work', model: 'm', scripted: false };
  await s.tell(1, { type: 'run_start', ...start });
  await s.tell(2, { type: 'text_delta', iteration: 1, index: 0, text: 'answer 1' });
  const looks = [waits, waits];
  const rest = description({ phase: 'idle', runs: 1, last: s.last });
  const events = await all(s.follow(() => looks.shift() ?? rest));
  expect(events.map(({ type }) => type)).toEqual(['run_start', 'text_delta', 'approval', 'approval_settled', 'result']);
});

test('tells that a call waits no more also where the run ends before another look (L55)', async () => {
  const s = await followed({ run: 1 });
  const waits = description({ phase: 'waiting_approval', runs: 1, approvals: [pending(s.head, '1.1.0')] });
  const start = { run: 1, queryId: 'c.1', depth: 0, cwd: '/work', model: 'm', scripted: false };
  await s.tell(1, { type: 'run_start', ...start });
  let isOver = false;
  const types: string[] = [];
  for await (const { type } of s.follow(() => (isOver ? description({ runs: 1, last: s.last }) : waits))) {
    types.push(type);
    if (type !== 'approval') continue;
    await s.tell(2, { type: 'run_end', ended: ended({ run: 1 }), head: s.head });
    isOver = true;
  }
  expect(types).toContain('approval');
  expect(types.slice(-3)).toEqual(['run_end', 'approval_settled', 'result']);
});
