import { expect, test } from 'vitest';
import { z } from 'zod';
import { createRegistry } from '../../tools/registry.ts';
import { builtinNames } from '../../tools/builtin/builtin-names.ts';
import { createBuiltinTools } from '../../tools/builtin/builtin-tools.ts';
import { defineTool } from '../../tools/tool.ts';
import { simpleTool } from './support.ts';
import { probeSandbox } from '../../tools/sandbox.ts';

test('definitions are the same whatever the order of registration (L22)', async () => {
  const tools = createBuiltinTools({ sandbox: await probeSandbox({ kinds: ['group'] }) });
  const one = JSON.stringify(createRegistry(tools).definitions());
  const other = JSON.stringify(createRegistry(tools.toReversed()).definitions());
  expect(other).toBe(one);
  expect(
    createRegistry(tools)
      .definitions()
      .map(({ name }) => name),
  ).toEqual(builtinNames.filter((name) => name !== 'skill').toSorted());
});

test('a definition carries the schema as the API takes it', () => {
  const tool = simpleTool({ inputSchema: z.strictObject({ path: z.string(), n: z.int().min(1).default(3) }) });
  expect(createRegistry([tool]).definitions()).toEqual([
    {
      name: 'simple',
      description: 'A tool of a test.',
      input_schema: {
        type: 'object',
        properties: {
          path: { type: 'string' },
          n: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 3 },
        },
        required: ['path'],
        additionalProperties: false,
      },
    },
  ]);
});

test.each([
  ['a name given twice', [simpleTool({}), simpleTool({})], 'Two tools are named "simple": rename or remove one.'],
  ['a name the API refuses', [simpleTool({ name: 'my tool' })], 'Tool name "my tool" is not valid'],
  ['an empty name', [simpleTool({ name: '' })], 'Tool name "" is not valid'],
  [
    'recovery by a check that is not there',
    [simpleTool({ recovery: 'verify' })],
    'has recovery "verify" and no verify function',
  ],
  ['a schema of another type', [simpleTool({ inputSchema: z.string() })], 'Tool "simple" must take an object'],
])('%s is refused with a sentence', (_, tools, sentence) => {
  expect(() => createRegistry(tools)).toThrow(sentence);
});

test('names of Object.prototype are no tools', () => {
  const registry = createRegistry([simpleTool({})]);
  for (const name of ['constructor', '__proto__', 'toString']) expect(registry.get(name)).toBeUndefined();
});

test('a tool with recovery "verify" is typed to say how (L40)', () => {
  const spec = {
    name: 'careful',
    description: 'A tool of a test.',
    inputSchema: z.strictObject({}),
    risk: 'write',
    recovery: 'verify',
    call: async () => ({ content: '' }),
  } as const;
  // @ts-expect-error verify is missing
  const without = defineTool(spec);
  expect(() => createRegistry([without])).toThrow('has recovery "verify"');
  const verified = defineTool({
    ...spec,
    verify: async (_, { cwd }, { times }) => ({ kind: cwd === '' || times > 9 ? 'unknown' : 'not_done' }),
  });
  expect(createRegistry([verified]).get('careful')).toBe(verified);
});

test('a lone surrogate in a description does not make requests unreadable (L58)', () => {
  const [definition] = createRegistry([simpleTool({ description: 'half \ud83d of a pair' })]).definitions();
  expect(definition?.description).toBe('half \ufffd of a pair');
});
