// How narrow an agent is: of what its parent may do and what its type says, the less.
import { expect, test } from 'vitest';
import { lowestLimits, narrowedRules, narrowestMode, narrowestTools } from '../../../activities/tools/agent-types.ts';

test('of two permission modes the narrower holds, whichever is whose (L70)', () => {
  expect(narrowestMode(['bypass', undefined])).toBe('bypass');
  expect(narrowestMode(['default', 'bypass'])).toBe('default');
  expect(narrowestMode(['acceptEdits', 'default'])).toBe('default');
  expect(narrowestMode(['bypass', 'plan', 'acceptEdits'])).toBe('plan');
  expect(narrowestMode(['plan', 'dontAsk'])).toBe('plan');
});

test('rules are added, those that allow are of the parent alone, and where nobody is asked nobody is (L70)', () => {
  const permissions = { allow: ['read'], deny: ['write'], ask: ['bash'] };
  const added = { allow: ['write'], deny: ['edit'], ask: ['grep'] };
  expect(narrowedRules({ mode: 'default', permissions }, 'default', added)).toEqual({
    allow: ['read'],
    deny: ['write', 'edit'],
    ask: ['bash', 'grep'],
  });
  expect(narrowedRules({ mode: 'dontAsk', permissions }, 'plan')).toEqual({
    allow: ['read'],
    deny: ['write', 'bash'],
    ask: ['bash'],
  });
  expect(narrowedRules({ mode: 'default' }, 'default')).toEqual({ allow: [], deny: [], ask: [] });
});

test('of tools those are left that all have, and of limits the lower (L69 L70)', () => {
  expect(narrowestTools([undefined, undefined])).toBeUndefined();
  expect(narrowestTools([['a', 'b'], undefined, ['b', 'c']])).toEqual(['b']);
  expect(narrowestTools([['a'], []])).toEqual([]);
  expect(lowestLimits([{ maxTurns: 3 }, undefined, { maxTurns: 2, maxTokens: 10 }])).toEqual({
    maxTurns: 2,
    maxTokens: 10,
  });
});
