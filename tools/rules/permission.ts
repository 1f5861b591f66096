// Whether a call may run (L55): deny > ask > allow, of the tool's own rule and the run's, and the
// mode for the rest. Mode `bypass` asks nothing: in it only what denies holds.
import type { PermissionMode, PermissionRules } from '../../workflows/contract/session.ts';
import { isFatalRule } from '../../workflows/contract/permission-rules.ts';
import { isAllowedByRules, touchingRule, denyingRule } from './match-rules.ts';
import type { JudgeContext, PermissionDecision, Risk, Tool } from '../tool.ts';

type Asks = Extract<PermissionDecision, { kind: 'ask' }>;

export type PermissionSettings = {
  readonly mode: PermissionMode;
  readonly permissions?: PermissionRules;
  /** The workspace root: an absolute real path. */
  readonly cwd: string;
  /** Other folders that its tools may work in, as the root. */
  readonly folders?: readonly string[];
  /** The working directory, when it is another (L38). */
  readonly dir?: string;
  /** The verdict of pre-tool hooks on this call: it counts as a rule that allows or asks. */
  readonly hook?: HookOpinion;
};

export type HookOpinion = { readonly kind: 'allow' } | { readonly kind: 'ask'; readonly why: string };

/** `own`: the answer of the tool's own rule; absent: none. `input` has passed the tool's schema. */
export function decide(
  settings: PermissionSettings,
  risk: Risk,
  tool: Pick<Tool, 'name' | 'subject'>,
  input: unknown,
  own?: PermissionDecision,
): PermissionDecision {
  const { mode, permissions = {}, cwd, folders, hook } = settings;
  const context = judgeContext(settings);
  const call = { tool, cwd, folders, subject: () => tool.subject?.(input, context) };
  const ending = denyingRule(permissions.deny?.filter(isFatalRule), call);
  if (ending !== undefined) return { ...deniedBy(ending), fatal: true };
  if (own?.kind === 'deny') return own;
  const denying = denyingRule(permissions.deny, call);
  if (denying !== undefined) return deniedBy(denying);
  if (mode === 'bypass') return { kind: 'allow' };
  if (mode === 'plan' && risk !== 'read') return { kind: 'deny', why: 'in permission mode "plan" only reads run' };
  if (hook?.kind === 'ask') return asked(mode, risk, { hook: hook.why });
  const asking = touchingRule(permissions.ask, call);
  if (asking !== undefined) return asked(mode, risk, { rule: asking });
  if (hook?.kind === 'allow') return { kind: 'allow' };
  if (own?.kind === 'ask' && !own.unlessAllowed) return asked(mode, risk, reasons(own));
  if (own?.kind === 'allow' || allowedByMode(mode, risk) || isAllowedByRules(permissions.allow, call)) {
    return { kind: 'allow' };
  }
  return asked(mode, risk, own?.kind === 'ask' ? reasons(own) : {});
}

function deniedBy(rule: string): Extract<PermissionDecision, { kind: 'deny' }> {
  return { kind: 'deny', why: `the rule ${JSON.stringify(rule)} denies it` };
}

/** Where a tool judges an input. */
export function judgeContext({ cwd, dir = cwd, folders }: PermissionSettings): JudgeContext {
  return { cwd, dir, ...(folders && { folders }) };
}

function allowedByMode(mode: Exclude<PermissionMode, 'bypass'>, risk: Risk): boolean {
  return risk === 'read' || (mode === 'acceptEdits' && risk === 'write');
}

function asked(mode: PermissionMode, risk: Risk, by: Omit<Asks, 'kind'> = {}): PermissionDecision {
  if (mode !== 'dontAsk') return { kind: 'ask', ...by };
  const why = `${cause(risk, by)}, and in permission mode "dontAsk" what would ask is denied`;
  return { kind: 'deny', why };
}

function reasons({ rule, why }: Asks): Omit<Asks, 'kind'> {
  return { ...(rule === undefined ? {} : { rule }), ...(why === undefined ? {} : { why }) };
}

function cause(risk: Risk, { rule, hook, why }: Omit<Asks, 'kind'>): string {
  if (why !== undefined) return `it would ${deed[risk]}, and ${why}`;
  if (hook !== undefined) return `a hook asks before it (${hook})`;
  return rule === undefined ? `it would ${deed[risk]}` : `the rule ${JSON.stringify(rule)} asks before it`;
}

/** The question as a person reads it: what would happen, and who wants it asked (L55). */
export function askReason(mode: PermissionMode, risk: Risk, tool: string, { rule, hook, why }: Asks): string {
  const would = `${tool} would ${deed[risk]}`;
  if (hook !== undefined) return `${would}; a hook asks before it: ${hook}`;
  if (why !== undefined) return `${would}; ${why}`;
  if (rule !== undefined) return `${would}; the rule ${JSON.stringify(rule)} asks before it`;
  return `${would}; permission mode "${mode}" asks before that`;
}

export function describeDenial(tool: string, why: string): string {
  return `Not run: ${tool} was denied: ${why}`;
}

const deed: Readonly<Record<Risk, string>> = {
  read: 'read outside what it may read unasked',
  write: 'change files',
  execute: 'run a command that may change things',
  external: 'reach something outside this machine',
};
