// Answers that are held for all who ask.
import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test } from 'vitest';
import { holdAnswers } from '../../page/ports.ts';

test('counts and polls are asked for once by all who look at a time, and again when their time is over (O13)', async () => {
  let at = 0;
  let asked = 0;
  const ask = holdAnswers(
    (key: string) => Promise.resolve(`${key} ${(asked += 1)}`),
    () => 3_000,
    () => at,
  );
  expect(await Promise.all([ask('a'), ask('a'), ask('b'), ask('a')])).toEqual(['a 1', 'a 1', 'b 2', 'a 1']);
  at = 2_999;
  expect(await ask('a')).toBe('a 1');
  at = 3_000;
  expect(await ask('a')).toBe('a 3');
});

test('what one caller has set for its own calls does not reach an answer that others share (O10 O13)', async () => {
  const given = new AsyncLocalStorage<string>();
  const ask = holdAnswers(
    () => Promise.resolve(given.getStore()),
    () => 3_000,
  );
  expect(await given.run('abort', () => ask('a'))).toBeUndefined();
});

test('an answer that failed is not held (O10)', async () => {
  let asked = 0;
  const ask = holdAnswers(
    () => ((asked += 1) === 1 ? Promise.reject(new Error('away')) : Promise.resolve(asked)),
    () => 3_000,
  );
  await expect(ask('a')).rejects.toThrow('away');
  expect(await ask('a')).toBe(2);
});
