// Lists in which a server stands for all of its tools (L74).
import { expect, test } from 'vitest';
import { isListed, findServerName } from '../../tools/registry.ts';
import { intersectTools } from '../../tools/agent-types.ts';
import { isAllowedByRules, findTouchingRule } from '../../tools/rules/match-rules.ts';

test.each([
  ['mcp__a__b', 'a'],
  ['mcp__a_b__c__d', 'a_b'],
  ['mcp__a', undefined],
  ['mcp__a__', undefined],
  ['read', undefined],
])('%s is of server %s', (name, server) => {
  expect(findServerName(name)).toBe(server);
});

test('a list names a tool by its own name, or by its server', () => {
  for (const list of [undefined, ['mcp__a__b'], ['mcp__a'], ['mcp__a__*']])
    expect(isListed(list, 'mcp__a__b')).toBe(true);
  for (const list of [[], ['mcp__ab'], ['mcp__a__c'], ['mcp']]) expect(isListed(list, 'mcp__a__b')).toBe(false);
  expect(isListed(['rea'], 'read')).toBe(false);
});

test('of a server in one list and a tool of it in another, the tool is left (L70)', () => {
  expect(
    intersectTools([
      ['read', 'mcp__a'],
      ['mcp__a__x', 'bash'],
    ]),
  ).toEqual(['mcp__a__x']);
  expect(intersectTools([['mcp__a__x'], ['mcp__a__*'], undefined])).toEqual(['mcp__a__x']);
});

test.each(['mcp__a__x', 'mcp__a', 'mcp__a__*', 'mcp__*'])('the rule %s is about a tool of the server (L55)', (rule) => {
  const call = (name: string) => ({ tool: { name }, cwd: '/', subject: () => undefined });
  expect(findTouchingRule([rule], call('mcp__a__x'))).toBe(rule);
  expect(findTouchingRule(['mcp__b', 'mcp__a__y'], call('mcp__a__x'))).toBeUndefined();
});

test.each([
  ['mcp__a', true],
  ['mcp__a__*', true],
  ['mcp__*', true],
  ['mcp_resources', true],
  ['mcp_resources(a)', true],
  ['mcp__a__x', false],
  ['mcp__b', false],
  ['mcp_resources(b)', false],
])('a rule %s that denies or asks is about resources of the server "a": %s (L55 L77)', (rule, isAbout) => {
  const subject = { kind: 'name', name: 'a' } as const;
  const call = { tool: { name: 'mcp_resources' }, cwd: '/', subject: () => subject };
  expect(findTouchingRule([rule], call)).toBe(isAbout ? rule : undefined);
  expect(isAllowedByRules([rule], call)).toBe(rule === 'mcp_resources' || rule === 'mcp_resources(a)');
});
