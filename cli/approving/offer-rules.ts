// Offers rules for calls that a person no longer wants to be asked about, from narrow to wide. Each
// covers the call in question.
import { isAbsolute, posix } from 'node:path';
import { ruleFor } from '../../client/sessions/always-allow.ts';
import type { WaitingApproval } from '../../client/sessions/waiting-approval.ts';
import { permissionsProblem } from '../../workflows/contract/permission-rules.ts';

/** Returns no rule where none can be proposed. A command gets no wider rule than its own. */
export function offerRules(approval: Pick<WaitingApproval, 'tool' | 'input'>): readonly string[] {
  const { tool, input } = approval;
  const narrow = ruleFor(approval);
  if (narrow === null) return [];
  const wider = tool === 'edit' || tool === 'write' ? [folderRule(tool, input), tool] : [];
  const rules = [narrow, ...wider.filter((rule) => rule !== null)];
  return [...new Set(rules)].filter((rule) => permissionsProblem({ allow: [rule] }) === undefined);
}

function folderRule(tool: string, input: unknown): string | null {
  const { path } = (input ?? {}) as { readonly path?: unknown };
  if (typeof path !== 'string' || isAbsolute(path) || path.startsWith('..')) return null;
  const folder = posix.dirname(posix.normalize(path));
  return folder === '.' ? null : `${tool}(${folder}/**)`;
}
