import { APIError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { classifyFailure, retryAfter, windowIn } from '../../activities/model/classify.ts';

describe('a failure of the model API', () => {
  test('is told in brief, however long the error page of a proxy is (L20)', () => {
    const page = APIError.generate(403, undefined, `<html>${'x'.repeat(3_000_000)}</html>`, new Headers());
    const verdict = classifyFailure(page, 0, (text) => text);
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

  test.each([
    'messages.2.content.0.tool_result.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels',
    'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6 bytes > 5 bytes',
    'Could not process image',
    'A maximum of 100 PDF pages may be provided.',
    'The PDF specified was not valid.',
    'The PDF specified is password protected.',
    'Too much media: 0 document pages + 107 images > 100',
    'messages.2.content.0.image.source.base64: The image was specified using the image/png media type, but the image appears to be a image/jpeg image',
    'messages.8.content.0.tool_result.content.0.image.source.base64.data: Image does not match the provided media type image/png',
    "messages.36.content.2.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    'messages.0.content.0.document.source.base64.data: Invalid base64',
    'Invalid image data',
    'This model does not support image input',
    'Invalid content type. image_url is only supported by certain models.',
  ])('that is about an image or a document may do without it: %s (L24 L85)', (message) => {
    const error = APIError.generate(
      400,
      { type: 'error', error: { type: 'invalid_request_error', message } },
      message,
      new Headers(),
    );
    expect(classifyFailure(error, 0, (text) => text)?.kind).toBe('media_too_large');
  });
});

test('a gateway that finds no model for images is about them, and one that finds no model at all is not (L24 L85)', () => {
  const kind = (message: string): string | undefined =>
    classifyFailure(APIError.generate(404, { error: { message } }, message, new Headers()), 0, (text) => text)?.kind;
  expect(kind('No endpoints found that support image input')).toBe('media_too_large');
  expect(kind('No endpoints found that support tool use')).toBe('failed');
  expect(kind('model: claude-none')).toBe('failed');
});

test.each([
  ['prompt is too long: 1200000 tokens > 1000000 maximum', 1_000_000],
  ['input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length', 200_000],
  ["This model's maximum context length is 32768 tokens. However, you requested 40000 tokens", 32_768],
  ['the request exceeds the available context size (4096 tokens), try increasing it', 4_096],
  ['request (5000 tokens) exceeds the available context size (4,096 tokens)', 4_096],
  ['prompt is too long', undefined],
  ['messages.0.content: 12 tokens > 5 maximum', undefined],
])('%s names a window of %s tokens (L24 X1)', (detail, window) => {
  expect(windowIn(detail).window).toBe(window);
});
