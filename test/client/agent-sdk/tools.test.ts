// Checks the tools of a program, as its worker offers them.
import { expect, test } from 'vitest';
import * as z3 from 'zod/v3';
import { checkInput, inputJsonSchema } from '../../../system/schema/input-schema.ts';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
import type { Tool, ToolContext } from '../../../tools/tool.ts';
import type { McpServerToolPolicy } from '../../../client/agent-sdk/shapes/mcp.ts';
import { translateOptions } from '../../../client/agent-sdk/options.ts';
import { createSdkMcpServer, tool, programTools, withInstances } from '../../../client/agent-sdk/tools.ts';
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
  const [made] = programTools({ own });
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

test('an McpServer of the program is connected once, and its tools are listed and called in the process (Q7)', async () => {
  const instance = new McpServer({ name: 'shop', version: '1' });
  const called: unknown[] = [];
  const order = { description: 'Orders.', inputSchema: { n: z.number() }, annotations: { idempotentHint: true } };
  instance.registerTool('order', order, ({ n }, { _meta }) => {
    called.push([n, _meta?.['perdure/idempotencyKey']]);
    return { content: [{ type: 'text', text: `ordered ${n}` }] };
  });
  instance.registerTool('get.stock', { annotations: { readOnlyHint: true } }, () => Promise.reject(new Error('shut')));
  const shop = { type: 'sdk', name: 'shop', instance } as const;
  const connected = () => withInstances({ mcpServers: { shop } }, () => undefined);
  const [{ mcpServers }] = await Promise.all([connected(), connected()] as const);
  const tools = programTools(mcpServers);
  expect(tools.map(({ name, risk, recovery }) => [name, risk, recovery])).toEqual([
    ['mcp__shop__order', 'external', 'rerun'],
    ['mcp__shop__get_stock', 'read', 'rerun'],
  ]);
  expect(() => checkConfig({ tools }, 'f')).not.toThrow();
  const context = { signal: new AbortController().signal, idempotencyKey: 'k' } as unknown as ToolContext;
  expect(await tools[0]?.call({ n: 2 }, context)).toEqual({ content: 'ordered 2' });
  expect(called).toEqual([[2, 'k']]);
  expect(await tools[1]?.call({}, context)).toMatchObject({ content: expect.stringContaining('shut'), isError: true });
  expect(checkInput(tools[0]?.inputSchema ?? {}, { n: 'x' })).toMatchObject({ ok: false, problems: [{ path: 'n' }] });
  // A server that the program closed is connected again.
  await instance.close();
  expect(await tools[0]?.call({ n: 3 }, context)).toEqual({ content: 'ordered 3' });
});

test('a server without an instance, or one that cannot be connected, is refused by its name (Q7)', async () => {
  const connected = (instance: unknown) =>
    withInstances(
      { mcpServers: { shop: { type: 'sdk', name: 'shop', instance: instance as never } } },
      () => undefined,
    );
  await expect(connected(undefined)).rejects.toThrow(
    /^the server "shop" of query\(\) has no instance: give an McpServer/,
  );
  const broken = { connect: () => Promise.reject(new Error('no room')), close: () => Promise.resolve() };
  await expect(connected(broken)).rejects.toThrow('the server "shop" of query() cannot be connected: no room');
});

test('a tool takes a whole object of zod 3 or 4 for its fields, with what it says of other keys (Q7)', () => {
  const took = (schema: object) => {
    const tools = [tool('t', 'T.', schema as Record<string, never>, nothing)];
    const mcpServers = { shop: createSdkMcpServer({ name: 'shop', tools }) };
    const [made] = (translateOptions({ mcpServers }, () => undefined).config.tools ?? []) as readonly Tool[];
    const check = (input: object) => checkInput(made?.inputSchema ?? {}, input).ok;
    const properties = Object.keys((made && inputJsonSchema(made).properties) ?? {});
    return [properties, check({ q: 'a' }), check({ q: 1 }), check({ q: 'a', other: 1 })];
  };
  for (const object of [z.object({ q: z.string() }), z3.z.object({ q: z3.z.string() })]) {
    expect(took(object)).toEqual([['q'], true, false, true]);
    expect(took(object.strict())).toEqual([['q'], true, false, false]);
  }
  const why = 'the input of the tool "t" is no object: give its fields, or z.object()';
  expect(() => took(z.string())).toThrow(why);
  expect(() => took(z3.z.string())).toThrow(why);
});

const nothing = () => Promise.resolve({ content: [] });

test('names with odd characters are replaced as such programs expect, and rules find them (Q7)', () => {
  const odd = createSdkMcpServer({
    name: 'x',
    tools: ['get.weather', 'get weather'].map((n) => tool(n, 'T.', {}, nothing)),
  });
  const long = 'a-server-with-a-name-that-is-too-long';
  const mcpServers = { 'My Server': odd, 'a.b': { command: 'x' }, a_b: { command: 'y' }, [long]: { command: 'z' } };
  const allowedTools = [
    'mcp__My_Server__get_weather',
    'mcp__My Server',
    `mcp__${long}__*`,
    'mcp__a.b__t',
    'mcp__a_b',
    'Bash(a:*)',
  ];
  const { config, run } = translateOptions({ mcpServers, allowedTools }, () => undefined);
  expect(() => checkConfig(config, 'f')).not.toThrow();
  const [first, second] = (config.tools ?? []) as readonly Tool[];
  expect(first?.name).toBe('mcp__My_Server__get_weather');
  expect(second?.name).toMatch(/^mcp__My_Server__get_weather__[0-9a-f]{8}$/);
  const [dotted, plain, cut] = Object.keys(config.mcpServers ?? {});
  expect([dotted, plain, cut]).toEqual([
    expect.stringMatching(/^a_b-[0-9a-f]{8}$/),
    'a_b',
    expect.stringMatching(/^a-server-with-a-name-th-[0-9a-f]{8}$/),
  ]);
  expect(run.permissions).toEqual({
    allow: [
      'mcp__My_Server__get_weather',
      'mcp__My_Server',
      `mcp__${cut}__*`,
      `mcp__${dotted}__t`,
      'mcp__a_b',
      'bash(a:*)',
    ],
  });
});

test('a server’s timeout is that of its calls, alwaysLoad changes nothing, and policies of its tools are rules (Q7)', async () => {
  const own = createSdkMcpServer({
    name: 'own',
    timeout: 20,
    tools: [tool('t', 'T.', {}, () => new Promise(() => undefined))],
  });
  const policies: McpServerToolPolicy[] = [
    { name: 'list', permission_policy: 'always_allow' },
    { name: 'pay', permission_policy: 'always_deny' },
    { name: 'send', permission_policy: 'always_allow', org_max_permission: 'ask' },
  ];
  const mcpServers = {
    own,
    git: { command: 'g', timeout: 5_000, alwaysLoad: true },
    shop: { type: 'http' as const, url: 'https://shop.example', timeout: 7_000, alwaysLoad: true, tools: policies },
  };
  const { config, run } = translateOptions({ mcpServers, allowedTools: ['Read'] }, () => undefined);
  expect(() => checkConfig(config, 'f')).not.toThrow();
  expect(config.mcpServers).toEqual({
    git: { command: 'g', cwd: process.cwd(), timeoutMs: 5_000 },
    shop: { type: 'http', url: 'https://shop.example', timeoutMs: 7_000 },
  });
  expect(run.permissions).toEqual({
    allow: ['read', 'mcp__shop__list', 'mcp__shop__send'],
    deny: ['mcp__shop__pay'],
    ask: ['mcp__shop__send'],
  });
  const [slow] = (config.tools ?? []) as readonly Tool[];
  const context = { signal: new AbortController().signal, idempotencyKey: 'k' } as unknown as ToolContext;
  await expect(slow?.call({}, context)).rejects.toThrow(/^It timed out after 20 ms, and may have taken effect/);
});

test('tools may be added to what createSdkMcpServer() makes, and it may be connected elsewhere as an McpServer is (Q7)', async () => {
  const pay = tool('pay', 'Pays.', { n: z.number() }, ({ n }) =>
    Promise.resolve({ content: [{ type: 'text', text: `paid ${n}` }] }),
  );
  const shop = createSdkMcpServer({ name: 'shop', version: '2.0.0', instructions: 'Be quick.', tools: [pay] });
  const text = (words: string) => ({ content: [{ type: 'text', text: words }] });
  shop.instance.registerTool('count', { description: 'Counts.', inputSchema: { of: z.string() } }, ({ of }) =>
    text(`7 of ${of}`),
  );
  const keyed = z.object({ id: z.string() });
  shop.instance.registerTool('keyed', { inputSchema: keyed, annotations: { readOnlyHint: true } }, ({ id }) =>
    text(id),
  );
  expect(() => shop.instance.registerTool('pay', {}, () => text(''))).toThrow('already registered');
  const made = programTools({ shop });
  expect(made.map(({ name, risk }) => [name, risk])).toEqual([
    ['mcp__shop__pay', 'external'],
    ['mcp__shop__count', 'external'],
    ['mcp__shop__keyed', 'read'],
  ]);
  const context = { signal: new AbortController().signal, idempotencyKey: 'k' } as unknown as ToolContext;
  expect(await made[1]?.call({ of: 'x' }, context)).toEqual({ content: '7 of x' });

  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'program', version: '1' });
  await Promise.all([shop.instance.connect(theirs), client.connect(ours)]);
  shop.instance.registerTool('late', {}, ({ signal }: { signal: AbortSignal }) => text(String(signal.aborted)));
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['pay', 'count', 'keyed', 'late']);
  expect([client.getServerVersion(), client.getInstructions()]).toEqual([
    { name: 'shop', version: '2.0.0' },
    'Be quick.',
  ]);
  expect(await client.callTool({ name: 'pay', arguments: { n: 3 } })).toMatchObject(text('paid 3'));
  expect(await client.callTool({ name: 'late' })).toMatchObject(text('false'));
  await shop.instance.close();
});
