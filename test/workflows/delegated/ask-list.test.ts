// The root's list of what waits in the sessions of agents: it travels in every handover.
import { expect, test } from 'vitest';
import { AskList } from '../../../workflows/delegated/ask-list.ts';

const ask = (n: number, more: object = {}) => ({
  call: `1.1.${n}`,
  tool: 'bash',
  reason: 'x'.repeat(1_000),
  inputHash: 'h',
  head: 'a'.repeat(64),
  index: n,
  deadline: 1,
  agent: { session: 's-a', call: `1.1.${n}`, path: ['A'] },
  ...more,
});
const size = (list: AskList): number => JSON.stringify(list.carry).length;

test('all that agents ask is carried within a bound, whoever tells it, and what fits is listed (L4 L70)', () => {
  const list = new AskList([]);
  for (let n = 0; n < 50; n += 1)
    list.hear({ session: `s-${n}`, asks: Array.from({ length: 20 }, (_, at) => ask(at)) });
  expect(size(list)).toBeLessThan(270_000);
  expect(list.waiting.length).toBeGreaterThan(150);
  const told = list.waiting.length;
  // A decided question makes room.
  expect(list.hear({ session: 's-0', asks: [] })).toBe(true);
  expect(list.hear({ session: 's-49', asks: [ask(0)] })).toBe(true);
  expect(list.waiting).toHaveLength(told - 19);
  const forged = new AskList([]);
  forged.hear({ session: 's-a', asks: [ask(0, { more: 'x'.repeat(1_000_000) })] });
  expect(forged.waiting).toEqual([]);
});

test('a path of more agents than there can be is none (L70)', () => {
  const list = new AskList([]);
  const path = Array.from({ length: 1_000 }, () => 'A');
  expect(list.hear({ session: 's-a', asks: [ask(0, { agent: { session: 's-a', call: 'c', path } })] })).toBe(false);
  expect(list.hear({ session: 'x'.repeat(2_000), asks: [ask(0)] })).toBe(false);
  expect(list.hear({ session: 's-a', asks: [ask(0)] })).toBe(true);
});
