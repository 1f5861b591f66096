// Lists of strangers' tools: what no request could carry is left out, and the rest is kept.
import { expect, test } from 'vitest';
import { type ListedTool, readList } from '../../../tools/mcp/list-tools.ts';
import { SERVER_BOUNDS, nameServerTool } from '../../../tools/mcp/servers.ts';
import { checkInput, inputJsonSchema } from '../../../system/schema/input-schema.ts';

const tool = (more: object = {}): object => ({ name: 't', inputSchema: { type: 'object' }, ...more });

function only(more: object): ListedTool {
  const { tools, leftOut } = readList([tool(more)]);
  expect(leftOut).toEqual([]);
  return tools[0] as ListedTool;
}

test('a tool keeps its description, hints and schema; its input is held to it (L74)', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const read = only({ description: 'Counts.', inputSchema: schema, annotations: { readOnlyHint: true } });
  expect(read).toMatchObject({ name: 't', description: 'Counts.', readOnly: true, idempotent: false });
  expect(inputJsonSchema({ name: 't', inputSchema: read.inputSchema })).toEqual(schema);
  expect(checkInput(read.inputSchema, { n: 1 })).toMatchObject({ ok: true });
  expect(checkInput(read.inputSchema, {})).toMatchObject({
    ok: false,
    problems: [{ path: 'n', message: 'is missing' }],
  });
});

test('a field that has a default may be left out, however deep it lies, and the model is shown the schema as it is (L74)', () => {
  const scale = { type: 'string', enum: ['css', 'device'], default: 'css' };
  const inner = { type: 'object', properties: { scale, of: {} }, required: ['scale', 'of'] };
  const schema = { type: 'object', properties: { scale, inner }, required: ['scale'] };
  const { inputSchema } = only({ inputSchema: schema });
  expect(inputJsonSchema({ name: 't', inputSchema })).toEqual(schema);
  for (const fine of [{}, { scale: 'device' }, { inner: { of: 1 } }])
    expect(checkInput(inputSchema, fine)).toMatchObject({ ok: true });
  expect(checkInput(inputSchema, { scale: 'px' })).toMatchObject({ ok: false });
  expect(checkInput(inputSchema, { inner: {} })).toMatchObject({
    ok: false,
    problems: [{ path: 'inner.of', message: 'is missing' }],
  });
});

/** Each of its definitions refers to the next one twice. */
const doubling = (levels: number): object => ({
  type: 'object',
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries(
    Array.from({ length: levels }, (_, n) => {
      const next = { $ref: `#/$defs/a${n + 1}` };
      return [`a${n}`, n + 1 < levels ? { allOf: [next, next] } : {}];
    }),
  ),
});

test.each<[string, unknown, RegExp]>([
  ['no tool', 1, /tool 1 of the list is none/],
  ['no name', tool({ name: '' }), /tool 1 of the list is none/],
  ['another type of input', tool({ inputSchema: { type: 'string' } }), /tool "t" is none/],
  ['a schema that is none', tool({ inputSchema: { type: 'object', properties: { a: { type: 'txt' } } } }), /is none/],
  ['a field that the API refuses', tool({ inputSchema: { type: 'object', properties: { 'a b': {} } } }), /"a b"/],
  ['a schema that refers to itself alone', tool({ inputSchema: { type: 'object', $ref: '#' } }), /refers to itself/],
  ['a schema that takes for ever to hold a value to', tool({ inputSchema: doubling(40) }), /too many schemas/],
  ['a large schema', tool({ inputSchema: { type: 'object', title: 'x'.repeat(SERVER_BOUNDS.schema) } }), /longer than/],
  ['a deep schema', tool({ inputSchema: deep(300) }), /levels deep/],
])('a tool with %s is left out, with a sentence, and others are kept', (_, wrong, sentence) => {
  const { tools, leftOut } = readList([wrong, tool({ name: 'good' })]);
  expect(tools.map(({ name }) => name)).toEqual(['good']);
  expect(leftOut).toEqual([expect.stringMatching(sentence)]);
});

/** Two of its definitions hold each field `a` to the same again. */
const doublingWithDepth = {
  type: 'object',
  $ref: '#/$defs/n',
  $defs: { n: { allOf: [{ properties: { a: { $ref: '#/$defs/n' } } }, { properties: { a: { $ref: '#/$defs/n' } } }] } },
};

const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) });

test('an input that a schema doubles with each of its levels is refused, a flat one is checked (F11)', () => {
  const { inputSchema } = only({ inputSchema: doublingWithDepth });
  expect(checkInput(inputSchema, nested(3))).toMatchObject({ ok: true });
  expect(checkInput(inputSchema, nested(150))).toMatchObject({
    ok: false,
    problems: [{ message: expect.stringContaining('too many times') as string }],
  });
});

test('a tree is held to a schema that refers to itself for each field, however large (L74)', () => {
  const tree = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' }, n: { type: 'integer' } } };
  const { inputSchema } = only({ inputSchema: { ...tree, $id: 'https://x.example/tree' } });
  const full = (levels: number): object => (levels === 0 ? {} : { a: full(levels - 1), b: full(levels - 1), n: 1 });
  expect(checkInput(inputSchema, full(10))).toMatchObject({ ok: true });
  expect(checkInput(inputSchema, { a: { b: { n: 'x' } } })).toMatchObject({ ok: false });
});

test('what a schema refers to by a name is left to the server: it may lead back to itself (F11)', () => {
  const loop = { $id: 'https://x.example/loop', $ref: 'https://x.example/loop' };
  const { inputSchema } = only({ inputSchema: { type: 'object', properties: { a: loop }, required: ['b'] } });
  expect(checkInput(inputSchema, { a: 1 })).toMatchObject({ ok: true });
});

test('a list has bounds: tools, characters, each name once', () => {
  const many = Array.from({ length: SERVER_BOUNDS.tools + 5 }, (_, n) => tool({ name: `t${n}` }));
  expect(readList(many).tools).toHaveLength(SERVER_BOUNDS.tools);
  const long = Array.from({ length: 20 }, (_, n) =>
    tool({ name: `t${n}`, inputSchema: { type: 'object', title: 'x'.repeat(SERVER_BOUNDS.schema - 100) } }),
  );
  expect(readList(long).print.length).toBeLessThanOrEqual(SERVER_BOUNDS.list);
  expect(readList([tool(), tool()]).leftOut).toEqual(['"t" is listed twice']);
  expect(only({ description: 'x'.repeat(10_000) }).description).toHaveLength(SERVER_BOUNDS.description);
});

test('a pattern of a stranger is shown and not run: it could hold up the worker', () => {
  const inputSchema = {
    type: 'object',
    properties: { a: { type: 'string', pattern: '^(a+)+$' } },
    patternProperties: { '^(b+)+$': {} },
    additionalProperties: false,
  };
  const read = only({ inputSchema });
  expect(checkInput(read.inputSchema, { a: `${'a'.repeat(50)}!`, [`${'b'.repeat(50)}!`]: 1 })).toMatchObject({
    ok: true,
  });
  expect(inputJsonSchema({ name: 't', inputSchema: read.inputSchema })).toEqual(inputSchema);
});

test('keywords and formats that are not known say nothing, and alternatives at the top are not sent', () => {
  const inputSchema = {
    type: 'object',
    properties: { a: { type: 'string', format: 'uri-path', widget: 'big' } },
    anyOf: [{ required: ['a'] }],
  };
  const read = only({ inputSchema });
  expect(checkInput(read.inputSchema, {})).toMatchObject({ ok: false });
  expect(inputJsonSchema({ name: 't', inputSchema: read.inputSchema })).not.toHaveProperty('anyOf');
});

test('null for what a server leaves out says nothing, and a schema that names no type is of an object', () => {
  const inputSchema = {
    properties: { a: { type: 'string', description: null, default: null } },
    required: null,
    $defs: null,
  };
  const read = only({ description: null, annotations: { readOnlyHint: null }, inputSchema });
  expect(read).toMatchObject({ description: '', readOnly: false });
  expect(inputJsonSchema({ name: 't', inputSchema: read.inputSchema })).toEqual({
    type: 'object',
    properties: { a: { type: 'string', default: null } },
  });
  expect(only({ inputSchema: { type: 'object', properties: null }, annotations: null })).toBeDefined();
});

test('a tool that is none is named, with the field that will not do', () => {
  expect(readList([tool({ name: 'odd', inputSchema: { type: 'string' } })]).leftOut).toEqual([
    expect.stringMatching(/^tool "odd" is none: .*\(its inputSchema\.type\)$/),
  ]);
  expect(readList([{}]).leftOut).toEqual([expect.stringMatching(/^tool 1 of the list is none: .*\(its name\)$/)]);
});

test('the same list has the same print, whatever else the server sends', () => {
  const list = (more: object): string => readList([tool({ title: 'T', ...more })]).print;
  expect(list({ _meta: { at: 1 } })).toBe(list({ _meta: { at: 2 } }));
  expect(list({ description: 'other' })).not.toBe(list({}));
});

test('names are fit for the API and told apart (L74)', () => {
  expect(nameServerTool('files', 'read_file')).toBe('mcp__files__read_file');
  const [dotted, slashed] = [nameServerTool('s', 'a.b'), nameServerTool('s', 'a/b')];
  expect(dotted).toMatch(/^mcp__s__a_b_[0-9a-f]{8}$/);
  expect(slashed).not.toBe(dotted);
  expect(nameServerTool('s'.repeat(32), 'x'.repeat(128))).toMatch(/^[A-Za-z0-9_-]{64}$/);
});

function deep(levels: number): object {
  let schema: object = { type: 'object' };
  for (let n = 0; n < levels; n += 1) schema = { type: 'object', properties: { a: schema } };
  return schema;
}
