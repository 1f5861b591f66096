// Prompts with images: what is taken, and what is refused before anything is sent.
import { expect, test } from 'vitest';
import { imageSize } from '../../activities/transcript/media.ts';
import { readPrompt, type Prompt, type PromptBlock } from '../../client/sessions/prompt.ts';
import { jpegOf, pngOf, webpOf } from '../support/images.ts';

const image = (bytes: Buffer, type = 'image/png'): PromptBlock =>
  ({ type: 'image', source: { type: 'base64', media_type: type, data: bytes.toString('base64') } }) as PromptBlock;
const text = (words: string): PromptBlock => ({ type: 'text', text: words });

test('a prompt of blocks is one text and its images, each with its place in the text (Q7)', () => {
  const { text: words, images } = readPrompt([text('Look:'), image(pngOf(2, 3)), text('What is it?')]);
  expect(words).toBe('Look:\nWhat is it?');
  expect(images).toEqual([{ bytes: pngOf(2, 3), mediaType: 'image/png', at: 5 }]);
});

test('an image alone has a line that names it (Q7)', () => {
  expect(readPrompt([image(pngOf(1, 1))]).text).toBe('(an image)');
});

test.each([
  ['no image', [image(Buffer.from('hello'))], /said to be image\/png and is no image that is known/],
  ['another kind', [image(jpegOf(2, 2))], /said to be image\/png and is image\/jpeg/],
  [
    'a kind the API does not take',
    [image(pngOf(1, 1), 'image/bmp')],
    /of type "image\/bmp": the API takes image\/jpeg/,
  ],
  ['too many pixels', [image(pngOf(8_001, 1))], /8001 × 1 pixels: the API takes 8000/],
  ['too many bytes', [image(Buffer.concat([pngOf(1, 1), Buffer.alloc(4_000_000)]))], /bytes in base64: the API takes/],
  ['too many images', Array.from({ length: 21 }, () => image(pngOf(1, 1))), /has 21 images: give at most 20/],
  ['a document', [{ type: 'document' }], /block 1 of the prompt is "document": give text and images/],
  ['an address', [{ type: 'image', source: { type: 'url', url: 'x' } }], /without its bytes/],
  ['nothing', [], /the prompt is empty/],
] as const)('a prompt with %s is refused in a sentence (Q7)', (_, prompt, problem) => {
  expect(() => readPrompt(prompt as unknown as Prompt)).toThrow(problem);
});

test('width and height are read from each kind of image that the API takes (Q7)', () => {
  expect(imageSize(pngOf(7, 9))).toEqual({ mediaType: 'image/png', width: 7, height: 9 });
  expect(imageSize(jpegOf(300, 20))).toEqual({ mediaType: 'image/jpeg', width: 300, height: 20 });
  expect(imageSize(webpOf(40, 50))).toEqual({ mediaType: 'image/webp', width: 40, height: 50 });
  const gif = Buffer.from('GIF89a\x05\x00\x06\x00', 'latin1');
  expect(imageSize(gif)).toEqual({ mediaType: 'image/gif', width: 5, height: 6 });
  expect(imageSize(pngOf(7, 9).subarray(0, 12))).toBeNull();
});
