// Long conversations with a model that binds its thinking to all that stood before it. A short one;
// for one as long as is wanted: `npm run long-conversation -- --seed 7 --turns 2000`, and a seed
// does the same again.
import { expect, test } from 'vitest';
import { converse } from '../support/long-conversation.ts';

const {
  LONG_SEED: seed = String(Date.now() % 1_000_000),
  LONG_TURNS: turns = '120',
  LONG_PROMPTS: prompts = '10',
} = process.env;
const isLong = process.env.LONG_TURNS !== undefined;

test('a conversation over days, with summaries, new tools, a fallback and back, is never refused (L5 L19 L22 L59)', async () => {
  const window = isLong ? 110_000 : 16_000;
  const asked = { seed: Number(seed), turns: Number(turns), prompts: Number(prompts), days: 3, window };
  const began = performance.now();
  const { ends, replies, boundaries, epochs, fallbacks, tokens, misses, problems } = await converse(asked);
  if (isLong) {
    const read = ((100 * tokens.read) / tokens.all).toFixed(1);
    const seconds = Math.round((performance.now() - began) / 1_000);
    console.info(
      `seed ${seed}: ${replies} turns of ${ends.length} prompts in ${seconds} s; ${boundaries.signed} summaries signed by the API, ${boundaries.ours} of ours; ` +
        `${epochs.length} epochs; ${fallbacks} fallback; ${read} % of ${tokens.all} tokens read from the cache, ${misses} misses; ${problems.length} problems`,
    );
  }
  expect({ seed, problems }).toEqual({ seed, problems: [] });
  expect(new Set(ends)).toEqual(new Set(['completed']));
  expect(fallbacks).toBe(1);
  // Of a long one as many as its turns fill the window.
  const summaries = isLong ? Math.floor(Number(turns) / 330) : 2;
  expect(boundaries.signed + boundaries.ours).toBeGreaterThanOrEqual(summaries);
  expect(epochs).toEqual(['first']);
});
