// Checks how full a query says the window of its model is.
import { expect, test } from 'vitest';
import { usageIn } from '../../../client/agent-sdk/tasks/session-spend.ts';
import { boundary, reply, textBlock, user } from '../../support/transcript.ts';

const said = reply([textBlock('x')]);
const usage = { ...said.message.usage, input_tokens: 1_000, cache_read_input_tokens: 98_000, output_tokens: 1_000 };
const counted = { ...said, message: { ...said.message, model: 'claude-haiku-4-5', usage } };

test('it is what the API counted of the last request and its reply, of the window of the model (Q7)', () => {
  expect(usageIn([said, counted, user('x')])).toMatchObject({
    model: 'claude-haiku-4-5',
    totalTokens: 100_000,
    maxTokens: 200_000,
    percentage: 50,
    categories: [
      { tokens: 100_000, kind: 'used' },
      { tokens: 100_000, kind: 'free' },
    ],
  });
  expect(usageIn([said])).toMatchObject({ totalTokens: 2, maxTokens: 0, percentage: 0 });
});

test('since a compaction it is what that has left, and before the first reply there is none (Q7)', () => {
  expect(usageIn([counted, boundary('s', 0)])).toMatchObject({ totalTokens: 10 });
  expect(() => usageIn([user('x')])).toThrow(/^no reply has come yet/);
});
