// Matches the rules of a run against one call (L55). Pure but for links, which are looked up where
// a rule is about a path.
import { sep } from 'node:path';
import { parseRule, type Rule } from '../../workflows/contract/permission-rules.ts';
import type { PermissionRules } from '../../workflows/contract/session.ts';
import { createGlobMatcher, expandReadings } from '../builtin/search/glob-match.ts';
import { isListedAs, RESOURCES, SERVER_PREFIX } from '../registry.ts';
import type { RuleSubject, Tool } from '../tool.ts';
import { createTouchTest, isAllowedCommand } from './touched-commands.ts';
import { isInside, rootsOf } from '../../system/process/places.ts';
import {
  addContents,
  cleanPattern,
  createDenyTest,
  isAbsoluteGlob,
  isPathAllowed,
  relativeName,
} from './path-rules.ts';
import { nearName } from '../../workflows/contract/did-you-mean.ts';

type RuledCall = {
  readonly tool: Pick<Tool, 'name'>;
  readonly cwd: string;
  /** Other folders of the run, absolute real paths. */
  readonly folders?: readonly string[] | undefined;
  /**
   * Returns the subject of its input; undefined when the tool does not say what a pattern is about.
   * It is called when a rule needs it.
   */
  readonly subject: () => RuleSubject | null | undefined;
};

/** Tools that do what another does: a rule that denies or asks about that one means these too. */
const ALSO: Readonly<Record<string, string>> = { edit: 'write' };

/**
 * Returns the first rule of the list that is about the call, as written; undefined when none is. In
 * doubt it is.
 */
export function findTouchingRule(list: PermissionRules['deny'] = [], call: RuledCall): string | undefined {
  let touched: ((pattern: string) => boolean) | undefined;
  const ofServer = nameResources(call);
  return list.find((text) => {
    const rule = parseRule(text);
    if (rule !== null && ofServer && isAboutTool(rule, ofServer)) return true;
    if (rule === null || !(isAboutTool(rule, call.tool) || rule.tool === ALSO[call.tool.name])) return false;
    if (rule.pattern === null) return true;
    touched ??= createPatternTest(call);
    return touched(rule.pattern);
  });
}

/**
 * Finds a rule as `findTouchingRule` does, in a list that denies: a file that a search leaves out
 * anyway does not keep it from the rest.
 */
export function findDenyingRule(list: PermissionRules['deny'], call: RuledCall): string | undefined {
  const subject = (): RuleSubject | null | undefined => {
    const found = call.subject();
    return found?.kind === 'path' && found.sieved ? { kind: 'path', path: found.path } : found;
  };
  return findTouchingRule(list, { ...call, subject });
}

/**
 * Makes a test whether no rule is about a file, by its real path, for a tool that finds files;
 * undefined when no rule is about files.
 */
export function createSieve(
  list: PermissionRules['deny'] = [],
  { tool, ...reach }: Pick<RuledCall, 'tool' | 'cwd' | 'folders'>,
): ((path: string) => boolean) | undefined {
  const patterns = list
    .map(parseRule)
    .flatMap((rule) => (rule?.pattern && isAboutTool(rule, tool) ? [rule.pattern] : []));
  if (patterns.length === 0) return undefined;
  const globs = patterns.flatMap((pattern) =>
    expandReadings(pattern).map((glob) => ({
      roots: isAbsoluteGlob(pattern) ? [sep] : rootsOf(reach),
      matches: createGlobMatcher(addContents(cleanPattern(glob)), { dots: true }),
    })),
  );
  return (path) =>
    !globs.some(({ roots, matches }) =>
      roots.some((root) => isInside(root, path) && matches(relativeName(root, path) ?? '')),
    );
}

/**
 * Names a server's resources as if they were one of its tools: a rule that denies or asks about all
 * of these means them, too.
 */
function nameResources({ tool, subject: subjectOf }: RuledCall): Pick<Tool, 'name'> | null {
  const subject = tool.name === RESOURCES ? subjectOf() : null;
  return subject?.kind === 'name' ? { name: `${SERVER_PREFIX}${subject.name}__${RESOURCES}` } : null;
}

/**
 * Tells whether a file may be shown by another way than the tool `read`, from which rules may keep
 * it.
 */
export function mayReadByRules(
  { cwd, folders, permissions = {} }: { readonly permissions?: PermissionRules } & Pick<RuledCall, 'cwd' | 'folders'>,
  path: string,
): boolean {
  const call = { tool: { name: 'read' }, cwd, folders, subject: () => ({ kind: 'path', path }) as const };
  return [permissions.deny, permissions.ask].every((list) => findTouchingRule(list, call) === undefined);
}

function createPatternTest({ subject: subjectOf, cwd, folders }: RuledCall): (pattern: string) => boolean {
  const subject = subjectOf();
  if (subject === undefined) return () => true;
  if (subject === null) return () => false;
  if (subject.kind === 'name') return (pattern) => createGlobMatcher(pattern)(subject.name);
  return subject.kind === 'path' ? createDenyTest(subject, { cwd, folders }) : createTouchTest(subject);
}

/** Tells whether the allow rules, together, are about all of the call. In doubt they are not. */
export function isAllowedByRules(list: PermissionRules['allow'] = [], call: RuledCall): boolean {
  const rules = list.map(parseRule).filter((rule) => rule !== null && isAboutTool(rule, call.tool)) as readonly Rule[];
  if (rules.length === 0) return false;
  if (rules.some(({ pattern }) => pattern === null)) return true;
  const patterns = rules.map(({ pattern }) => pattern as string);
  const subject = call.subject();
  if (subject === null || subject === undefined) return false;
  if (subject.kind === 'name') return patterns.some((pattern) => createGlobMatcher(pattern)(subject.name));
  return subject.kind === 'path'
    ? patterns.some((pattern) => isPathAllowed(pattern, subject, call.cwd))
    : isAllowedCommand(patterns, subject);
}

/**
 * Tells whether the rule is about one of these tools. A rule with a wildcard may be about servers
 * that are away: it always is.
 */
export function isAboutSome(text: string, tools: readonly string[]): boolean {
  const rule = parseRule(text);
  return rule !== null && (rule.tool.includes('*') || rule.tool.startsWith('mcp__') || tools.includes(rule.tool));
}

function isAboutTool(rule: Rule, { name }: Pick<Tool, 'name'>): boolean {
  return isListedAs(rule.tool, name) || (rule.tool.includes('*') && createGlobMatcher(rule.tool)(name));
}

/** Returns the rules that are about none of these tools. */
export function findIdleRules({ deny = [], ask = [], allow = [] }: PermissionRules, tools: readonly string[]) {
  return [...deny, ...ask, ...allow].filter((rule) => !isAboutSome(rule, tools));
}

/**
 * Returns a sentence about the first rule whose tool is a slip of the name of one of these tools,
 * and which guards nothing, or undefined.
 */
export function mistakenRule(rules: PermissionRules, tools: readonly string[]): string | undefined {
  for (const rule of findIdleRules(rules, tools)) {
    const near = nearName(parseRule(rule)?.tool ?? '', tools);
    if (near !== undefined)
      return `permission rule ${JSON.stringify(rule.slice(0, 80))} names no tool: did you mean ${near}?`;
  }
  return undefined;
}
