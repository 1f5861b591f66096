// What the rules of a run say about one call (L55). Pure but for links, which are looked up where a rule is about a path.
import { parseRule, type Rule } from '../../../workflows/contract/permission-rules.ts';
import type { PermissionRules } from '../../../workflows/contract/session.ts';
import { globMatcher } from '../builtin/search/glob-match.ts';
import type { RuleSubject, Tool } from '../tool.ts';
import { allowedCommand } from './allowed-command.ts';
import { allowedPath, touchedPath } from './path-rules.ts';
import { touchedCommand } from './touched-command.ts';

export type RuledCall = {
  readonly tool: Tool;
  /** As the schema returned it. */
  readonly input: unknown;
  readonly cwd: string;
};

/** The first rule of the list that is about the call, as written; undefined when none is. In doubt it is. */
export function touchingRule(list: PermissionRules['deny'], call: RuledCall): string | undefined {
  return list?.find((text) => {
    const rule = parseRule(text);
    if (rule === null || !names(rule, call.tool)) return false;
    const subject = rule.pattern === null ? undefined : subjectOf(call);
    if (rule.pattern === null || subject === undefined) return true;
    if (subject === null) return false;
    return subject.kind === 'path'
      ? touchedPath(rule.pattern, subject, call.cwd)
      : touchedCommand(rule.pattern, subject);
  });
}

/** Whether the allow rules, together, are about all of the call. In doubt they are not. */
export function allowedByRules(list: PermissionRules['allow'], call: RuledCall): boolean {
  const rules = (list ?? []).map(parseRule).filter((rule) => rule !== null && names(rule, call.tool)) as readonly Rule[];
  if (rules.length === 0) return false;
  if (rules.some(({ pattern }) => pattern === null)) return true;
  const patterns = rules.map(({ pattern }) => pattern as string);
  const subject = subjectOf(call);
  if (subject === null || subject === undefined) return false;
  return subject.kind === 'path'
    ? patterns.some((pattern) => allowedPath(pattern, subject, call.cwd))
    : allowedCommand(patterns, subject);
}

/** Undefined: the tool does not say what its patterns are about. */
function subjectOf({ tool, input, cwd }: RuledCall): RuleSubject | null | undefined {
  return tool.subject?.(input, { cwd });
}

function names(rule: Rule, { name }: Tool): boolean {
  return rule.tool === name || (rule.tool.includes('*') && globMatcher(rule.tool)(name));
}
