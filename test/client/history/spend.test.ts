// The spend of a session as its transcript tells it.
import { expect, test } from 'vitest';
import { transcriptItems } from '../../../client/sessions/history/items.ts';
import { sumSpend } from '../../../client/sessions/history/spend.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { addSpend } from '../../../workflows/contract/loop.ts';
import { boundary, callBlock, reply, runEnded, runStarted, textBlock, user } from '../../support/transcript.ts';

const itemsOf = (...entries: Entry[]) => {
  const items = transcriptItems();
  items.add(entries);
  return items.all;
};

test('an ended run has the cost and turns its end says, with compactions and agents; an open one at least its replies (O4)', () => {
  const one = reply([textBlock('a')]);
  const total = { usage: { input: 9_000, output: 1, cacheRead: 0, cacheWrite: 0 }, usd: 3 };
  const end = runEnded(1) as Extract<Entry, { kind: 'run_ended' }>;
  const ended = { ...end, ended: { ...end.ended, spend: total } };
  const first = [runStarted(1), user('x'), one, ended] as const;
  expect(sumSpend(itemsOf(...first))).toMatchObject({ run: { spend: total, isLeast: false }, all: { spend: total } });
  const second = sumSpend(itemsOf(...first, runStarted(2), user('y'), one, boundary('s', 0), one));
  expect(second.run).toEqual({ spend: addSpend(one.spend, one.spend), turns: 2, isLeast: true });
  expect(second.all).toEqual({ spend: addSpend(total, addSpend(one.spend, one.spend)), turns: 4, isLeast: true });
  const agents = sumSpend(itemsOf(runStarted(1), user('y'), reply([callBlock('t', {}, 'agent')])));
  expect(agents.run.isLeast).toBe(true);
});
