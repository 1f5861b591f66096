// Whether a call may run (L55): deny > ask > allow, of the tool's own rule and the run's, and the mode for the rest.
import type { PermissionMode, PermissionRules } from '../../workflows/contract/session.ts';
import { allowedByRules, touchingRule } from './rules/match-rules.ts';
import type { PermissionDecision, Risk, Tool } from './tool.ts';

export type PermissionSettings = {
  readonly mode: PermissionMode;
  readonly permissions?: PermissionRules;
  /** The workspace root: an absolute real path. */
  readonly cwd: string;
};

/** `input` has passed the tool's schema. */
export function decide(settings: PermissionSettings, risk: Risk, tool: Tool, input: unknown): PermissionDecision {
  const { mode, permissions = {}, cwd } = settings;
  const call = { tool, cwd, subject: () => tool.subject?.(input, { cwd }) };
  const own = tool.canUse?.(input, { cwd, mode });
  if (own?.kind === 'deny') return own;
  const denying = touchingRule(permissions.deny, call);
  if (denying !== undefined) return { kind: 'deny', why: `the rule ${JSON.stringify(denying)} denies it` };
  if (mode === 'bypass') return { kind: 'allow' };
  if (mode === 'plan' && risk !== 'read') return { kind: 'deny', why: 'in permission mode "plan" only reads run' };
  const asking = touchingRule(permissions.ask, call);
  if (asking !== undefined) return asked(mode, risk, asking);
  if (own?.kind === 'ask') return asked(mode, risk, own.rule);
  if (own?.kind === 'allow' || allowedByMode(mode, risk) || allowedByRules(permissions.allow, call)) {
    return { kind: 'allow' };
  }
  return asked(mode, risk);
}

function allowedByMode(mode: Exclude<PermissionMode, 'bypass'>, risk: Risk): boolean {
  return risk === 'read' || (mode === 'acceptEdits' && risk === 'write');
}

function asked(mode: PermissionMode, risk: Risk, rule?: string): PermissionDecision {
  if (mode !== 'dontAsk') return { kind: 'ask', ...(rule === undefined ? {} : { rule }) };
  const cause = rule === undefined ? `it would ${deed[risk]}` : `the rule ${JSON.stringify(rule)} asks before it`;
  return { kind: 'deny', why: `${cause}, and in permission mode "dontAsk" what would ask is denied` };
}

/** What the model reads instead of a result when someone would have to be asked, and nobody can be. */
export function unaskedText(mode: PermissionMode, risk: Risk, tool: string, rule?: string): string {
  if (rule !== undefined) {
    return (
      `Not run: the rule ${JSON.stringify(rule)} asks before this call of ${tool}, but nobody can be asked here. ` +
      'Go on without it, or say what is needed: whoever started this run can change the rule.'
    );
  }
  // What a tool itself asks about no rule allows.
  const byRule = risk === 'read' ? '' : ', or a rule ("--allow")';
  const wider = risk === 'write' ? '"--permission-mode acceptEdits" or "bypass"' : '"--permission-mode bypass"';
  return (
    `Not run: ${tool} would ${deed[risk]}, and permission mode "${mode}" asks before that, but nobody can be asked here. ` +
    `Go on without it, or say what is needed: whoever started this run can allow it with ${wider}${byRule}.`
  );
}

export function deniedText(tool: string, why: string): string {
  return `Not run: ${tool} was denied: ${why}`;
}

const deed: Readonly<Record<Risk, string>> = {
  read: 'read outside what it may read unasked',
  write: 'change files in the workspace',
  execute: 'run a command that may change things',
  external: 'reach something outside this machine',
};
