// Decides whether a call may run (L55): deny > ask > allow, of the tool's own rule and the run's,
// and the mode for the rest. Mode `bypass` asks nothing: in it only denials hold.
import type { PermissionMode, PermissionRules } from '../../workflows/contract/session.ts';
import { isFatalRule } from '../../workflows/contract/permission-rules.ts';
import { isAllowedByRules, findTouchingRule, findDenyingRule } from './match-rules.ts';
import type { SessionFiles } from '../../store/values/files.ts';
import type { JudgeContext, PermissionDecision, Risk, Tool } from '../tool.ts';
import { present } from '../../workflows/contract/present.ts';

type AskDecision = Extract<PermissionDecision, { kind: 'ask' }>;

export type PermissionSettings = {
  readonly mode: PermissionMode;
  readonly permissions?: PermissionRules;
  /** The workspace root: an absolute real path. */
  readonly cwd: string;
  /** Other folders that its tools may work in, as in the root. */
  readonly folders?: readonly string[];
  readonly sessionFiles?: SessionFiles;
  /** The working directory, when it is not the root (L38). */
  readonly dir?: string;
  /** The verdict of pre-tool hooks on this call: it counts as a rule that allows or asks. */
  readonly hook?: HookOpinion;
};

export type HookOpinion = { readonly kind: 'allow' } | { readonly kind: 'ask'; readonly why: string };

type JudgedRisk = {
  readonly risk: Risk;
  readonly tool: Pick<Tool, 'name' | 'subject'>;
  readonly input: unknown;
  readonly own?: PermissionDecision | undefined;
};

/**
 * Decides. `own` is the answer of the tool's own rule, if it has one. `input` has passed the tool's
 * schema.
 */
export function decidePermission(
  settings: PermissionSettings,
  { risk, tool, input, own }: JudgedRisk,
): PermissionDecision {
  const { mode, permissions = {}, cwd, folders, hook } = settings;
  const context = buildJudgeContext(settings);
  const call = { tool, cwd, folders, subject: () => tool.subject?.(input, context) };
  const ending = findDenyingRule(permissions.deny?.filter(isFatalRule), call);
  if (ending !== undefined) return { ...denyByRule(ending), fatal: true };
  if (own?.kind === 'deny') return own;
  const denying = findDenyingRule(permissions.deny, call);
  if (denying !== undefined) return denyByRule(denying);
  if (mode === 'bypass') return { kind: 'allow' };
  if (mode === 'plan' && risk !== 'read') return { kind: 'deny', why: 'in permission mode "plan" only reads run' };
  if (hook?.kind === 'ask') return askOrDeny(mode, risk, { hook: hook.why });
  const asking = findTouchingRule(permissions.ask, call);
  if (asking !== undefined) return askOrDeny(mode, risk, { rule: asking });
  if (hook?.kind === 'allow') return { kind: 'allow' };
  if (own?.kind === 'ask' && !own.unlessAllowed) return askOrDeny(mode, risk, pickReasons(own));
  if (own?.kind === 'allow' || isAllowedByMode(mode, risk) || isAllowedByRules(permissions.allow, call)) {
    return { kind: 'allow' };
  }
  return askOrDeny(mode, risk, own?.kind === 'ask' ? pickReasons(own) : {});
}

function denyByRule(rule: string): Extract<PermissionDecision, { kind: 'deny' }> {
  return { kind: 'deny', why: `the rule ${JSON.stringify(rule)} denies it` };
}

/** Builds the context in which a tool judges an input. */
export function buildJudgeContext({ cwd, dir = cwd, folders, sessionFiles }: PermissionSettings): JudgeContext {
  return { cwd, dir, ...present({ folders, sessionFiles }) };
}

function isAllowedByMode(mode: Exclude<PermissionMode, 'bypass'>, risk: Risk): boolean {
  return risk === 'read' || (mode === 'acceptEdits' && risk === 'write');
}

function askOrDeny(mode: PermissionMode, risk: Risk, by: Omit<AskDecision, 'kind'> = {}): PermissionDecision {
  if (mode !== 'dontAsk') return { kind: 'ask', ...by };
  const why = `${describeCause(risk, by)}, and in permission mode "dontAsk" what would ask is denied`;
  return { kind: 'deny', why };
}

function pickReasons({ rule, why }: AskDecision): Omit<AskDecision, 'kind'> {
  return { ...present({ rule, why }) };
}

function describeCause(risk: Risk, { rule, hook, why }: Omit<AskDecision, 'kind'>): string {
  if (why !== undefined) return `it would ${DEEDS[risk]}, and ${why}`;
  if (hook !== undefined) return `a hook asks first (${hook})`;
  return rule === undefined ? `it would ${DEEDS[risk]}` : `the rule ${JSON.stringify(rule)} asks first`;
}

/** Words the question for a person: what would happen, and who wants it asked (L55). */
export function describeQuestion(
  mode: PermissionMode,
  risk: Risk,
  tool: string,
  { rule, hook, why }: AskDecision,
): string {
  const would = tool === 'bash' && risk === 'execute' ? COMMAND : `${tool} would ${DEEDS[risk]}`;
  if (hook !== undefined) return `${would}. A hook asks first: ${hook}`;
  if (why !== undefined) return `${would}: ${why}`;
  if (rule !== undefined) return `${would}. The rule ${JSON.stringify(rule)} asks first.`;
  return `${would}. ${mode === 'default' ? 'Default mode' : `Mode ${mode}`} asks first.`;
}

const COMMAND = 'This command may change files';

export function describeDenial(tool: string, why: string): string {
  return `Not run: ${tool} was denied: ${why}`;
}

const DEEDS: Readonly<Record<Risk, string>> = {
  read: 'read outside what it may read unasked',
  write: 'change files',
  execute: 'run a command that may change things',
  external: 'reach something outside this machine',
};
