// Schemas whose fields stand in branches, as servers and schema libraries write them: the model is
// shown the fields at the top.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { foldBranches } from '../../../system/schema/fold-branches.ts';
import { mendInput } from '../../../system/schema/input-schema.ts';
import { prepareCall } from '../../../activities/calls/prepare.ts';
import { createRegistry } from '../../../tools/registry.ts';
import { defineTool } from '../../../tools/tool.ts';

const text = { type: 'string' };
const branchesOf = (...names: readonly string[]) =>
  names.map((name) => ({ properties: { [name]: text }, required: [name] }));

test('branches at the top are folded: a field is needed where every branch needs it, and the words say which go together', () => {
  const properties = { id: text, content: text, source_url: text };
  const top = { type: 'object', properties: { id: text }, required: ['id'] };
  expect(foldBranches({ ...top, anyOf: branchesOf('content', 'source_url') })).toEqual({
    ...top,
    properties,
    description: 'Give at least one of: content; source_url.',
  });
  expect(foldBranches({ ...top, description: 'A note.', oneOf: branchesOf('content', 'source_url') })).toEqual({
    ...top,
    properties,
    description: 'A note. Give exactly one of: content; source_url.',
  });
  expect(foldBranches({ ...top, allOf: branchesOf('content', 'source_url') })).toEqual({
    ...top,
    properties,
    required: ['id', 'content', 'source_url'],
  });
});

test('branches are found behind references and in each other, and what they say of one field differently is kept apart', () => {
  const schema = {
    type: 'object',
    $defs: { A: { type: 'object', anyOf: [{ properties: { kind: { const: 'a' } } }, { properties: { x: text } }] } },
    oneOf: [{ $ref: '#/$defs/A' }, { properties: { kind: { const: 'b' } } }],
  };
  expect(foldBranches(schema)).toEqual({
    type: 'object',
    $defs: schema.$defs,
    properties: { kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, x: text },
  });
});

test('a schema without branches, or of more than objects, stays as it is', () => {
  for (const schema of [{ type: 'object', properties: {} }, { anyOf: [{ type: 'object' }, { type: 'string' }] }]) {
    expect(foldBranches(schema)).toBe(schema);
  }
});

test.each<[string, z.ZodType]>([
  ['a union', z.union([z.object({ a: z.string() }), z.object({ b: z.number() })])],
  [
    'a union told apart by a field',
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), a: z.string() }),
      z.object({ kind: z.literal('b'), b: z.number() }),
    ]),
  ],
  ['an intersection', z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() }))],
])('a tool of one’s own may take %s', (_, inputSchema) => {
  const tool = defineTool({
    name: 'own',
    description: 'A tool of a test.',
    inputSchema,
    risk: 'read',
    recovery: 'rerun',
    call: async () => ({ content: '' }),
  });
  const [definition] = createRegistry([tool]).definitions();
  expect(definition?.input_schema).toMatchObject({ type: 'object', properties: { a: {}, b: {} } });
  for (const key of ['anyOf', 'oneOf', 'allOf']) expect(definition?.input_schema).not.toHaveProperty(key);
});

test('whatever the branches are, all fields are shown, and an input that they take has what is needed', () => {
  const names = fc.subarray(['a', 'b', 'c']);
  const object = names.map((named) => ({
    type: 'object',
    properties: Object.fromEntries(named.map((name) => [name, text])),
    required: named.slice(0, 1),
  }));
  const given = fc.record({
    type: fc.constant('object'),
    anyOf: fc.array(object, { minLength: 1, maxLength: 3 }),
    allOf: fc.array(object, { minLength: 1, maxLength: 1 }),
  });
  const property = fc.property(given, names, (branches, has) => {
    const folded = foldBranches(branches);
    const all = [...branches.anyOf, ...branches.allOf].flatMap(({ properties }) => Object.keys(properties));
    expect(new Set(Object.keys(folded['properties'] as object))).toEqual(new Set(all));
    const meets = (branch: { readonly required: readonly string[] }): boolean =>
      branch.required.every((name) => has.includes(name));
    if (!branches.anyOf.some(meets) || !branches.allOf.every(meets)) return;
    for (const name of (folded['required'] ?? []) as readonly string[]) expect(has).toContain(name);
  });
  fc.assert(property, { numRuns: 500 });
});

const schema = {
  type: 'object',
  properties: {
    list: { type: 'array', items: { type: 'integer' } },
    count: { type: 'integer' },
    ratio: { type: ['number', 'null'] },
    flag: { type: 'boolean' },
    where: { $ref: '#/$defs/Where' },
    name: text,
    any: {},
    either: { type: ['string', 'array'] },
  },
  required: ['count'],
  $defs: { Where: { type: 'object', properties: { line: { type: 'integer' } } } },
};

test.each<[string, unknown, unknown]>([
  ['a list as a text', { list: '[1, 2]' }, { list: [1, 2] }],
  ['numbers as texts in a list', { list: ['1', 2] }, { list: [1, 2] }],
  ['a number as a text', { count: '3' }, { count: 3 }],
  ['a truth as a text', { flag: 'true' }, { flag: true }],
  ['an object as a text', { where: '{"line": "7"}' }, { where: { line: 7 } }],
  ['null for a field that is absent', { flag: null, name: null, count: 1 }, { count: 1 }],
])('%s is taken as it was meant', (_, given, meant) => {
  expect(mendInput(schema, given)).toEqual(meant);
});

test.each<[string, object]>([
  ['a text where texts may stand', { name: '[1]', either: '[1]' }],
  ['a text where anything may', { any: '1' }],
  ['null for what is needed', { count: null }],
  ['null where it is a value', { ratio: null }],
  ['a number that would be another', { count: '9007199254740993' }],
  ['a number that is no whole one', { count: '1.5' }],
  ['digits that are no number', { count: '007' }],
  ['words', { flag: 'yes', list: '1, 2' }],
])('%s is left as it is', (_, given) => {
  expect(mendInput(schema, given)).toBe(given);
});

test('a call is taken as it was meant, and one that still misses is refused for what it says (L33)', () => {
  const tool = defineTool({
    name: 'own',
    description: 'A tool of a test.',
    inputSchema: z.strictObject({ lines: z.array(z.int()), deep: z.boolean().optional() }),
    risk: 'read',
    recovery: 'rerun',
    call: async () => ({ content: '' }),
  });
  const prepare = (input: unknown) =>
    prepareCall(createRegistry([tool]), { mode: 'default', cwd: '/w' }, { name: 'own', input });
  expect(prepare({ lines: '[1, 2]', deep: null })).toMatchObject({ kind: 'ready', input: { lines: [1, 2] } });
  expect(prepare({ lines: '["a"]' })).toMatchObject({ kind: 'invalid', text: expect.stringContaining('lines') });
});
