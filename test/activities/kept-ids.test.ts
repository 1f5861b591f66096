// Under which ids calls are sent again: thinking is bound to them, also where what was before them
// goes with a summary.
import { expect, test } from 'vitest';
import { lookingBench } from '../support/looking-bench.ts';

/** So many that several rounds are kept. */
const TURNS = 60;

test.each<[string, (turn: number) => string]>([
  ['repeat', () => 'call_0'],
  ['are not allowed', (turn) => `functions.look:${turn}`],
])('ids that %s are sent as they were when the API has summed up what was before them (L10 L58 L59)', async (_, id) => {
  const h = await lookingBench(TURNS, { id });
  const idsOf = (): readonly string[] => JSON.stringify(h.last().messages).match(/"id":"[^"]*"/g) ?? [];
  await h.call();
  const before = idsOf();
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  await h.call();
  const kept = idsOf().slice(0, -1);
  expect(kept.length).toBeGreaterThan(1);
  expect(before.slice(-kept.length)).toEqual(kept);
  await h.call();
  expect([await h.dropped(), await h.epochs(), h.model.problems]).toEqual([[], ['first'], []]);
});

test('one odd id, of a fallback by another maker, costs no thinking that is kept (L19 L59)', async () => {
  const id = (turn: number): string => (turn === TURNS ? 'functions.look:1' : `toolu_${turn}`);
  const h = await lookingBench(TURNS - 1, { id, run: { fallbackModels: ['my-other'] } });
  await h.call([], 1);
  await h.call();
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  await h.call();
  await h.call();
  expect([await h.dropped(), await h.epochs()]).toEqual([[], ['first']]);
});
