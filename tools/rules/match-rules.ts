// Matches the rules of a run against one call (L55). Pure but for links, which are looked up where
// a rule is about a path.
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { parseRule, type Rule } from '../../workflows/contract/permission-rules.ts';
import type { PermissionRules } from '../../workflows/contract/session.ts';
import { globMatcher, readingsOf } from '../builtin/search/glob-match.ts';
import { meansTool, OF_SERVER, RESOURCES } from '../listed.ts';
import type { RuleSubject, Tool } from '../tool.ts';
import { isAllowedCommand, matchTouched } from './command-rules.ts';
import { isInside, type Reach, rootsOf } from '../../system/process/places.ts';

type RuledCall = {
  readonly tool: Pick<Tool, 'name'>;
  readonly cwd: string;
  /** Other folders of the run, absolute real paths. */
  readonly folders?: readonly string[] | undefined;
  /**
   * The subject of its input; undefined when the tool does not say what a pattern is about. Looked
   * up when a rule needs it.
   */
  readonly subject: () => RuleSubject | null | undefined;
};

/** Tools that do what another does: who denies or asks about that one means these too. */
const ALSO: Readonly<Record<string, string>> = { edit: 'write' };

/**
 * The first rule of the list that is about the call, as written; undefined when none is. In doubt
 * it is.
 */
export function touchingRule(list: PermissionRules['deny'] = [], call: RuledCall): string | undefined {
  let touched: ((pattern: string) => boolean) | undefined;
  const ofServer = resourcesOf(call);
  return list.find((text) => {
    const rule = parseRule(text);
    if (rule !== null && ofServer && namesTool(rule, ofServer)) return true;
    if (rule === null || !(namesTool(rule, call.tool) || rule.tool === ALSO[call.tool.name])) return false;
    if (rule.pattern === null) return true;
    touched ??= touchedBy(call);
    return touched(rule.pattern);
  });
}

/**
 * As `touchingRule` for a list that denies: what a search leaves out anyway does not keep it from
 * the rest.
 */
export function denyingRule(list: PermissionRules['deny'], call: RuledCall): string | undefined {
  const subject = (): RuleSubject | null | undefined => {
    const found = call.subject();
    return found?.kind === 'path' && found.sieved ? { kind: 'path', path: found.path } : found;
  };
  return touchingRule(list, { ...call, subject });
}

/**
 * Whether none of these rules is about a file, by its real path, for a tool that finds files;
 * undefined when they are about none.
 */
export function sieve(
  list: PermissionRules['deny'] = [],
  { tool, ...reach }: Pick<RuledCall, 'tool' | 'cwd' | 'folders'>,
): ((path: string) => boolean) | undefined {
  const patterns = list
    .map(parseRule)
    .flatMap((rule) => (rule?.pattern && namesTool(rule, tool) ? [rule.pattern] : []));
  if (patterns.length === 0) return undefined;
  const globs = patterns.flatMap((pattern) =>
    readingsOf(pattern).map((glob) => ({
      roots: isAbsoluteGlob(pattern) ? [sep] : rootsOf(reach),
      matches: globMatcher(withContents(cleaned(glob)), { dots: true }),
    })),
  );
  return (path) =>
    !globs.some(({ roots, matches }) =>
      roots.some((root) => isInside(root, path) && matches(nameIn(root, path) ?? '')),
    );
}

/**
 * What a server has beside tools, as if it were one of its tools: who denies or asks about all of
 * these means it, too.
 */
function resourcesOf({ tool, subject: subjectOf }: RuledCall): Pick<Tool, 'name'> | null {
  const subject = tool.name === RESOURCES ? subjectOf() : null;
  return subject?.kind === 'name' ? { name: `${OF_SERVER}${subject.name}__${RESOURCES}` } : null;
}

/** What rules keep from the tool `read` is not shown by another way. */
export function mayReadByRules(
  { cwd, folders, permissions = {} }: { readonly permissions?: PermissionRules } & Pick<RuledCall, 'cwd' | 'folders'>,
  path: string,
): boolean {
  const call = { tool: { name: 'read' }, cwd, folders, subject: () => ({ kind: 'path', path }) as const };
  return [permissions.deny, permissions.ask].every((list) => touchingRule(list, call) === undefined);
}

function touchedBy({ subject: subjectOf, cwd, folders }: RuledCall): (pattern: string) => boolean {
  const subject = subjectOf();
  if (subject === undefined) return () => true;
  if (subject === null) return () => false;
  if (subject.kind === 'name') return (pattern) => globMatcher(pattern)(subject.name);
  return subject.kind === 'path' ? touchedPath(subject, { cwd, folders }) : matchTouched(subject);
}

/** Whether the allow rules, together, are about all of the call. In doubt they are not. */
export function isAllowedByRules(list: PermissionRules['allow'] = [], call: RuledCall): boolean {
  const rules = list.map(parseRule).filter((rule) => rule !== null && namesTool(rule, call.tool)) as readonly Rule[];
  if (rules.length === 0) return false;
  if (rules.some(({ pattern }) => pattern === null)) return true;
  const patterns = rules.map(({ pattern }) => pattern as string);
  const subject = call.subject();
  if (subject === null || subject === undefined) return false;
  if (subject.kind === 'name') return patterns.some((pattern) => globMatcher(pattern)(subject.name));
  return subject.kind === 'path'
    ? patterns.some((pattern) => allowedPath(pattern, subject, call.cwd))
    : isAllowedCommand(patterns, subject);
}

/**
 * Whether the rule is about one of these tools. Several at once may be of servers that are away:
 * they always are.
 */
export function namesSome(text: string, tools: readonly string[]): boolean {
  const rule = parseRule(text);
  return rule !== null && (rule.tool.includes('*') || rule.tool.startsWith('mcp__') || tools.includes(rule.tool));
}

function namesTool(rule: Rule, { name }: Pick<Tool, 'name'>): boolean {
  return meansTool(rule.tool, name) || (rule.tool.includes('*') && globMatcher(rule.tool)(name));
}

// Rules for paths (L55): globs relative to the workspace, or absolute behind `//`. An allow rule is
// held against where the path leads, links followed; a deny or ask rule against that and against
// what was written, and a relative one in each folder of the run.

type PathSubject = Extract<RuleSubject, { kind: 'path' }>;

/** A wildcard does not stand for a leading dot here: `write(**)` does not open .git. */
function allowedPath(pattern: string, { path, tree = false }: PathSubject, cwd: string): boolean {
  const glob = cleaned(pattern);
  const name = nameIn(isAbsoluteGlob(pattern) ? sep : cwd, realOf(resolve(cwd, path)));
  return name !== null && (!tree || /(?:^|\/)\*\*$/.test(glob)) && globMatcher(glob)(name);
}

/**
 * Tells it of one pattern after the other. Of a whole folder also when the pattern is about
 * something in it.
 */
function touchedPath({ path, tree = false }: PathSubject, reach: Reach): (pattern: string) => boolean {
  const written = resolve(reach.cwd, path);
  const paths = [written, realOf(written)].filter((full) => full !== null);
  const namesIn = (root: string): readonly string[] =>
    // A search above a folder goes through all of it.
    paths.map((full) => nameIn(root, tree && isInside(full, root) ? root : full)).filter((name) => name !== null);
  const relatives = rootsOf(reach).flatMap(namesIn);
  const absolutes = paths.map((full) => nameIn(sep, full)).filter((name) => name !== null);
  return (pattern) => {
    const names = isAbsoluteGlob(pattern) ? absolutes : relatives;
    return readingsOf(pattern)
      .map((glob) => withContents(cleaned(glob)))
      .some((glob) => {
        const matches = globMatcher(glob, { dots: true });
        return names.some((name) => matches(name) || (tree && reachesInto(glob, name)));
      });
  };
}

/**
 * Rules about what lies in the folder at `root`, relative to it, as a rule with an absolute path is
 * about it: for a copy of the folder elsewhere. In doubt they are about more. `below`: what they
 * are relative to, as the beginning of a pattern.
 */
export function asRelative(text: string, root: string, below = ''): readonly string[] {
  const rule = parseRule(text);
  if (rule === null || rule.pattern === null || rule.tool === 'bash' || !isAbsoluteGlob(rule.pattern)) return [];
  const names = root.split(sep).slice(1);
  const mark = rule.fatal ? '!' : '';
  const relatives = readingsOf(rule.pattern).flatMap((glob) =>
    restsBelow(withContents(cleaned(glob)).split('/'), names).map(
      (rest) => `${rule.tool}(${below}${rest.join('/')})${mark}`,
    ),
  );
  return [...new Set(relatives)];
}

/**
 * The ends of a glob, by segments, that are about what lies below the folder whose names its
 * beginning matches.
 */
function restsBelow(globs: readonly string[], names: readonly string[]): readonly (readonly string[])[] {
  const from = (at: number): readonly number[] => (globs[at] === '**' ? [at, ...from(at + 1)] : [at]);
  const after = (at: number, name: string): readonly number[] => {
    if (globs[at] === '**') return from(at);
    return at < globs.length && globMatcher(globs[at]!, { dots: true })(name) ? from(at + 1) : [];
  };
  const reached = names.reduce((ats, name) => new Set([...ats].flatMap((at) => after(at, name))), new Set(from(0)));
  return [...reached].filter((at) => at < globs.length).map((at) => globs.slice(at));
}

function isAbsoluteGlob(pattern: string): boolean {
  return pattern.startsWith('//');
}

/** A path that is denied by name may be a folder, also one that is named like a set. */
function withContents(glob: string): string {
  return /[*?]/.test(basename(glob)) ? glob : `${glob}/**`;
}

/**
 * Whether what the pattern matches may lie below the folder: each of its segments is matched by the
 * beginning of the pattern.
 */
function reachesInto(glob: string, folder: string): boolean {
  const names = folder === '' ? [] : folder.split('/');
  const segments = glob.split('/');
  const open = segments.indexOf('**');
  const fixed = open === -1 ? segments : segments.slice(0, open);
  if (open === -1 && segments.length <= names.length) return false;
  return fixed.slice(0, names.length).every((segment, at) => globMatcher(segment, { dots: true })(names[at] as string));
}

/** `.` and `./` are all of the workspace. */
function cleaned(pattern: string): string {
  const glob = pattern.replace(/^(?:\.(?:\/+|$)|\/\/+)/, '').replaceAll(/\/{2,}/g, '/');
  return glob === '' || glob.endsWith('/') ? `${glob}**` : glob;
}

/** Relative, '' for the folder itself; null when it is not in it, which the confinement answers. */
function nameIn(folder: string, path: string | null): string | null {
  return path !== null && isInside(folder, path) ? relative(folder, path).replaceAll(sep, '/') : null;
}

/** Where a path leads, as far as it exists; null when that cannot be known. */
function realOf(path: string): string | null {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(realpathSync.native(at), ...missing);
    } catch (error) {
      if (!isAbsent(error) || isLink(at) || dirname(at) === at) return null;
      missing.unshift(basename(at));
    }
  }
}

/** A link to nothing: what is written through it would land wherever it points. */
function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
