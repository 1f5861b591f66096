// What a server answers, as the model reads it (L74).
import { expect, test } from 'vitest';
import { toToolOutput, toResourcesOutput } from '../../../tools/mcp/results.ts';
import { pdfOf, pngOf } from '../../support/images.ts';

const said = (text: string): object => ({ type: 'text', text });
const png = { type: 'image', mimeType: 'image/png', data: Buffer.from('1234').toString('base64') };

test.each<[string, Parameters<typeof toToolOutput>[0], string]>([
  [
    'texts, a line each',
    {
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    'a\nb',
  ],
  [
    'what is no image, whatever it is said to be',
    { content: [png] },
    '(image, image/png, 4 bytes: only texts, images and PDF documents reach the model here)',
  ],
  [
    'a resource, with its text',
    { content: [{ type: 'resource', resource: { uri: 'x://a', mimeType: 'text/plain', text: 'hi' } }] },
    '(resource x://a, text/plain)\nhi',
  ],
  ['a link', { content: [{ type: 'resource_link', uri: 'x://a', name: 'a' }] }, '(a link to the resource x://a)'],
  [
    'what it does not know',
    { content: [{ type: 'hologram' }, 7] },
    '(content of a kind that is not known here)\n(content of a kind that is not known here)',
  ],
  ['structured content', { structuredContent: { a: 1 } }, '{"a":1}'],
  [
    'structured content that a text says, once',
    { content: [{ type: 'text', text: '{ "a": 1 }' }], structuredContent: { a: 1 } },
    '{ "a": 1 }',
  ],
  [
    'a text that has a name there, once',
    { content: [{ type: 'text', text: 'hi' }], structuredContent: { content: 'hi' } },
    'hi',
  ],
  [
    'structured content that no text says',
    { content: [{ type: 'text', text: 'see' }], structuredContent: [1] },
    'see\n[1]',
  ],
  ['a number that has a name there, once', { content: [said('3')], structuredContent: { result: 3 } }, '3'],
  [
    'a list that has a name there, once',
    { content: [said('[ 1, 2 ]')], structuredContent: { all: [1, 2] } },
    '[ 1, 2 ]',
  ],
  [
    'a list of which each item is a text, once',
    { content: [said('a'), said('{ "b": 2 }')], structuredContent: { result: ['a', { b: 2 }] } },
    'a\n{ "b": 2 }',
  ],
  [
    'a list of which a text says less',
    { content: [said('a')], structuredContent: { result: ['a', 'b'] } },
    'a\n{"result":["a","b"]}',
  ],
  ['another number than the text', { content: [said('4')], structuredContent: { result: 3 } }, '4\n{"result":3}'],
  [
    'what has two names, of which the text says one',
    { content: [said('3')], structuredContent: { result: 3, of: 4 } },
    '3\n{"result":3,"of":4}',
  ],
  ['nothing', {}, ''],
])('%s', (_, result, content) => {
  expect(toToolOutput(result)).toEqual({ content });
});

test('an error of the tool is one', () => {
  expect(toToolOutput({ isError: true, content: [{ type: 'text', text: 'no' }] })).toEqual({
    content: 'no',
    isError: true,
  });
});

test('images and documents reach the model as they are, of results and of resources (L74 L85)', () => {
  const data = pngOf(3, 4).toString('base64');
  const blob = pdfOf(2).toString('base64');
  const text = { type: 'text', text: 'the screen' };
  const resource = { uri: 'x://a', mimeType: 'application/pdf', blob };
  expect(
    toToolOutput({ content: [text, { type: 'image', mimeType: 'image/jpeg', data }, { type: 'resource', resource }] }),
  ).toEqual({
    content: 'the screen\n(resource x://a, application/pdf)',
    media: [pngOf(3, 4), pdfOf(2)],
  });
  expect(toResourcesOutput([resource])).toEqual({ content: '(resource x://a, application/pdf)', media: [pdfOf(2)] });
});

test('an image that the model does not take is named, with what is wrong (L85)', () => {
  const data = pngOf(9_000, 4).toString('base64');
  const { content, media } = toToolOutput({ content: [{ type: 'image', mimeType: 'image/png', data }] });
  expect([content, media]).toEqual([expect.stringContaining('it is an image of 9000 × 4 pixels'), undefined]);
});
