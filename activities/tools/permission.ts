// Whether a call may run (L55): the tool's own rule above the mode's, deny > ask > allow. Pure.
import type { PermissionMode } from '../../workflows/contract/session.ts';
import type { JudgeContext, PermissionDecision, Risk, Tool } from './tool.ts';

/** `input` has passed the tool's schema. */
export function decide(
  mode: PermissionMode,
  risk: Risk,
  tool: Tool,
  input: unknown,
  context: JudgeContext,
): PermissionDecision {
  const own = tool.canUse?.(input, { cwd: context.cwd, mode });
  if (own?.kind === 'deny') return own;
  if (mode === 'bypass' || own?.kind === 'allow') return { kind: 'allow' };
  if (own?.kind === 'ask') return own;
  return allowedBy(mode, risk) ? { kind: 'allow' } : { kind: 'ask' };
}

function allowedBy(mode: Exclude<PermissionMode, 'bypass'>, risk: Risk): boolean {
  return risk === 'read' || (mode === 'acceptEdits' && risk === 'write');
}

/** What the model reads instead of a result when someone would have to be asked, and nobody can be. */
export function unaskedText(mode: PermissionMode, risk: Risk, tool: string): string {
  const wider = risk === 'write' ? '"--permission-mode acceptEdits" or "bypass"' : '"--permission-mode bypass"';
  return (
    `Not run: ${tool} would ${deed[risk]}, and permission mode "${mode}" asks before that, but nobody can be asked here. ` +
    `Go on without it, or say what is needed: whoever started this run can allow it with ${wider}.`
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
