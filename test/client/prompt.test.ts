// Prompts with images and documents: what is taken, and what is refused before anything is sent.
import { expect, test } from 'vitest';
import { readImageSize } from '../../store/transcript/media.ts';
import { parsePrompt, type Prompt, type PromptBlock } from '../../client/sessions/prompt.ts';
import { jpegOf, pdfOf, pngOf, webpOf } from '../support/images.ts';

const image = (bytes: Buffer, type = 'image/png'): PromptBlock =>
  ({ type: 'image', source: { type: 'base64', media_type: type, data: bytes.toString('base64') } }) as PromptBlock;
const pdf = (bytes: Buffer): PromptBlock => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: bytes.toString('base64') },
});
const text = (words: string): PromptBlock => ({ type: 'text', text: words });

test('a prompt of blocks is one text and its media, each with its place in the text and its share of a window (Q7 L85)', () => {
  const blocks = [text('Look:'), image(pngOf(2, 3)), text('What is it?'), pdf(pdfOf(3))];
  const { text: words, media } = parsePrompt(blocks);
  expect(words).toBe('Look:\nWhat is it?');
  expect(media).toEqual([
    { bytes: pngOf(2, 3), mediaType: 'image/png', characters: 6_400, at: 5 },
    { bytes: pdfOf(3), mediaType: 'application/pdf', characters: 30_000, at: 17 },
  ]);
});

test('a document of text is a part of the prompt’s text, between marks, with its title and what is said of it (Q7)', () => {
  const document = (data: unknown, more: object = {}) =>
    ({ type: 'document', source: { type: 'text', media_type: 'text/plain', data }, ...more }) as PromptBlock;
  const about = { title: 'The "plan"', context: 'From May.' };
  const { text: words, media } = parsePrompt([text('Read:'), document('One.\nTwo.', about), image(pngOf(1, 1))]);
  expect(words).toBe('Read:\nFrom May.\n<document title="The \\"plan\\"">\nOne.\nTwo.\n</document>');
  expect(media).toMatchObject([{ at: words.length }]);
  expect(parsePrompt([document('One.')]).text).toBe('<document>\nOne.\n</document>');
  expect(() => parsePrompt([document(7)])).toThrow('block 1 of the prompt is a document without its text');
  const cited = document('One.', { citations: { enabled: true } });
  expect(() => parsePrompt([cited])).toThrow('block 1 of the prompt asks for citations, which are not made here');
});

test.each([
  ['(an image)', [image(pngOf(1, 1))]],
  ['(images and a document)', [image(pngOf(1, 1)), image(pngOf(1, 1)), pdf(pdfOf(1))]],
  ['(documents)', [pdf(pdfOf(1)), pdf(pdfOf(2))]],
] as const)('media alone have a line that names them: %s (Q7 L85)', (line, prompt) => {
  expect(parsePrompt(prompt).text).toBe(line);
});

test.each([
  ['no image', [image(Buffer.from('hello'))], /said to be image\/png and is no image or PDF/],
  ['another kind', [image(jpegOf(2, 2))], /said to be image\/png and is image\/jpeg/],
  [
    'a kind the API does not take',
    [image(pngOf(1, 1), 'image/bmp')],
    /of type "image\/bmp": the API takes image\/jpeg/,
  ],
  ['a document as an image', [image(pdfOf(1), 'application/pdf')], /an image of type "application\/pdf"/],
  ['too many pixels', [image(pngOf(8_001, 1))], /8001 × 1 pixels, and the model takes 8000/],
  ['too many bytes', [image(Buffer.concat([pngOf(1, 1), Buffer.alloc(4_000_000)]))], /bytes, and the model takes 3,93/],
  ['too many pages', [pdf(pdfOf(101))], /is application\/pdf of 101 pages, and the model takes 100/],
  ['a broken document', [pdf(Buffer.from('%PDF-1.4'))], /is broken: its end is not there/],
  ['too many images', Array.from({ length: 21 }, () => image(pngOf(1, 1))), /has 21 images and documents: one message/],
  ['a video', [{ type: 'video' }], /block 1 of the prompt is "video": give text, images and PDF documents/],
  ['an address', [{ type: 'image', source: { type: 'url', url: 'x' } }], /is an image without its bytes/],
  ['no source', [{ type: 'document' }], /is a document without its bytes/],
  ['nothing', [], /the prompt is empty/],
] as const)('a prompt with %s is refused in a sentence (Q7)', (_, prompt, problem) => {
  expect(() => parsePrompt(prompt as unknown as Prompt)).toThrow(problem);
});

test('width and height are read from each kind of image that the API takes (Q7)', () => {
  expect(readImageSize(pngOf(7, 9))).toEqual({ mediaType: 'image/png', width: 7, height: 9 });
  expect(readImageSize(jpegOf(300, 20))).toEqual({ mediaType: 'image/jpeg', width: 300, height: 20 });
  expect(readImageSize(webpOf(40, 50))).toEqual({ mediaType: 'image/webp', width: 40, height: 50 });
  const gif = Buffer.from('GIF89a\x05\x00\x06\x00', 'latin1');
  expect(readImageSize(gif)).toEqual({ mediaType: 'image/gif', width: 5, height: 6 });
  expect(readImageSize(pngOf(7, 9).subarray(0, 12))).toBeNull();
});
