// What a server answers, as the model reads it (L74).
import { expect, test } from 'vitest';
import { outputOf } from '../../../activities/mcp/results.ts';

const png = { type: 'image', mimeType: 'image/png', data: Buffer.from('1234').toString('base64') };

test.each<[string, Parameters<typeof outputOf>[0], string]>([
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
  ['an image, by kind and size', { content: [png] }, '(image, image/png, 4 bytes: only texts reach the model here)'],
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
  ['nothing', {}, ''],
])('%s', (_, result, content) => {
  expect(outputOf(result)).toEqual({ content });
});

test('an error of the tool is one', () => {
  expect(outputOf({ isError: true, content: [{ type: 'text', text: 'no' }] })).toEqual({
    content: 'no',
    isError: true,
  });
});
