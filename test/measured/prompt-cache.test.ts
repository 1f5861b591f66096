// How much of a long conversation is read from the prompt cache, as the scripted model bills it.
import { expect, test } from 'vitest';
import { converse } from '../support/long-conversation.ts';

test('of 200 turns behind 60,000 tokens at least 97 in a hundred are read from the cache, and a summary costs one miss (L22)', async () => {
  const asked = { seed: 1, turns: 200, prompts: 4, days: 0, even: true, first: 240_000 };
  const [whole, summed] = [
    await converse({ ...asked, window: 1_000_000 }),
    await converse({ ...asked, turns: 40, window: 80_000 }),
  ];
  expect([whole.problems, summed.problems]).toEqual([[], []]);
  expect([whole.replies, whole.boundaries.signed, whole.misses]).toEqual([200, 0, 0]);
  expect(whole.tokens.read / whole.tokens.all).toBeGreaterThan(0.97);
  expect(summed.boundaries.signed).toBeGreaterThan(0);
  expect(summed.misses).toBeLessThanOrEqual(summed.boundaries.signed + summed.boundaries.ours);
});
