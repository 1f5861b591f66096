// After each file of the server tier the sessions it opened are replayed, from their first task to
// their last.
import { afterAll, expect } from 'vitest';
import { replayGathered } from './replay-histories.ts';

afterAll(async () => {
  expect(await replayGathered()).toEqual(new Map());
});
