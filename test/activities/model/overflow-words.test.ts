// What servers say of a request that is too long, and what only sounds like it.
import { APIError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { classifyFailure, maxOutputIn } from '../../../activities/model/classify.ts';
import { overflowRows } from '../../../activities/model/refused/overflow-words.ts';

function verdictOf(message: string, status: number | undefined = 400, words?: readonly string[]) {
  const body = { type: 'error', error: { type: 'invalid_request_error', message } };
  return classifyFailure(new APIError(status, body, message, new Headers()), 0, (text) => text, words);
}

describe('a request that is too long', () => {
  test.each(overflowRows.map(({ server, says, words }) => [server, says, words] as const))(
    'is seen in the words of %s: %s (X4 L23 L24)',
    (_server, says, words) => {
      expect(words.test(says)).toBe(true);
      expect(verdictOf(says)).toMatchObject({ kind: 'too_long', detail: `400: ${says}` });
      const nested = `litellm.BadRequestError: ${JSON.stringify({ error: { message: says } })}. Fallbacks=None`;
      expect(verdictOf(nested)?.kind).toBe('too_long');
    },
  );

  test('is known in 28 wordings and more, each with the month in which it was looked up (X4)', () => {
    expect(overflowRows.length).toBeGreaterThanOrEqual(28);
    expect(overflowRows.filter(({ seen }) => !/^20\d\d-\d\d$/.test(seen))).toEqual([]);
    expect(new Set(overflowRows.map(({ says }) => says)).size).toBe(overflowRows.length);
  });

  test.each([422, 500, undefined])('may be said with the status %s (X4)', (status) => {
    expect(verdictOf('Context size has been exceeded.', status)?.kind).toBe('too_long');
  });

  test('is seen in the words of a configuration, in small or large letters (X4)', () => {
    const says = 'E42: THE BUFFER OF THE MODEL IS FULL';
    expect(verdictOf(says)?.kind).toBe('failed');
    expect(verdictOf(says, 400, ['the buffer of the model is full'])).toMatchObject({ kind: 'too_long' });
  });
});

describe('what only sounds like it', () => {
  test.each([
    [400, 'Too many tokens, rate limit reached; please wait', 'failed'],
    [400, 'too many tokens per minute: 450,000 input tokens exceed the limit of 400,000', 'failed'],
    [400, 'ThrottlingException: Too many input tokens, please wait before trying again.', 'failed'],
    [429, 'This request would exceed your organization’s rate limit of 30,000 input tokens per minute', 'retry'],
    [429, 'Number of request tokens has exceeded your per-minute rate limit', 'retry'],
    [429, 'Too many tokens, please wait before trying again.', 'retry'],
    [400, 'You exceeded your current quota of input tokens', 'failed'],
    [400, 'Request too large for gpt-x on tokens per minute (TPM): Limit 30000, Requested 40000.', 'failed'],
    [400, 'max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens', 'failed'],
    [400, 'The maximum tokens you requested exceeds the model limit of 8,192.', 'failed'],
    [400, 'tools.0.name: string is too long, at most 1024 characters', 'failed'],
    [400, 'metadata.user_id: the value exceeds the limit of 256 characters', 'failed'],
    [400, 'messages.0.content.0.image: image exceeds 5 MB maximum', 'media_too_large'],
    [401, 'prompt is too long', 'failed'],
    [503, 'context length exceeded its turn in the queue', 'retry'],
  ])('%i %s is none (X4 L20)', (status, says, kind) => {
    expect(verdictOf(says, status)?.kind).toBe(kind);
  });

  test.each([
    [
      "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 65536 tokens and your request has 34006 input tokens (32000 > 65536 - 34006).",
      31_530,
    ],
    [
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 30 `inputs` tokens and 64000 `max_new_tokens`',
      32_739,
    ],
  ])('a cap that does not fit beside a prompt that does is lowered to what is left: %s (X4 L26)', (says, most) => {
    const verdict = verdictOf(says);
    if (verdict?.kind !== 'failed') throw new Error(verdict?.kind);
    expect(maxOutputIn(verdict, 64_000)).toBe(most);
  });

  test('a prompt that leaves next to nothing for the reply is too long (X4 L24)', () => {
    const says =
      "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 65536 tokens and your request has 65000 input tokens (8000 > 65536 - 65000).";
    expect(verdictOf(says)?.kind).toBe('too_long');
  });
});
