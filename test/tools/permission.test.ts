import { expect, test } from 'vitest';
import type { PermissionMode } from '../../workflows/contract/session.ts';
import { decide, unaskedText } from '../../activities/tools/permission.ts';
import type { PermissionDecision, Risk } from '../../activities/tools/tool.ts';
import { simpleTool } from './support.ts';

const modes: readonly PermissionMode[] = ['default', 'acceptEdits', 'bypass'];
const risks: readonly Risk[] = ['read', 'write', 'execute', 'external'];

function decided(mode: PermissionMode, risk: Risk, own?: PermissionDecision): string {
  const tool = simpleTool(own === undefined ? {} : { canUse: () => own });
  return decide(mode, risk, tool, {}, { cwd: '/workspace' }).kind;
}

test('L55 each mode allows what it says and asks for the rest', () => {
  const table = modes.map((mode) => risks.map((risk) => decided(mode, risk)));
  expect(table).toEqual([
    ['allow', 'ask', 'ask', 'ask'],
    ['allow', 'allow', 'ask', 'ask'],
    ['allow', 'allow', 'allow', 'allow'],
  ]);
});

test('L55 deny > ask > allow: a deny holds in every mode, also bypass', () => {
  for (const mode of modes) {
    for (const risk of risks) {
      expect(decided(mode, risk, { kind: 'deny', why: 'never' })).toBe('deny');
      expect(decided(mode, risk, { kind: 'ask' })).toBe(mode === 'bypass' ? 'allow' : 'ask');
      expect(decided(mode, risk, { kind: 'allow' })).toBe('allow');
    }
  }
});

test('a rule gets the input, the workspace and the mode', () => {
  const seen: unknown[] = [];
  const tool = simpleTool({ canUse: (input, context) => (seen.push(input, context), undefined) });
  decide('acceptEdits', 'write', tool, { text: 'x' }, { cwd: '/workspace' });
  expect(seen).toEqual([{ text: 'x' }, { cwd: '/workspace', mode: 'acceptEdits' }]);
});

test('L55 what would ask says so: the mode, the deed, and what a caller can do', () => {
  expect(unaskedText('default', 'write', 'edit')).toBe(
    'Not run: edit would change files in the workspace, and permission mode "default" asks before that, but nobody can be asked here. ' +
      'Go on without it, or say what is needed: whoever started this run can allow it with "--permission-mode acceptEdits" or "bypass".',
  );
  expect(unaskedText('acceptEdits', 'execute', 'bash')).toContain('"--permission-mode bypass"');
});
