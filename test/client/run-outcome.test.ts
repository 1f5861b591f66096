// What a run came to, as programs read it.
import { expect, test } from 'vitest';
import { runOutcome } from '../../client/sessions/outcome.ts';
import { noUsage } from '../../workflows/contract/loop.ts';
import { session } from './support.ts';

const facts = {
  run: 1,
  turns: 1,
  iterations: 1,
  transitions: [],
  text: '',
  messages: [],
  usage: noUsage,
  durationMs: 5,
};

test.each([
  [0.008591999999999999, 0.008592],
  [0.1 + 0.2, 0.3],
  [0.00000001, 0.00000001],
  [1234.5, 1234.5],
  [0, 0],
  [null, null],
])('gives the cost of %d without the noise of adding prices: %d', (summed, costUsd) => {
  const terminal = { reason: 'completed' } as const;
  expect(runOutcome(session, { ...facts, reason: 'completed', terminal, costUsd: summed }).costUsd).toBe(costUsd);
});
