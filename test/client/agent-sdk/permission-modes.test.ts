import { expect, test } from 'vitest';
import { query } from '../../../client/agent-sdk/index.ts';
import { withModeInEffect } from '../../../client/agent-sdk/permission-modes.ts';

test('the mode auto asks as default does, and the program is told so (Q7)', () => {
  const said: string[] = [];
  const say = (line: string): void => void said.push(line);
  expect(withModeInEffect({ permissionMode: 'auto' }, say)).toEqual({ permissionMode: 'default' });
  expect(said).toEqual([expect.stringMatching(/^permission mode "auto" is "default" here: /)]);
  expect(withModeInEffect({ permissionMode: 'plan' }, say)).toEqual({ permissionMode: 'plan' });
  expect(said).toHaveLength(1);
});

test('a program that sets the mode auto is told which one is in effect (Q7)', async () => {
  expect(await query({ prompt: 'x' }).setPermissionMode('auto')).toEqual({ mode: 'default' });
});
