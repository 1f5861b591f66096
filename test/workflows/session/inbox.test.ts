// The bodies of messages that a signal may bring: anyone who can signal a session can send
// anything.
import { expect, test } from 'vitest';
import { hashOf } from '../../../store/values/store.ts';
import { isBody } from '../../../workflows/contract/people.ts';

const hash = hashOf(Buffer.from('bytes'));
const medium = { hash, bytes: 5, mediaType: 'image/png', characters: 6_400, at: 0 };
const withMedia = (...media: unknown[]) => ({ kind: 'text', text: 'Look.', media });

test.each([
  ['a text', { kind: 'text', text: '' }, true],
  ['a stored text', { kind: 'stored', hash, bytes: 5 }, true],
  ['an image and a document', withMedia(medium, { ...medium, mediaType: 'application/pdf' }), true],
  ['nothing', undefined, false],
  ['a hash that is none', { kind: 'stored', hash: 'x', bytes: 5 }, false],
  ['media that are no list', { kind: 'text', text: 'Look.', media: medium }, false],
  ['more of them than a message has', withMedia(...Array.from({ length: 21 }, () => medium)), false],
  ['a video', withMedia({ ...medium, mediaType: 'video/mp4' }), false],
  ['one without a size', withMedia({ ...medium, characters: undefined }), false],
  ['one of a negative size', withMedia({ ...medium, characters: -1e9 }), false],
])('%s: a body or not (L61 L85)', (_, body, is) => {
  expect(isBody(body)).toBe(is);
});
