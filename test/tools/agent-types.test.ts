// How narrow an agent is: of what its parent may do and what its type says, the less.
import { expect, test } from 'vitest';
import { createAgentTool } from '../../tools/builtin/agent.ts';
import {
  agentDefaults,
  pickLowestLimits,
  narrowRules,
  pickNarrowestMode,
  intersectTools,
} from '../../tools/agent-types.ts';
import type { ToolContext } from '../../tools/tool.ts';

test('of two permission modes the narrower holds, whichever is whose (L70)', () => {
  expect(pickNarrowestMode(['bypass', undefined])).toBe('bypass');
  expect(pickNarrowestMode(['default', 'bypass'])).toBe('default');
  expect(pickNarrowestMode(['acceptEdits', 'default'])).toBe('default');
  expect(pickNarrowestMode(['bypass', 'plan', 'acceptEdits'])).toBe('plan');
  expect(pickNarrowestMode(['plan', 'dontAsk'])).toBe('plan');
});

test('rules are added, those that allow are of the parent alone, and where nobody is asked nobody is (L70)', () => {
  const permissions = { allow: ['read'], deny: ['write'], ask: ['bash'] };
  const added = { allow: ['write'], deny: ['edit'], ask: ['grep'] };
  expect(narrowRules({ mode: 'default', permissions }, 'default', added)).toEqual({
    allow: ['read'],
    deny: ['write', 'edit'],
    ask: ['bash', 'grep'],
  });
  expect(narrowRules({ mode: 'dontAsk', permissions }, 'plan')).toEqual({
    allow: ['read'],
    deny: ['write', 'bash'],
    ask: ['bash'],
  });
  expect(narrowRules({ mode: 'default' }, 'default')).toEqual({ allow: [], deny: [], ask: [] });
});

test('of tools those are left that all have, and of limits the lower (L69 L70)', () => {
  expect(intersectTools([undefined, undefined])).toBeUndefined();
  expect(intersectTools([['a', 'b'], undefined, ['b', 'c']])).toEqual(['b']);
  expect(intersectTools([['a'], []])).toEqual([]);
  expect(pickLowestLimits([{ maxTurns: 3 }, undefined, { maxTurns: 2, maxTokens: 10 }])).toEqual({
    maxTurns: 2,
    maxTokens: 10,
  });
});

test('a call of an agent, or its type, asks for a work tree; where nothing may be changed there is none (L55 L72)', async () => {
  const types = { ...agentDefaults.types, builder: { description: 'Builds.', isolation: 'worktree' as const } };
  const tool = createAgentTool({ ...agentDefaults, types });
  const task = { description: 'Title', prompt: 'Do it.' };
  const judge = { cwd: '/w', dir: '/w' };
  const isolated = async (input: object): Promise<unknown> =>
    ((await tool.delegate!(input, { depth: 0 } as ToolContext)) as { readonly isolation?: string }).isolation;
  expect(await isolated(task)).toBeUndefined();
  expect(await isolated({ ...task, isolation: 'worktree' })).toBe('worktree');
  expect(await isolated({ ...task, type: 'builder' })).toBe('worktree');
  const denied = { kind: 'deny', why: expect.stringContaining('leave isolation out') };
  expect(tool.canUse!({ ...task, type: 'builder' }, { ...judge, mode: 'plan' })).toEqual(denied);
  expect(tool.canUse!({ ...task, isolation: 'worktree' }, { ...judge, mode: 'plan' })).toEqual(denied);
  expect(tool.canUse!(task, { ...judge, mode: 'plan' })).toBeUndefined();
  expect(tool.canUse!({ ...task, isolation: 'worktree' }, { ...judge, mode: 'default' })).toBeUndefined();
});

test.each([
  [undefined, true],
  [true, true],
  [false, undefined],
])('of a type that works in the background, a call that says %s does: %s (L71)', async (background, expected) => {
  const types = { slow: { description: 'Slow.', background: true }, general: { description: 'g' } };
  const tool = createAgentTool({ types, limits: agentDefaults.limits });
  const given = { description: 'd', prompt: 'p', ...(background !== undefined && { background }) };
  const context = { depth: 0 } as ToolContext;
  const work = await tool.delegate?.({ ...given, type: 'slow' }, context);
  expect((work as { background?: true }).background).toBe(expected);
  const other = await tool.delegate?.({ ...given, background: false }, context);
  expect(other).not.toHaveProperty('background');
});
