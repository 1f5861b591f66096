// A run whose final answer must satisfy a JSON schema (L53): what the model is told, what is said
// of it, which schemas are refused.
import { describe, expect, test } from 'vitest';
import { answerChecks } from '../../activities/model/answer-schema.ts';
import { schemaProblem } from '../../system/schema/json-schema.ts';
import { openRun } from '../../activities/run/open-run.ts';
import { parseStructuredOutput } from '../../store/view/result.ts';
import { fault, reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import { benchDeps, fakeAttempt, type BenchOptions } from '../support/bench-deps.ts';
import { tempDir } from '../support/temp-dir.ts';

const schema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    sizes: { type: 'array', items: { type: 'object', properties: { w: { type: 'number' } }, required: ['w'] } },
  },
  required: ['name', 'sizes'],
  additionalProperties: false,
};
const good = '{"name":"a","sizes":[{"w":1}]}';
/** An object with the word that makes promises of objects. */
const conditional = (branch: object, more: object = {}): Record<string, unknown> =>
  JSON.parse(JSON.stringify({ ...more, branch }).replace('"branch":', '"then":')) as Record<string, unknown>;
const bench = (script: BenchOptions['script']) => benchDeps({ script, run: { outputSchema: schema } });

describe('the value in a final answer', () => {
  test.each([
    ['is the whole text', ` \n${good}\n`],
    ['is the one fenced block', `Here it is:\n\n\`\`\`json\n${good}\n\`\`\`\nDone.`],
    ['is the one fenced block, whatever the case and the line ends', `\`\`\`JSON\r\n${good}\r\n\`\`\``],
  ])('%s (L53)', (_name, said) => {
    expect(parseStructuredOutput(said)).toEqual({ kind: 'value', value: JSON.parse(good) });
  });

  test.each([
    ['nothing', '', 'no text'],
    ['words', 'It is done.', 'not one JSON value'],
    ['two values', `${good}\n${good}`, 'not one JSON value'],
    ['two blocks', `\`\`\`json\n1\n\`\`\`\n\`\`\`json\n2\n\`\`\``, '2 fenced blocks'],
    ['a value that ends too soon', good.slice(0, -1), 'not one JSON value'],
  ])('is not in %s (L53)', (_name, said, problem) => {
    expect(parseStructuredOutput(said)).toMatchObject({ kind: 'none', problem: expect.stringContaining(problem) });
  });
});

describe('what is wrong with an answer', () => {
  const problem = (value: unknown, of: object = schema) => answerChecks()(of as typeof schema)(JSON.stringify(value));

  test('names each path, and none for an answer that will do (L53)', () => {
    expect(problem(JSON.parse(good))).toBeUndefined();
    const said = problem({ name: 5, sizes: [{ w: 1 }, { w: 'x' }], more: true });
    expect(said).toContain('$.name: ');
    expect(said).toContain('$.sizes[1].w: ');
    expect(said).toContain('more');
  });

  test('of alternatives, the nearest is spoken of (L53)', () => {
    const tagged = (tag: string, required: string[]) => ({
      type: 'object',
      properties: { tag: { const: tag }, a: { type: 'string' }, b: { type: 'string' } },
      required: ['tag', ...required],
    });
    expect(problem({ tag: 'y', b: 5 }, { anyOf: [tagged('x', ['a', 'b']), tagged('y', ['b'])] })).toContain('$.b: ');
  });

  test('has at most a thousand characters (L53)', () => {
    const said = problem({ name: 'a', sizes: Array.from({ length: 500 }, () => ({})) });
    expect(said?.length).toBeLessThanOrEqual(1_000);
  });

  test('a default makes no property complete (L53)', () => {
    const named = { type: 'object', properties: { name: { type: 'string', default: 'x' } }, required: ['name'] };
    expect(problem({}, named)).toContain('$.name: ');
  });

  test('an answer nested without end is refused, not walked (L53)', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(answerChecks()({ type: 'array', items: {} })(deep)).toContain('nested');
  });
});

describe('a schema', () => {
  let endless: Record<string, unknown> = { type: 'object' };
  for (let n = 0; n < 3_000; n += 1) endless = { type: 'object', properties: { a: endless } };

  const draft7 = 'http://json-schema.org/draft-07/schema#';
  const unread = ['$recursiveRef', 'extends', 'additionalproperties', 'minlength'];

  test.each<[string, object, string]>([
    ['a type that is none', { type: 'strng' }, '$.type: must be one of'],
    [
      'a reference to elsewhere',
      { $ref: 'https://example.com/a.json' },
      "can't resolve reference https://example.com/a.json",
    ],
    ['a reference to nothing', { $ref: '#/$defs/none' }, "can't resolve reference #/$defs/none"],
    ...unread.map((keyword): [string, object, string] => [
      `${keyword}, deep inside`,
      { $schema: draft7, type: 'object', properties: { a: { anyOf: [{ type: 'object', [keyword]: {} }] } } },
      `$.properties.a.anyOf[0] has "${keyword}", which is not enforced: correct it or leave it out`,
    ]),
    ['a keyword of a later draft', { $schema: draft7, unevaluatedItems: false }, '$ has "unevaluatedItems"'],
    ['a draft that is not read', { $schema: 'http://json-schema.org/draft-04/schema#' }, 'draft-04'],
    ['a bound in words', { type: 'string', minLength: '3' }, '$.minLength: must be integer'],
    ['alternatives that are no list', { anyOf: { type: 'string' } }, '$.anyOf: must be array'],
    ['an enum that is no list', { enum: 5 }, '$.enum: must be array'],
    ['a pattern that is none', { type: 'string', pattern: '(' }, 'regular expression'],
    ['a format that nobody knows', { type: 'string', format: 'colour' }, 'unknown format "colour"'],
    ['a branch without its condition', conditional({ type: 'string' }), '"then" without "if"'],
    ['a nesting without end', endless, 'nested'],
    ['a reference to itself', { $ref: '#' }, '$ refers to itself'],
    ['an empty reference', { $ref: '' }, '$ refers to itself'],
    ['an anchor that leads back', { $anchor: 'here', allOf: [{ $ref: '#here' }] }, '$ refers to itself'],
    ['a condition that leads back', conditional({}, { if: { $ref: '#' } }), '$ refers to itself'],
    [
      'references in a circle, deep inside',
      {
        type: 'array',
        items: { $ref: '#/$defs/a' },
        $defs: { a: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } },
      },
      '$.$defs.a refers to itself',
    ],
  ])('with %s is refused: it could not be held to (L53)', (_name, refused, why) => {
    expect(schemaProblem(refused as Record<string, unknown>)).toContain(why);
    expect(schemaProblem(refused as Record<string, unknown>)).not.toContain('\n');
  });

  test.each<[string, Record<string, unknown>, unknown, unknown]>([
    [
      'a mark of what tells the alternatives apart',
      {
        oneOf: [{ type: 'object', properties: { k: { const: 'a' } }, required: ['k'] }],
        discriminator: { propertyName: 'k' },
      },
      { k: 'a' },
      { k: 'c' },
    ],
    ['its one value said twice', { type: 'string', const: 'cat', enum: ['cat'] }, 'cat', 'dog'],
    ['notes for people and vendors', { type: 'number', example: 1, 'x-order': 2, externalDocs: {} }, 3, 'three'],
    ['a list of whatever it is', { type: 'array', items: {}, minItems: 2 }, [1, 'b'], []],
    ['a condition', conditional({ minLength: 2 }, { if: { type: 'string' }, else: { type: 'number' } }), 'ab', 'a'],
    ['an object as its only value', { const: { major: 1, minor: [2] } }, { minor: [2], major: 1 }, { major: 1 }],
    ['a list as its only value', { type: 'array', const: [1, 2] }, [1, 2], [2, 1]],
    ['an object among its values', { enum: ['a', { b: 1 }] }, { b: 1 }, { b: 2 }],
    ['a length beside values', { type: 'string', enum: ['a', 'bc'], minLength: 2 }, 'bc', 'a'],
    ['a value that is not of its type', { type: 'string', enum: ['a', 5] }, 'a', 5],
    [
      'a reference into a definition',
      { $ref: '#/$defs/a/items', $defs: { a: { type: 'array', items: { type: 'string' } } } },
      'x',
      1,
    ],
    ['alternatives beside demands', { anyOf: [{ const: 1 }, { const: 'x' }], allOf: [{ type: 'number' }] }, 1, 'x'],
    [
      'a schema for further properties beside patterns',
      { type: 'object', patternProperties: { '^a': { type: 'string' } }, additionalProperties: { type: 'number' } },
      { ab: 'x', c: 1 },
      { c: 'x' },
    ],
    ['a least number without what is counted', { type: 'array', minItems: 2 }, [1, 2], [1]],
    ['properties without a type', { properties: { a: { type: 'string' } } }, { a: 'x' }, { a: 1 }],
    ['a length without a type', { type: 'array', items: { minLength: 3 } }, ['abc', 5], ['ab']],
    ['a required name that it does not describe', { type: 'object', required: ['a'] }, { a: 1 }, { b: 1 }],
    ['something beside a $ref', { $ref: '#/$defs/a', minLength: 2, $defs: { a: { type: 'string' } } }, 'ab', 'a'],
    ['names that depend on others', { dependentRequired: { a: ['b'] } }, { a: 1, b: 2 }, { a: 1 }],
    ['dependencies of an older draft', { $schema: draft7, dependencies: { a: ['b'] } }, { b: 1 }, { a: 1 }],
    ['an absent value that may be null', { type: 'string', nullable: true }, null, 5],
    [
      'no item twice',
      { type: 'array', uniqueItems: true },
      [{ a: 1, b: 2 }, { a: 1 }],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
    ['so many items of a kind', { contains: { type: 'number' }, minContains: 2 }, [1, 'a', 2], [1, 'a']],
    ['names of a form', { propertyNames: { pattern: '^[a-z]+$' } }, { ab: 1 }, { A: 1 }],
    [
      'nothing else than what any part describes',
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { a: 1 },
      { b: 1 },
    ],
    ['a format', { type: 'string', format: 'date-time' }, '2026-11-23T10:00:00Z', 'today'],
  ])('with %s is held to (L53)', (_name, held, right, wrong) => {
    expect(schemaProblem(held)).toBeUndefined();
    const check = answerChecks()(held);
    expect(check(JSON.stringify(right))).toBeUndefined();
    expect(check(JSON.stringify(wrong))).toBeDefined();
  });

  test('that could not be held to refuses the run, in a sentence (L53)', async () => {
    const { deps } = await bench([]);
    const options = { cwd: tempDir(), outputSchema: { type: 'strng' } };
    const opened = await openRun(deps)(fakeAttempt(), { chain: 'chain', run: 2, step: 9, options });
    expect(opened).toMatchObject({ kind: 'refused', detail: expect.stringContaining('output schema') });
  });

  test.each<[string, object]>([
    ['alternatives', { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    [
      'definitions that refer to themselves',
      { $ref: '#/$defs/t', $defs: { t: { type: 'object', properties: { t: { $ref: '#/$defs/t' } } } } },
    ],
    ['several types', { type: ['object', 'null'], properties: { a: { type: ['integer', 'string'], minimum: 1 } } }],
    [
      'annotations',
      { title: 'a', description: 'b', default: { x: 1 }, examples: [{}], $comment: 'c', deprecated: true },
    ],
    ['annotations beside a $ref', { $ref: '#/$defs/a', deprecated: true, readOnly: true, $defs: { a: { const: 1 } } }],
    ['plain values', { type: 'object', properties: { a: { const: null }, b: { enum: [1, 'x', true, null] } } }],
    ['values of its types', { type: ['integer', 'null'], enum: [1, null] }],
    ['a tuple', { type: 'array', prefixItems: [{ const: 1 }, { const: 2 }], minItems: 2, maxItems: 2, items: false }],
    ['a property named like a keyword', { type: 'object', properties: { required: { type: 'string' }, default: {} } }],
  ])('with %s will do (L53)', (_name, accepted) => {
    expect(schemaProblem(accepted as Record<string, unknown>)).toBeUndefined();
  });
});

describe('a model call', () => {
  test('tells the model the schema, and to answer with one JSON value (L53)', async () => {
    const { call, model, bodies } = await bench([reply(good, { expect: { system: JSON.stringify(schema) } })]);
    const result = await call();
    expect(result).toMatchObject({ kind: 'message', calls: [] });
    expect(result).not.toHaveProperty('problem');
    expect(JSON.stringify(bodies()[0])).toContain('one JSON value');
    expect(model.problems).toEqual([]);
  });

  test('says what is wrong with a final answer, stored all the same, and says it again when asked again (L53)', async () => {
    const { call, entries } = await bench([reply([thinking('Hm.'), text('{"name":1,'), text('"sizes":[]}')])]);
    const result = await call();
    expect(result).toMatchObject({ kind: 'message', problem: expect.stringContaining('$.name: ') });
    if (result.kind !== 'message') return;
    expect((await entries(result.head)).at(-1)).toMatchObject({ kind: 'reply', fate: 'whole' });
    expect(await call(fakeAttempt(2))).toEqual(result);
  });

  test('asks nothing of a reply with calls, nor of one that was cut (L53)', async () => {
    const script = [
      reply([text('Looking.'), toolUse('look', {})]),
      fault({ maxTokensAfter: { block: 0, chars: 3 } }, good),
    ];
    const { call } = await bench(script);
    expect(await call()).not.toHaveProperty('problem');
    expect(await call(fakeAttempt(), { step: 3 })).not.toHaveProperty('problem');
  });
});
