// Built-in tools under the names, and with the field names, that programs for in-process agents
// know: `Read` with `file_path` is our `read` with `path`. Callbacks, messages and hooks speak
// those; the session keeps ours.
type Fields = Readonly<Record<string, string>>;

/** By our name; the fields that differ, ours first. */
const BUILTIN: Readonly<Record<string, { readonly name: string; readonly fields: Fields }>> = {
  bash: { name: 'Bash', fields: { background: 'run_in_background' } },
  bash_output: { name: 'BashOutput', fields: { id: 'bash_id' } },
  bash_stop: { name: 'KillShell', fields: { id: 'shell_id' } },
  read: { name: 'Read', fields: { path: 'file_path' } },
  write: { name: 'Write', fields: { path: 'file_path' } },
  edit: { name: 'Edit', fields: { path: 'file_path' } },
  glob: { name: 'Glob', fields: {} },
  grep: { name: 'Grep', fields: { ignore_case: '-i', context: '-C', limit: 'head_limit' } },
  agent: { name: 'Agent', fields: { type: 'subagent_type', background: 'run_in_background' } },
  web_fetch: { name: 'WebFetch', fields: { question: 'prompt' } },
};

/** Those of the built-in tools that go by such names. */
export const BUILTIN_TOOL_NAMES: readonly string[] = Object.values(BUILTIN).map(({ name }) => name);

/** Older names, and those that stand for them. */
export const LEGACY_TOOL_NAME_ALIASES: Readonly<Record<string, string>> = { Task: 'Agent' };

export function outwardName(tool: string): string {
  return BUILTIN[tool]?.name ?? tool;
}

export function inwardName(tool: string): string {
  const now = LEGACY_TOOL_NAME_ALIASES[tool] ?? tool;
  return Object.keys(BUILTIN).find((name) => BUILTIN[name]?.name === now) ?? tool;
}

export function outwardInput(tool: string, input: unknown): Record<string, unknown> {
  return renamed(input, BUILTIN[tool]?.fields ?? {});
}

/** Reverses `outwardInput`. */
export function inwardInput(tool: string, input: unknown): Record<string, unknown> {
  const fields = BUILTIN[tool]?.fields ?? {};
  return renamed(input, Object.fromEntries(Object.entries(fields).map(([ours, theirs]) => [theirs, ours])));
}

function renamed(input: unknown, fields: Fields): Record<string, unknown> {
  const entries = Object.entries((input ?? {}) as Readonly<Record<string, unknown>>);
  return Object.fromEntries(entries.map(([key, value]) => [fields[key] ?? key, value]));
}

/** There, a rule for files that names the one is about every tool that edits, or reads. */
const ABOUT: Readonly<Record<string, readonly string[]>> = {
  edit: ['edit', 'write'],
  read: ['read', 'grep', 'glob'],
};

/**
 * The rules that mean what one such as `Bash(npm test:*)`, `Edit(src/**)` or `mcp__shop__order`
 * does.
 */
export function inwardRules(rule: string): readonly string[] {
  const at = rule.indexOf('(');
  if (at < 1) return [inwardName(rule.trim())];
  const name = inwardName(rule.slice(0, at).trim());
  return (ABOUT[name] ?? [name]).map((each) => `${each}${rule.slice(at)}`);
}
