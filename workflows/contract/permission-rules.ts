// The grammar of permission rules (L55): `tool`, `tool(pattern)`, and names with `*`. The client,
// which refuses a bad rule before anything starts, and the activity that opens a run share it. A
// rule that could never match is refused: it would guard nothing.

export const permissionModes = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypass'] as const;
export type PermissionMode = (typeof permissionModes)[number];

/**
 * Rules such as `bash(git status:*)`, `write(src/**)`, `mcp__*`: deny > ask > allow > mode (L55).
 * At most 1,000 in all. Mode `bypass` never asks: only the rules that deny hold in it. A rule that
 * denies and ends with `!`, such as `bash(git push:*)!`, also ends the run (L34).
 */
export type PermissionRules = {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly ask?: readonly string[];
};

export type Rule = {
  /** A tool's name; `*` stands for any characters. */
  readonly tool: string;
  readonly pattern: string | null;
  /** A call that the rule denies ends the run (L34). */
  readonly fatal?: true;
};

const LISTS: readonly string[] = ['allow', 'deny', 'ask'] satisfies (keyof PermissionRules)[];
/** The most rules in all lists together, and the most characters of a rule. */
const MOST_RULES = 1_000;
const MOST_CHARACTERS = 500;
/** The most globs that a rule may stand for, once its braces are expanded. */
const MOST_ALTERNATIVES = 256;
const WEB = 'web_fetch';
/** A host, or an address, where `*` stands for any characters. */
export const HOST_PATTERN = /^[A-Za-z0-9*:][A-Za-z0-9*:._-]*$/;
const PATH_TOOLS: readonly string[] = ['read', 'write', 'edit', 'glob', 'grep'];

/**
 * Returns null for a text that has not the form of a rule. Rules written for other agents keep
 * their meaning: `Bash` is bash, `bash(*)` is every command, a trailing ` *` is `:*`, and
 * `WebFetch(domain:example.org)` is `web_fetch(example.org)`.
 */
export function parseRule(rule: string): Rule | null {
  const [, name, pattern = null, mark] = /^([A-Za-z0-9_*-]{1,64})(?:\((.+)\))?(!)?$/s.exec(rule) ?? [];
  if (name === undefined) return null;
  return { ...translateRule(name, pattern), ...(mark && { fatal: true as const }) };
}

/** Whether a rule ends the run. Call it with rules that can be read. */
export const isFatalRule = (rule: string): boolean => rule.endsWith('!');

function translateRule(name: string, pattern: string | null): Rule {
  const tool = canonicalTool(name);
  if (tool === WEB && pattern !== null) {
    const host = pattern.replace(/^domain:/, '').toLowerCase();
    return { tool, pattern: host === '*' ? null : host };
  }
  if (tool !== 'bash' || pattern === null) return { tool, pattern };
  return { tool, pattern: pattern === '*' ? null : pattern.replace(/ \*$/, ':*') };
}

/**
 * Returns the built-in tool that a name means in any case of letters: the configuration admits no
 * other tool of that spelling.
 */
function canonicalTool(name: string): string {
  const small = name.toLowerCase();
  if (small === 'webfetch' || small === WEB) return WEB;
  return small === 'bash' || PATH_TOOLS.includes(small) ? small : name;
}

/**
 * Returns a sentence that names the bad rule and says what would be right, or undefined. Rules may
 * come from any Temporal client, so that even their types are uncertain.
 */
export function permissionsProblem(permissions: unknown): string | undefined {
  if (permissions === undefined) return undefined;
  if (typeof permissions !== 'object' || permissions === null || Array.isArray(permissions)) {
    return 'the permissions are not an object: give lists of rules as allow, deny and ask';
  }
  let rules = 0;
  for (const [list, listed] of Object.entries(permissions)) {
    if (!LISTS.includes(list)) return `the permissions have no list "${list.slice(0, 40)}": it is allow, deny or ask`;
    if (listed === undefined) continue;
    if (!Array.isArray(listed))
      return `the permissions' "${list}" is not a list: give rules such as ["bash(git status:*)"]`;
    rules += listed.length;
    if (rules > MOST_RULES)
      return `there are more than ${MOST_RULES} permission rules: give fewer, with wider patterns`;
    const problem = listed.map((rule) => ruleProblem(rule, list)).find((found) => found !== undefined);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function ruleProblem(rule: unknown, list: string): string | undefined {
  if (typeof rule !== 'string') return 'a permission rule is not a text: write it as tool or tool(pattern)';
  const quoted = `permission rule ${JSON.stringify(rule.slice(0, 80))}`;
  if (rule.length > MOST_CHARACTERS) {
    return `${quoted}… has ${rule.length} characters: give at most ${MOST_CHARACTERS}`;
  }
  const parsed = parseRule(rule);
  if (parsed === null) {
    return `${quoted} cannot be read: write tool or tool(pattern), such as bash(git status:*), write(src/**) or mcp__*`;
  }
  const { tool, pattern, fatal } = parsed;
  if (fatal && list !== 'deny') return `${quoted} ends with "!", which ends the run, and does not deny: leave it out`;
  if (pattern === null) return undefined;
  if (tool.includes('*')) return `${quoted} has a pattern for several tools: write a rule for each`;
  const wrong = patternProblem(tool, pattern);
  return wrong === undefined ? undefined : `${quoted} ${wrong}`;
}

function patternProblem(tool: string, pattern: string): string | undefined {
  if (/\p{Cc}/u.test(pattern)) return 'holds a control character: leave it out';
  if (tool === 'bash') return commandProblem(pattern);
  if (tool === WEB && !HOST_PATTERN.test(pattern))
    return 'names no host: write one without scheme, port and path, such as docs.example.org or *.example.org';
  return PATH_TOOLS.includes(tool) ? pathProblem(pattern) : undefined;
}

function commandProblem(pattern: string): string | undefined {
  const command = pattern.replace(/:\*$/, '');
  if (command.trim() === '') return 'names no command: write bash for every command';
  if (command.includes('*')) return 'has a * that is not at its end: end it with :* for whatever begins so';
  if (/[&|;<>()$`"'\\{}]/.test(command)) {
    return 'is not one simple command: write its words, without quotes, variables, redirections and operators';
  }
  return undefined;
}

function pathProblem(pattern: string): string | undefined {
  // To other agents a rule with one slash is relative, so it might guard nothing here.
  if (/^\/(?!\/)|^[A-Za-z]:/.test(pattern))
    return 'is absolute: write it relative to the workspace, or an absolute path with two slashes, such as //data/shared/**';
  if (/^\/{3}|^\/\/$/.test(pattern)) return 'names no path after its two slashes: write one such as //data/shared/**';
  if (pattern.startsWith('~')) return 'begins with ~: write it relative to the workspace';
  if (pattern.trim() !== pattern) return 'begins or ends with a blank: leave it out';
  const segments = pattern.replace(/^(?:\.(?:\/|$)|\/\/)/, '').split(/[/{,}]/);
  if (segments.includes('..')) return 'holds "..": only paths in the workspace can be matched';
  if (segments.includes('.')) return 'holds a "." between slashes: leave it out';
  if (pattern.includes('\\')) return 'holds a backslash: separate folders with /';
  const groups = pattern.match(/\{[^{}]*\}/g) ?? [];
  if (/[{}]/.test(pattern.replaceAll(/\{[^{}]*\}/g, ''))) return 'has braces within braces, or one alone: write {a,b}';
  const alternatives = groups.reduce((product, group) => product * group.split(',').length, 1);
  return alternatives > MOST_ALTERNATIVES ? `stands for more than ${MOST_ALTERNATIVES} globs: split it` : undefined;
}
