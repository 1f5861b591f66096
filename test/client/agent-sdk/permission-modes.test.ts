import { expect, test } from 'vitest';
import { query } from '../../../client/agent-sdk/index.ts';
import { toAgentTypes } from '../../../client/agent-sdk/agent-types.ts';
import { createGrants } from '../../../client/agent-sdk/can-use-tool.ts';
import { inwardMode, withModeInEffect } from '../../../client/agent-sdk/names.ts';

test('the mode auto asks as default does, and the program is told so (Q7)', () => {
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  expect(withModeInEffect({ permissionMode: 'auto' }, say)).toEqual({ permissionMode: 'default' });
  expect(said).toEqual([expect.stringMatching(/^query\(\) has permission mode "auto", which is "default" here: /)]);
  expect(withModeInEffect({ permissionMode: 'plan' }, say)).toEqual({ permissionMode: 'plan' });
  expect(said).toHaveLength(1);
});

test('the mode auto is default wherever a program names it: in a query, an agent and an answer (Q7)', () => {
  expect([inwardMode('auto', true), inwardMode('auto', false)]).toEqual(['default', 'dontAsk']);
  expect(() => inwardMode('always' as never, true)).toThrow('permission mode "always" is none of default, ');
  const said: string[] = [];
  const types = toAgentTypes(
    { helper: { description: 'd', prompt: 'p', permissionMode: 'auto' } },
    [],
    new Map(),
    (line) => said.push(line),
  );
  expect(types['helper']).toMatchObject({ permissionMode: 'default' });
  expect(said).toEqual([
    expect.stringMatching(/^the agent "helper" of query\(\) has permission mode "auto", which is /),
  ]);
  const granted: unknown[] = [];
  createGrants('/', (what) => granted.push(what)).add([{ type: 'setMode', mode: 'auto', destination: 'session' }]);
  expect(granted).toEqual([{ mode: 'default' }]);
});

test('a program that sets the mode auto is told which one is in effect (Q7)', async () => {
  expect(await query({ prompt: 'x' }).setPermissionMode('auto')).toEqual({ mode: 'default' });
});
