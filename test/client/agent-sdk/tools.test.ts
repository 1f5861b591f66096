// Tools of a program, as its worker offers them.
import { expect, test } from 'vitest';
import * as z3 from 'zod/v3';
import { checkInput } from '../../../activities/schema/input-schema.ts';
import { createSdkMcpServer, tool, toolsOf } from '../../../client/agent-sdk/tools.ts';
import { checkConfig } from '../../../worker/config/config.ts';

test('a tool with fields of zod 3 is told to the model as JSON schema, and held to by zod 3 (Q7)', () => {
  const fields = {
    city: z3.z.string().describe('where'),
    days: z3.z.number().int().min(1).optional(),
    kind: z3.z.enum(['a', 'b']).default('a'),
    tags: z3.z.array(z3.z.union([z3.z.string(), z3.z.null()])),
    at: z3.z.object({ lat: z3.z.number() }).nullable(),
    more: z3.z.record(z3.z.boolean()),
  };
  const own = createSdkMcpServer({ name: 'own', tools: [tool('t', 'T.', fields, async () => ({ content: [] }))] });
  const [made] = toolsOf({ own });
  expect(made?.inputJsonSchema).toEqual({
    type: 'object',
    properties: {
      city: { type: 'string', description: 'where' },
      days: { type: 'integer' },
      kind: { enum: ['a', 'b'] },
      tags: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
      at: { anyOf: [{ type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] }, { type: 'null' }] },
      more: { type: 'object', additionalProperties: { type: 'boolean' } },
    },
    required: ['city', 'tags', 'at', 'more'],
  });
  const check = (input: object) => checkInput(made?.inputSchema ?? {}, input);
  const input = { city: 'x', tags: ['a', null], at: null, more: {} };
  expect(check(input)).toEqual({ ok: true, value: { ...input, kind: 'a' } });
  expect(check({ ...input, days: 0 })).toMatchObject({ ok: false, problems: [{ path: 'days' }] });
  expect(() => checkConfig({ tools: made ? [made] : [] }, 'f')).not.toThrow();
});

test('a server that was not made with createSdkMcpServer() is refused by its name, with what to do (Q7)', () => {
  const instance = { connect: () => Promise.resolve(), close: () => Promise.resolve() };
  expect(() => toolsOf({ shop: { type: 'sdk', name: 'shop', instance } })).toThrow(
    /^the server "shop" of query\(\) was not made with createSdkMcpServer\(\): give its tools to that/,
  );
});
