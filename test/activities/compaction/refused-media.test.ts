// Which images and documents go when a request was refused for all of them together: the oldest.
import { describe, expect, test } from 'vitest';
import { APIError } from '@anthropic-ai/sdk';
import { findMediaLimit } from '../../../activities/compaction/summarize.ts';
import { classifyFailure } from '../../../activities/model/classify.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { hashOf } from '../../../store/values/store.ts';
import type { MessageId } from '../../../workflows/contract/ids.ts';
import { boundary, callBlock, outcome, outcomes, reply, textBlock, user } from '../../support/transcript.ts';

const medium = { hash: hashOf(Buffer.from('image')), bytes: 5, mediaType: 'image/png', characters: 6_400 } as const;
const asked = (id: string): Entry => ({
  kind: 'user',
  id: id as MessageId,
  body: { kind: 'text', text: 'Look.', media: [{ ...medium, at: 0 }] },
});
const seen = outcomes(outcome(0, '[image/png]', { media: [medium] }));

describe('of the images of a request that was refused', () => {
  test('those of the prompt that is asked now stay, and older ones go (L24 L85)', () => {
    expect(findMediaLimit([asked('a'), reply([textBlock('Seen.')]), asked('b')])).toBe(1);
  });

  test('the one that the model has just read stays (L24 L85)', () => {
    const entries = [user('look'), reply([callBlock('a')]), seen, reply([callBlock('b')]), seen];
    expect(findMediaLimit(entries)).toBe(3);
  });

  test('all go where none is older, or none of the older is shown any more (L24 L85)', () => {
    expect(findMediaLimit([user('x'), reply([textBlock('y')]), asked('b')])).toBe(3);
    const hidden: Entry = { ...boundary('so far', 3, [0]), bareBefore: 3 } as Entry;
    const entries = [
      asked('a'),
      reply([textBlock('Seen.')]),
      user('more'),
      hidden,
      reply([textBlock('y')]),
      asked('b'),
    ];
    expect(findMediaLimit(entries)).toBe(6);
  });
});

test('images that are too many for their size are known by the code of the error, whatever it says (L24)', () => {
  const error = {
    type: 'invalid_request_error',
    message: 'No.',
    details: { error_code: 'image_dimensions_too_large' },
  };
  const made = new APIError(400, { type: 'error', error }, 'No.', new Headers());
  expect(classifyFailure(made, 0, (text) => text)?.kind).toBe('media_too_large');
});
