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
  readonly cwd: string;
  /** Of its input; undefined when the tool does not say what a pattern is about. Looked up when a rule needs it. */
  readonly subject: () => RuleSubject | null | undefined;
};

/** Tools that do what another does: who denies or asks about that one means these too. */
const ALSO: Readonly<Record<string, string>> = { edit: 'write' };

/** The first rule of the list that is about the call, as written; undefined when none is. In doubt it is. */
export function touchingRule(list: PermissionRules['deny'] = [], call: RuledCall): string | undefined {
  let touched: ((pattern: string) => boolean) | undefined;
  return list.find((text) => {
    const rule = parseRule(text);
    if (rule === null || !(names(rule, call.tool) || rule.tool === ALSO[call.tool.name])) return false;
    if (rule.pattern === null) return true;
    touched ??= touchedBy(call);
    return touched(rule.pattern);
  });
}

function touchedBy({ subject: subjectOf, cwd }: RuledCall): (pattern: string) => boolean {
  const subject = subjectOf();
  if (subject === undefined) return () => true;
  if (subject === null) return () => false;
  return subject.kind === 'path' ? touchedPath(subject, cwd) : touchedCommand(subject);
}

/** Whether the allow rules, together, are about all of the call. In doubt they are not. */
export function allowedByRules(list: PermissionRules['allow'] = [], call: RuledCall): boolean {
  const rules = list.map(parseRule).filter((rule) => rule !== null && names(rule, call.tool)) as readonly Rule[];
  if (rules.length === 0) return false;
  if (rules.some(({ pattern }) => pattern === null)) return true;
  const patterns = rules.map(({ pattern }) => pattern as string);
  const subject = call.subject();
  if (subject === null || subject === undefined) return false;
  return subject.kind === 'path'
    ? patterns.some((pattern) => allowedPath(pattern, subject, call.cwd))
    : allowedCommand(patterns, subject);
}

/** Whether the rule is about one of these tools. Several at once may be of servers that are away: they always are. */
export function namesSome(text: string, tools: readonly string[]): boolean {
  const rule = parseRule(text);
  return rule !== null && (rule.tool.includes('*') || rule.tool.startsWith('mcp__') || tools.includes(rule.tool));
}

function names(rule: Rule, { name }: Tool): boolean {
  return rule.tool === name || (rule.tool.includes('*') && globMatcher(rule.tool)(name));
}
