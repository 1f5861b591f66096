import { expect, test } from 'vitest';
import { z } from 'zod';
import { wrapUnparsable } from '../../system/json.ts';
import { prepareCall } from '../../activities/calls/prepare.ts';
import { createRegistry } from '../../tools/registry.ts';
import { simpleTool } from './support.ts';

const settings = { mode: 'default', cwd: '/workspace' } as const;
const registry = createRegistry([
  simpleTool({ name: 'look', risk: 'read' }),
  simpleTool({ name: 'act' }),
  simpleTool({ name: 'any', risk: 'read', inputSchema: z.looseObject({ value: z.json() }) }),
]);

function nested(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth));
}

function refusal(name: string, input: unknown): string {
  const prepared = prepareCall(registry, settings, { name, input });
  return prepared.kind === 'invalid' ? prepared.text : `ready: ${JSON.stringify(prepared.input)}`;
}

test('an unknown tool is refused with the names of those there are (L33)', () => {
  expect(refusal('serach', {})).toBe('There is no tool named "serach". The tools are: act, any, look.');
  expect(refusal('x'.repeat(10_000), {}).length).toBeLessThan(300);
});

test('of very many tools of servers an unknown name is told the nearest (L33 L74)', () => {
  const many = Array.from({ length: 300 }, (_, n) => simpleTool({ name: `mcp__shop__thing_${n}` }));
  const all = createRegistry([...many, simpleTool({ name: 'mcp__shop__refund' }), simpleTool({ name: 'act' })]);
  const prepared = prepareCall(all, settings, { name: 'refund', input: {} });
  const text = 'There is no tool named "refund". The tools are: act, mcp__shop__refund, and 300 more of MCP servers.';
  expect(prepared).toEqual({ kind: 'invalid', text });
});

test('a tool that the run was not opened with is as unknown as one that is not there (L57)', () => {
  const prepared = prepareCall(registry, { ...settings, tools: ['look'] }, { name: 'act', input: {} });
  expect(prepared).toEqual({ kind: 'invalid', text: 'There is no tool named "act". The tools are: look.' });
  expect(prepareCall(registry, { ...settings, tools: ['look'] }, { name: 'look', input: {} })).not.toEqual(prepared);
});

test('an input that does not fit names the path of each problem (L33)', () => {
  expect(refusal('look', { text: 3, other: 1 })).toBe(
    'The input of look is not valid:\n- text: Invalid input: expected string, received number\n- input: Unrecognized key: "other"',
  );
});

test.each([null, [], 'text', 7, NaN, true, undefined])('%j is no input', (input) => {
  expect(refusal('look', input)).toContain('The input of look is not valid:\n- input: Invalid input: expected object');
});

test('an input with __proto__ changes no prototype', () => {
  const input: unknown = JSON.parse('{"__proto__": {"text": "polluted"}, "constructor": 1}');
  expect(refusal('look', input)).toContain('Unrecognized keys');
  expect(({} as { text?: string }).text).toBeUndefined();
});

test('an input 10,000 levels deep is refused in a sentence, wherever the schema would take it', () => {
  const deep = nested(10_000);
  const sentence = (name: string): string => `The input of ${name} is nested more than 200 levels deep.`;
  expect(refusal('look', { text: deep })).toBe(sentence('look'));
  expect(refusal('any', { value: deep })).toBe(sentence('any'));
  expect(refusal('any', { value: nested(150) })).toContain('ready');
});

test('many problems are cut to the first five', () => {
  const input = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`key${n}`, n]));
  expect(refusal('look', input).length).toBeLessThan(700);
});

test('a rule of a tool that throws refuses the call (L33)', () => {
  const broken = simpleTool({
    canUse: () => {
      throw new TypeError('no such rule');
    },
  });
  const prepared = prepareCall(
    createRegistry([broken]),
    { ...settings, mode: 'bypass' },
    { name: 'simple', input: {} },
  );
  expect(prepared).toEqual({
    kind: 'invalid',
    text: 'Not run: simple failed to judge its input: TypeError: no such rule',
  });
});

test('a call of a tool that an earlier call left out is refused with the names of those left (L38)', () => {
  const left = { ...settings, allowedTools: ['look', 'any'] };
  expect(prepareCall(registry, left, { name: 'look', input: {} })).toMatchObject({ kind: 'ready' });
  const text =
    'Not run: act is not among the tools that an earlier call left. Now only these may be called: look, any.';
  expect(prepareCall(registry, left, { name: 'act', input: {} })).toEqual({ kind: 'invalid', text });
  expect(prepareCall(registry, { ...settings, allowedTools: [] }, { name: 'act', input: {} })).toMatchObject({
    text: expect.stringContaining('No tool may be called now.') as string,
  });
});

test('a ready call says what the model activity needs to start it early (L37)', () => {
  const prepared = prepareCall(registry, settings, { name: 'look', input: { text: 'x' } });
  expect(prepared).toMatchObject({ kind: 'ready', safe: true, risk: 'read', permission: { kind: 'allow' } });
  expect(prepareCall(registry, settings, { name: 'act', input: {} })).toMatchObject({ permission: { kind: 'ask' } });
});

test('an input that was not one JSON text is refused, also by a tool that accepts anything (L15)', () => {
  const anything = createRegistry([simpleTool({ inputSchema: z.looseObject({}) })]);
  const said = (input: unknown) => prepareCall(anything, settings, { name: 'simple', input });
  expect(said(wrapUnparsable('{"path": "a'))).toMatchObject({ kind: 'invalid', text: expect.stringContaining('JSON') });
  expect(said({ unparsable: '"a text of its own"' })).toMatchObject({ kind: 'ready' });
  expect(said({ unparsable: '{', other: 1 })).toMatchObject({ kind: 'ready' });
});

test('a rule of a tool gets the input, the workspace and the mode (L55)', () => {
  const seen: unknown[] = [];
  const tool = simpleTool({ canUse: (input, context) => (seen.push(input, context), undefined) });
  const call = { name: 'simple', input: { text: 'x' } };
  prepareCall(createRegistry([tool]), { mode: 'acceptEdits', cwd: '/workspace' }, call);
  expect(seen).toEqual([{ text: 'x' }, { cwd: '/workspace', dir: '/workspace', mode: 'acceptEdits' }]);
});
