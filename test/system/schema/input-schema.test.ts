import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { checkInput, type InputSchema } from '../../../system/schema/input-schema.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { createRegistry, buildDefinition } from '../../../tools/registry.ts';
import { defineTool, type Tool } from '../../../tools/tool.ts';

const plain = {
  type: 'object',
  properties: { article: { type: 'string' }, places: { type: 'array', items: { type: 'string' } } },
  required: ['article'],
  additionalProperties: false,
} as const;

const shared = {
  name: 'stock',
  description: 'How many of an article are in stock.',
  risk: 'read',
  recovery: 'rerun',
} as const;

const zodTool = defineTool({
  ...shared,
  inputSchema: z.strictObject({ article: z.string(), places: z.array(z.string()).optional() }),
  call: async ({ article }) => ({ content: article.toUpperCase() }),
});
const valibotTool = defineTool({
  ...shared,
  inputSchema: toStandardJsonSchema(v.strictObject({ article: v.string(), places: v.optional(v.array(v.string())) })),
  call: async ({ article }) => ({ content: article.toUpperCase() }),
});
const arktypeTool = defineTool({
  ...shared,
  inputSchema: type({ '+': 'reject', article: 'string', 'places?': 'string[]' }),
  call: async ({ article }) => ({ content: article.toUpperCase() }),
});
const besideTool = defineTool({
  ...shared,
  inputSchema: v.strictObject({ article: v.string(), places: v.optional(v.array(v.string())) }),
  inputJsonSchema: plain,
  call: async ({ article }) => ({ content: article.toUpperCase() }),
});
const jsonTool = defineTool({
  ...shared,
  inputSchema: plain,
  call: async ({ article }) => {
    expectTypeOf(article).toEqualTypeOf<unknown>();
    return { content: String(article).toUpperCase() };
  },
});

const settings = { mode: 'default', cwd: '/workspace' } as const;

function prepare(tool: Tool, input: unknown) {
  return prepareCall(createRegistry([tool]), settings, { name: 'stock', input });
}

describe.each([
  ['zod', zodTool],
  ['valibot', valibotTool],
  ['arktype', arktypeTool],
  ['valibot with a JSON schema beside it', besideTool],
  ['JSON schema', jsonTool],
])('a tool with an input schema of %s', (_, tool) => {
  test('shows the model an object with its properties', () => {
    expect(buildDefinition(tool).input_schema).toMatchObject({
      type: 'object',
      properties: { article: { type: 'string' }, places: { type: 'array', items: { type: 'string' } } },
      required: ['article'],
      additionalProperties: false,
    });
  });

  test('takes an input that fits', () => {
    expect(prepare(tool, { article: 'lamp', places: ['Ulm'] })).toMatchObject({
      kind: 'ready',
      input: { article: 'lamp', places: ['Ulm'] },
    });
  });

  test.each([
    ['of another type', { article: 5 }, 'article'],
    ['wrong inside a list', { article: 'lamp', places: ['Ulm', 5] }, String.raw`places(\.|\[)1\]?`],
    ['missing', {}, 'article'],
  ])('names the place of what is %s to the model', (_what, input, path) => {
    const prepared = prepare(tool, input);
    if (prepared.kind !== 'invalid') throw new Error('it was taken');
    expect(prepared.text).toMatch(new RegExp(`^The input of stock is not valid:\\n- ${path}: .`));
  });

  test('refuses what it does not know', () => {
    expect(prepare(tool, { article: 'lamp', colour: 'red' }).kind).toBe('invalid');
  });
});

test('a schema that answers later is told as a defect of the tool, and nothing runs', () => {
  const later = v.pipeAsync(
    v.strictObject({ article: v.string() }),
    v.checkAsync(async () => true),
  );
  const inputSchema = later as unknown as InputSchema;
  expect(() => checkInput(inputSchema, { article: 'lamp' })).toThrow(
    'its input schema answers later (a promise): do that check in `validate` of the tool',
  );
  expect(prepare({ ...besideTool, inputSchema }, { article: 'lamp' })).toEqual({
    kind: 'invalid',
    text: expect.stringMatching(/^Not run: stock failed to judge its input: .*answers later/),
  });
});

test('a transformed value is what the tool gets', () => {
  const inputSchema = v.pipe(
    v.object({ article: v.string() }),
    v.transform(({ article }) => ({ article: article.trim() })),
  );
  expect(checkInput(inputSchema, { article: ' lamp ' })).toEqual({ ok: true, value: { article: 'lamp' } });
});

test('a text that says a value nested deeper than inputs may be is no such value (L33)', () => {
  const inputSchema = { type: 'object', properties: { list: { type: 'array' } } } as const;
  const tool = defineTool({ ...shared, inputSchema, call: async () => ({ content: '' }) });
  const list = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const where = { cwd: '/', dir: '/', mode: 'default' } as const;
  expect(prepareCall(createRegistry([tool]), where, { name: 'stock', input: { list } })).toMatchObject({
    kind: 'invalid',
    text: expect.stringContaining('list'),
  });
});
