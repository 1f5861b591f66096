import { expect, test } from 'vitest';
import { formatMoney, shortAge, shortTime } from '../../../client/units.ts';

test.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [4_249, '4.2 s'],
  [59_999, '59.9 s'],
  [60_000, '1 min'],
  [200_000, '3 min 20 s'],
  [7_500_000, '2 h 5 min'],
  [3 * 86_400_000, '3 d'],
])('%d milliseconds are %s', (ms, text) => {
  expect(shortTime(ms)).toBe(text);
});

test.each([
  [-5, '0 s'],
  [59_999, '59 s'],
  [7_500_000, '2 h'],
  [80 * 3_600_000, '3 d'],
])('%d milliseconds ago is %s', (ms, text) => {
  expect(shortAge(ms)).toBe(text);
});

test.each([
  [null, 'cost unknown'],
  [0, '$0'],
  [0.00123, '$0.0012'],
  [12.345, '$12.35'],
])('%s dollars are %s', (usd, text) => {
  expect(formatMoney(usd)).toBe(text);
});
