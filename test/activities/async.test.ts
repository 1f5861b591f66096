// What several ask for at once is asked for once.
import { expect, test } from 'vitest';
import { shared } from '../../activities/async.ts';

test('who asks while the same is asked for shares its answer, and who asks later asks anew (L64)', async () => {
  const asked: string[] = [];
  const ask = (key: string): Promise<number> => {
    asked.push(key);
    return Promise.resolve(asked.length);
  };
  const look = shared<string, number>();
  expect(await Promise.all([look('a', ask), look('b', ask), look('a', ask)])).toEqual([1, 2, 1]);
  expect(await look('a', ask)).toBe(3);
  expect(asked).toEqual(['a', 'b', 'a']);
});

test('a failure is shared as well, and forgotten', async () => {
  const look = shared<string, string>();
  const fail = () => Promise.reject(new Error('gone'));
  const both = await Promise.allSettled([look('a', fail), look('a', () => Promise.resolve('never asked'))]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await look('a', () => Promise.resolve('here'))).toBe('here');
});
