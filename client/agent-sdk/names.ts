// Built-in tools under the names, and with the field names, that programs for in-process agents
// know: `Read` with `file_path` is our `read` with `path`. The model is offered them so, too;
// callbacks, messages and hooks speak them. The session keeps ours.
import { inwardFields, outwardFields, ownName } from '../../store/transcript/tool-names.ts';
import { WEB_SEARCH } from '../../store/transcript/server-tools.ts';
import type { ToolNames } from '../../store/configuration.ts';

const todos = {
  name: 'todos',
  fields: {
    text: 'content',
    state: { name: 'status', values: { open: 'pending', doing: 'in_progress', done: 'completed' } },
  },
  ignored: ['activeForm'],
} as const;

const BUILTIN: ToolNames = {
  bash: { name: 'Bash', fields: { background: 'run_in_background' } },
  bash_output: { name: 'BashOutput', fields: { id: 'bash_id' } },
  bash_stop: { name: 'KillShell', also: ['KillBash', 'TaskStop'], fields: { id: 'shell_id' } },
  read: { name: 'Read', fields: { path: 'file_path' } },
  write: { name: 'Write', fields: { path: 'file_path' } },
  edit: { name: 'Edit', fields: { path: 'file_path' } },
  glob: { name: 'Glob' },
  grep: { name: 'Grep', fields: { ignore_case: '-i', context: '-C', limit: 'head_limit' } },
  agent: { name: 'Agent', also: ['Task'], fields: { type: 'subagent_type', background: 'run_in_background' } },
  web_fetch: { name: 'WebFetch', fields: { question: 'prompt' } },
  [WEB_SEARCH]: { name: 'WebSearch' },
  todo: { name: 'TodoWrite', fields: { tasks: todos } },
  ask_user: { name: 'AskUserQuestion' },
  skill: { name: 'Skill', fields: { name: 'skill' } },
};

/** Those of the built-in tools that go by such names. */
export const BUILTIN_TOOL_NAMES: readonly string[] = Object.values(BUILTIN).map(({ name }) => name);

/** Older names, and those that stand for them. */
export const LEGACY_TOOL_NAME_ALIASES: Readonly<Record<string, string>> = { Task: 'Agent', KillBash: 'KillShell' };

const { [WEB_SEARCH]: _search, ...sent } = BUILTIN;

/** For the model: the API has its own name for its own search. */
export const MODEL_TOOL_NAMES: ToolNames = sent;

/** Ours without a counterpart, which the model is offered under our names. */
const OURS = ['wait', 'agent_output', 'agent_send', 'agent_stop'];

/** Our names of the tools that each session has, in the order in which a program is told them. */
export const SESSION_TOOLS: readonly string[] = [
  ...Object.keys(BUILTIN).filter((name) => name !== 'skill' && name !== WEB_SEARCH),
  ...OURS,
];

export function outwardName(tool: string): string {
  return BUILTIN[tool]?.name ?? tool;
}

/** All names that a program may know the tool by. */
export function outwardNames(tool: string): readonly string[] {
  return [outwardName(tool), ...(BUILTIN[tool]?.also ?? [])];
}

export function inwardName(tool: string): string {
  return ownName(BUILTIN, tool);
}

type Input = Record<string, unknown>;

export function outwardInput(tool: string, input: unknown): Input {
  const given = (input ?? {}) as Input;
  if (tool === 'ask_user') return { ...given, questions: [questionOf(given)] };
  const shown = outwardFields(given, BUILTIN[tool]?.fields ?? {}) as Input;
  return tool === 'todo' ? withActiveForms(shown) : shown;
}

/** Shown in the place of a task that is under way. */
function withActiveForms({ todos: given, ...shown }: Input): Input {
  if (!Array.isArray(given)) return { ...shown, ...(given !== undefined && { todos: given }) };
  const tasks = (given as readonly (Input | null)[]).map((task) => ({ ...task, activeForm: task?.['content'] }));
  return { ...shown, todos: tasks };
}

/** As such programs ask it: one of several questions, whose options are described. */
export function questionOf({ question, options }: Readonly<Record<string, unknown>>) {
  const labels = Array.isArray(options) ? options.map((label) => ({ label: String(label), description: '' })) : [];
  return { question: typeof question === 'string' ? question : '', header: '', options: labels, multiSelect: false };
}

/** Reverses `outwardInput`. */
export function inwardInput(tool: string, input: unknown): Input {
  const given = (input ?? {}) as Input;
  if (tool === 'ask_user') {
    const { questions: _, ...own } = given;
    return own;
  }
  return inwardFields(given, BUILTIN[tool]?.fields ?? {}) as Input;
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

/** Searches cost money: they are offered where a program names the tool, and does not deny it. */
export function asksForSearch({
  tools,
  allowedTools = [],
  disallowedTools = [],
  agents = {},
}: {
  readonly tools?: unknown;
  readonly allowedTools?: readonly string[];
  readonly disallowedTools?: readonly string[];
  readonly agents?: Readonly<Record<string, { readonly tools?: readonly string[] }>>;
}): boolean {
  const isSearch = (rule: unknown): boolean => inwardName(String(rule).replace(/\(.*$/s, '').trim()) === WEB_SEARCH;
  const listed = Array.isArray(tools) ? (tools as readonly unknown[]) : [];
  const named = [...listed, ...allowedTools, ...Object.values(agents).flatMap((agent) => agent.tools ?? [])];
  return named.some(isSearch) && !disallowedTools.some(isSearch);
}
