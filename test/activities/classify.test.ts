import { APIError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { classify, retryAfter } from '../../activities/model/classify.ts';

describe('a failure of the model API', () => {
  test('is told in brief, however long the error page of a proxy is (L20)', () => {
    const page = APIError.generate(403, undefined, `<html>${'x'.repeat(3_000_000)}</html>`, new Headers());
    const verdict = classify(page, 0, (text) => text);
    expect(verdict).toMatchObject({ kind: 'failed', status: 403 });
    expect(verdict?.detail.length).toBeLessThan(2_100);
  });

  test.each([
    ['soon', null],
    ['2', 2_000],
    ['-2', 0],
    ['Thu, 01 Jan 1970 00:01:00 GMT', 60_000],
    ['Infinity', 30 * 24 * 3_600_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 30 * 24 * 3_600_000],
  ])('a retry-after of %s is one that a timer can hold (L14)', (header, ms) => {
    expect(retryAfter(header, 0)).toBe(ms);
  });
});
