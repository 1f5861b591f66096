import { expect, test } from 'vitest';
import type { PermissionMode, PermissionRules } from '../../workflows/contract/session.ts';
import { describeQuestion, decidePermission as judge, type PermissionSettings } from '../../tools/rules/permission.ts';
import type { PermissionDecision, Risk, Tool } from '../../tools/tool.ts';
import { simpleTool } from './support.ts';

type Judged = { readonly risk: Risk; readonly tool: Tool; readonly input: unknown };

const decide = (settings: PermissionSettings, { risk, tool, input }: Judged): PermissionDecision => {
  const own = tool.canUse?.(input, { cwd: '/', dir: '/', mode: settings.mode }) as PermissionDecision | undefined;
  return judge(settings, { risk, tool, input, own });
};

const modes: readonly PermissionMode[] = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypass'];
const risks: readonly Risk[] = ['read', 'write', 'execute', 'external'];

function decided(mode: PermissionMode, risk: Risk, own?: PermissionDecision): string {
  const tool = simpleTool(own === undefined ? {} : { canUse: () => own });
  return decide({ mode, cwd: '/workspace' }, { risk, tool, input: {} }).kind;
}

test('each mode allows what it says and asks for the rest (L55)', () => {
  const table = modes.map((mode) => risks.map((risk) => decided(mode, risk)));
  expect(table).toEqual([
    ['allow', 'ask', 'ask', 'ask'],
    ['allow', 'allow', 'ask', 'ask'],
    ['allow', 'deny', 'deny', 'deny'],
    ['allow', 'deny', 'deny', 'deny'],
    ['allow', 'allow', 'allow', 'allow'],
  ]);
});

test('deny > ask > allow: a deny holds in every mode, also bypass (L55)', () => {
  for (const mode of modes) {
    for (const risk of risks) {
      expect(decided(mode, risk, { kind: 'deny', why: 'never' })).toBe('deny');
      const planned = mode === 'plan' && risk !== 'read';
      const asked = planned || mode === 'dontAsk' ? 'deny' : 'ask';
      expect(decided(mode, risk, { kind: 'ask' })).toBe(mode === 'bypass' ? 'allow' : asked);
      expect(decided(mode, risk, { kind: 'allow' })).toBe(planned ? 'deny' : 'allow');
    }
  }
});

test('who is asked reads what would happen, and which rule, hook or mode asks (L55)', () => {
  const reason = (asks: object): string => describeQuestion('default', 'write', 'edit', { kind: 'ask', ...asks });
  expect(reason({})).toBe('edit would change files. Default mode asks first.');
  expect(reason({ rule: 'e*' })).toBe('edit would change files. The rule "e*" asks first.');
  expect(reason({ hook: 'why' })).toBe('edit would change files. A hook asks first: why');
  expect(describeQuestion('acceptEdits', 'execute', 'bash', { kind: 'ask' })).toBe(
    'This command may change files. Mode acceptEdits asks first.',
  );
});

test('a hook that allows overrules the mode and the tool, not a rule or plan mode; one that asks is a rule (L33 L55)', () => {
  const by = (hook: PermissionSettings['hook'] & object, permissions: PermissionRules = {}): readonly string[] =>
    modes.map(
      (mode) =>
        decide(
          { mode, permissions, hook, cwd: '/workspace' },
          { risk: 'execute', tool: simpleTool({ name: 'act' }), input: {} },
        ).kind,
    );
  // In the order of the modes: default, acceptEdits, plan, dontAsk, bypass.
  expect(by({ kind: 'allow' })).toEqual(['allow', 'allow', 'deny', 'allow', 'allow']);
  expect(by({ kind: 'allow' }, { ask: ['act'] })).toEqual(['ask', 'ask', 'deny', 'deny', 'allow']);
  expect(by({ kind: 'allow' }, { deny: ['act'] })).toEqual(['deny', 'deny', 'deny', 'deny', 'deny']);
  expect(by({ kind: 'ask', why: 'x' }, { allow: ['act'] })).toEqual(['ask', 'ask', 'deny', 'deny', 'allow']);
});

const everyMode = (permissions: PermissionRules, risk: Risk): readonly string[] =>
  modes.map(
    (mode) =>
      decide({ mode, permissions, cwd: '/workspace' }, { risk, tool: simpleTool({ name: 'act' }), input: {} }).kind,
  );

test('the rules of a run: deny > ask > allow > mode; plan runs reads only, bypass asks nothing (L55)', () => {
  const [allow, deny, ask] = [['act'], ['act'], ['act']];
  // In the order of the modes: default, acceptEdits, plan, dontAsk, bypass.
  expect(everyMode({ allow, deny, ask }, 'read')).toEqual(['deny', 'deny', 'deny', 'deny', 'deny']);
  expect(everyMode({ allow, ask }, 'read')).toEqual(['ask', 'ask', 'ask', 'deny', 'allow']);
  expect(everyMode({ allow, ask }, 'execute')).toEqual(['ask', 'ask', 'deny', 'deny', 'allow']);
  expect(everyMode({ allow }, 'execute')).toEqual(['allow', 'allow', 'deny', 'allow', 'allow']);
});

test('rules beside the tool’s own: either denies, either asks, either allows (L55)', () => {
  const allow = { permissions: { allow: ['act'] } };
  const beside = (own: PermissionDecision, more: Partial<PermissionSettings>): PermissionDecision =>
    decide(
      { mode: 'default', cwd: '/', ...more },
      { risk: 'write', tool: simpleTool({ name: 'act', canUse: () => own }), input: {} },
    );
  expect(beside({ kind: 'deny', why: 'never', fatal: true }, allow)).toEqual({
    kind: 'deny',
    why: 'never',
    fatal: true,
  });
  expect(beside({ kind: 'ask' }, allow)).toEqual({ kind: 'ask' });
  expect(beside({ kind: 'allow' }, { permissions: { ask: ['a*'] } })).toEqual({ kind: 'ask', rule: 'a*' });
  expect(beside({ kind: 'allow' }, { permissions: { deny: ['a*'] } })).toMatchObject({ kind: 'deny' });
});

test('of all that denies, a rule that ends the run goes first, in every mode (L34 L55)', () => {
  const canUse = (): PermissionDecision => ({ kind: 'deny', why: 'never' });
  const why = 'the rule "a*!" denies it';
  for (const mode of modes) {
    const settings = { mode, permissions: { deny: ['act', 'a*!'] }, cwd: '/' };
    expect(decide(settings, { risk: 'read', tool: simpleTool({ name: 'act', canUse }), input: {} })).toEqual({
      kind: 'deny',
      why,
      fatal: true,
    });
  }
});

test('a refusal names its rule or its mode (L55)', () => {
  const whyIn = (mode: PermissionMode, permissions: PermissionRules): unknown =>
    decide({ mode, permissions, cwd: '/' }, { risk: 'write', tool: simpleTool({ name: 'act' }), input: {} });
  expect(whyIn('bypass', { deny: ['a*'] })).toEqual({ kind: 'deny', why: 'the rule "a*" denies it' });
  expect(whyIn('plan', {})).toEqual({ kind: 'deny', why: 'in permission mode "plan" only reads run' });
  expect(whyIn('dontAsk', { ask: ['a*'] })).toMatchObject({
    why: 'the rule "a*" asks first, and in permission mode "dontAsk" what would ask is denied',
  });
});
