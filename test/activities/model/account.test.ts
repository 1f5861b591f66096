// Failures that are the account's, overloads that are not, and the reasons of a refusal.
import { APIError } from '@anthropic-ai/sdk';
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import { describe, expect, test } from 'vitest';
import { classifyFailure } from '../../../activities/model/classify.ts';
import { afterFailure, countFailure, noTries } from '../../../activities/model/refused/failed-attempt.ts';
import { judgeMessage } from '../../../activities/model/judge.ts';
import { defaultBackoff } from '../../../store/configuration.ts';
import { noSpend } from '../../../workflows/contract/loop.ts';

type Failure = {
  readonly status?: number;
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly headers?: Record<string, string>;
};

function verdictOf({ status, type, message, code, headers = {} }: Failure) {
  const error = { type, message, ...(code === undefined ? {} : { details: { error_code: code } }) };
  const made = new APIError(status, { type: 'error', error }, message, new Headers(headers), null);
  const verdict = classifyFailure(made, 0, (text) => text);
  if (!verdict) throw new Error('no failure of the model');
  return verdict;
}

const after = (failure: Failure) => {
  const verdict = verdictOf(failure);
  const abandoned = { from: 'a', to: 'b', calls: [] };
  const tries = countFailure(noTries, verdict, noSpend);
  return afterFailure({ verdict, tries, abandoned, random: 0 }, { backoff: defaultBackoff });
};

describe('what the account may spend is spent', () => {
  test.each<[string, Failure, RegExp]>([
    [
      'its own limit, as an error code',
      {
        status: 429,
        type: 'rate_limit_error',
        message: 'Your organization has reached its spend limit.',
        code: 'enforced_spend_limit_reached',
        headers: { 'x-should-retry': 'true' },
      },
      /spend limit.*raise it under Limits/,
    ],
    [
      'the limit of its contract',
      { status: 429, type: 'rate_limit_error', message: 'Limit reached.', code: 'contract_spend_limit_reached' },
      /contract.*ask whoever keeps/,
    ],
    [
      'its own limit, in the words of a 400',
      {
        status: 400,
        type: 'invalid_request_error',
        message: 'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
      },
      /2026-12-01.*raise it under Limits/,
    ],
    [
      'nothing is paid',
      { status: 402, type: 'billing_error', message: 'There is a problem with your payment.' },
      /payment under Billing/,
    ],
    [
      'nothing is paid, within a stream',
      { type: 'billing_error', message: 'There is a problem with your payment.' },
      /payment under Billing/,
    ],
    [
      'no credit is left',
      { status: 400, type: 'invalid_request_error', message: 'Your credit balance is too low to access the API.' },
      /credit or payment under Billing/,
    ],
  ])(
    '%s: not tried again, by no other model either, and people are told what to do (L14 L19 L20)',
    (_, failure, told) => {
      expect(verdictOf(failure).detail).toMatch(told);
      expect(after(failure)).toMatchObject({
        kind: 'result',
        result: { kind: 'failed', detail: expect.stringMatching(told) },
      });
    },
  );

  test('a limit that is ramped up is waited for as the provider asks (L14)', () => {
    const failure = {
      status: 429,
      type: 'rate_limit_error',
      message: 'Slow down.',
      code: 'ramp_limit_exceeded',
      headers: { 'retry-after': '7' },
    };
    expect(after(failure)).toMatchObject({ kind: 'retry', delayMs: 7_000, requested: true });
  });
});

describe('what passes', () => {
  test.each<[string, Failure]>([
    ['409', { status: 409, type: 'conflict_error', message: 'Try again.' }],
    ['504', { status: 504, type: 'timeout_error', message: 'The request timed out.' }],
    ['a time-out within a stream', { type: 'timeout_error', message: 'The request timed out.' }],
    ['a conflict within a stream', { type: 'conflict_error', message: 'Try again.' }],
    [
      '529, for a compaction alone',
      { status: 529, type: 'overloaded_error', message: 'Overloaded.', code: 'compaction_unavailable' },
    ],
    [
      '503, while a key is looked up',
      { status: 503, type: 'api_error', message: 'Key.', code: 'cmek_key_unavailable' },
    ],
  ])('%s is tried again (L14)', (_, failure) => {
    expect(after(failure)).toMatchObject({ kind: 'retry' });
  });
});

describe('a refusal', () => {
  const refused = (stop_details: unknown, text?: string): string => {
    const content = text === undefined ? [] : [{ type: 'text', text, citations: null }];
    const judged = judgeMessage({ stop_reason: 'refusal', stop_details, content } as unknown as Message, []);
    return judged.kind === 'refused' ? judged.detail : judged.kind;
  };

  test.each([
    [
      { type: 'refusal', category: 'frontier_llm', explanation: 'It could help to train a model.' },
      undefined,
      'The model refused to answer (frontier llm): It could help to train a model.',
    ],
    [
      { type: 'refusal', category: 'cyber', explanation: 'Malware.' },
      'I cannot',
      'The model refused to answer (cyber): Malware. It said: I cannot',
    ],
    [{ type: 'refusal', category: null, explanation: null }, 'No.', 'The model refused to answer: No.'],
    [{ type: 'refusal', category: 'bio', explanation: null }, undefined, 'The model refused to answer (bio).'],
    [{ category: 5, explanation: {} }, undefined, 'The model refused to answer.'],
    [undefined, undefined, 'The model refused to answer.'],
  ])('of %o says so to people (L19 L20)', (details, text, told) => {
    expect(refused(details, text)).toBe(told);
  });
});
