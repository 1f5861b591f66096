// Maps our built-in tools to the tool and field names of the SDK: `Read` with `file_path` is our
// `read` with `path`. The model, callbacks, messages and hooks use the SDK's names; the session
// keeps ours.
// Translates the permission modes of the SDK.
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import { inwardInput as inwardByNames, outwardFields, ownName } from '../faces/tools.ts';
import type { PermissionMode as OurMode, ToolNames } from '../faces/types.ts';
import { splitQuestions, WEB_SEARCH } from '../faces/words.ts';
import type { Options } from './shapes/options.ts';
import type { PermissionMode } from './shapes/facts.ts';

const todos = {
  name: 'todos',
  fields: {
    text: 'content',
    state: { name: 'status', values: { open: 'pending', doing: 'in_progress', done: 'completed' } },
  },
  ignored: ['activeForm'],
} as const;

const BUILTIN: ToolNames = {
  bash: {
    name: 'Bash',
    fields: { background: 'run_in_background' },
    // Commands are held by a sandbox of our own, whatever the model asks for.
    ignored: ['dangerouslyDisableSandbox'],
  },
  bash_output: {
    name: 'BashOutput',
    also: ['TaskOutput'],
    fields: { id: { name: 'bash_id', also: ['task_id'] } },
    ignored: ['block', 'timeout'],
  },
  bash_stop: {
    name: 'KillShell',
    also: ['KillBash', 'TaskStop'],
    fields: { id: { name: 'shell_id', also: ['task_id'] } },
  },
  read: { name: 'Read', fields: { path: 'file_path' }, ignored: ['allow_large'] },
  write: { name: 'Write', fields: { path: 'file_path' } },
  edit: { name: 'Edit', fields: { path: 'file_path' } },
  glob: { name: 'Glob' },
  grep: {
    name: 'Grep',
    fields: {
      ignore_case: '-i',
      context: { name: '-C', also: ['-A', '-B'] },
      limit: 'head_limit',
      output_mode: { name: 'output_mode', values: { files: 'files_with_matches' } },
    },
    ignored: ['-n'],
  },
  agent: {
    name: 'Agent',
    also: ['Task'],
    fields: { type: 'subagent_type', background: 'run_in_background' },
    ignored: ['model', 'effort', 'name', 'team_name'],
  },
  web_fetch: { name: 'WebFetch', fields: { question: 'prompt' } },
  [WEB_SEARCH]: { name: 'WebSearch' },
  todo: { name: 'TodoWrite', fields: { tasks: todos } },
  ask_user: { name: 'AskUserQuestion', questions: 'questions', ignored: ['answers', 'annotations', 'metadata'] },
  skill: { name: 'Skill', fields: { name: 'skill' }, ignored: ['args'] },
};

/** The names of the built-in tools that have a counterpart here. */
export const BUILTIN_TOOL_NAMES: readonly string[] = Object.values(BUILTIN).map(({ name }) => name);

/** Maps older names of tools to the current ones. */
export const LEGACY_TOOL_NAME_ALIASES: Readonly<Record<string, string>> = { Task: 'Agent', KillBash: 'KillShell' };

const { [WEB_SEARCH]: _search, ...sent } = BUILTIN;

/** The names for the model, without web search, which the API names itself. */
export const MODEL_TOOL_NAMES: ToolNames = sent;

/** Tools without a counterpart, which the model is offered under our names. */
const UNRENAMED = ['wait', 'agent_output', 'agent_send', 'agent_stop'];

/** Our names of the tools that each session has, in the order of the `init` message. */
export const SESSION_TOOLS: readonly string[] = [
  ...Object.keys(BUILTIN).filter((name) => name !== 'skill' && name !== WEB_SEARCH),
  ...UNRENAMED,
];

export function outwardName(tool: string): string {
  return BUILTIN[tool]?.name ?? tool;
}

/** Returns all names that a program may know the tool by. */
export function outwardNames(tool: string): readonly string[] {
  return [outwardName(tool), ...(BUILTIN[tool]?.also ?? [])];
}

export function inwardName(tool: string): string {
  return ownName(BUILTIN, tool);
}

type Input = Record<string, unknown>;

export function outwardInput(tool: string, input: unknown): Input {
  const fields = (input ?? {}) as Input;
  if (tool === 'ask_user') return { ...fields, questions: splitQuestions(fields) };
  const outward = outwardFields(fields, BUILTIN[tool]?.fields ?? {}) as Input;
  return tool === 'todo' ? withActiveForms(outward) : outward;
}

/** Adds `activeForm`, which programs show for a task that is in progress. */
function withActiveForms({ todos: list, ...others }: Input): Input {
  if (!Array.isArray(list)) return { ...others, ...present({ todos: list }) };
  const tasks = (list as readonly (Input | null)[]).map((task) => ({ ...task, activeForm: task?.['content'] }));
  return { ...others, todos: tasks };
}

/** Reverses `outwardInput`. */
export function toInwardInput(tool: string, input: unknown): Input {
  return inwardByNames(BUILTIN, tool, input ?? {}) as Input;
}

/** A file rule of the SDK for one of these tools covers all tools that edit, or read. */
const FILE_RULES: Readonly<Record<string, readonly string[]>> = {
  edit: ['edit', 'write'],
  read: ['read', 'grep', 'glob'],
};

/**
 * Returns our rules for an SDK rule such as `Bash(npm test:*)`, `Edit(src/**)` or
 * `mcp__shop__order`.
 */
export function inwardRules(rule: string): readonly string[] {
  const at = rule.indexOf('(');
  if (at < 1) return [inwardName(rule.trim())];
  const name = inwardName(rule.slice(0, at).trim());
  return (FILE_RULES[name] ?? [name]).map((each) => `${each}${rule.slice(at)}`);
}

/**
 * Tells whether the program names the web search and does not deny it. Searches cost money, so they
 * are offered only then.
 */
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
  const isSearch = (rule: unknown): boolean => inwardName(String(rule).split('(', 1).join('').trim()) === WEB_SEARCH;
  const listed = Array.isArray(tools) ? (tools as readonly unknown[]) : [];
  const named = [...listed, ...allowedTools, ...Object.values(agents).flatMap((agent) => agent.tools ?? [])];
  return named.some(isSearch) && !disallowedTools.some(isSearch);
}

/** Tells whether the program can decide, by `canUseTool` or by hooks. */
export function asksSomebody({ canUseTool, hooks }: Pick<Options, 'canUseTool' | 'hooks'>): boolean {
  return canUseTool !== undefined || (hooks?.PermissionRequest ?? []).length > 0;
}

export const AUTO_IS_DEFAULT =
  'permission mode "auto", which is "default" here: calls are asked about, and judged by nothing else';

/** Returns `default` for `auto`: no model judges calls here, so they ask. */
export function modeInEffect(mode: PermissionMode): PermissionMode {
  return mode === 'auto' ? 'default' : mode;
}

/** Replaces the mode by the one in effect, and tells `say` when they differ. */
export function withModeInEffect<Given extends Pick<Options, 'permissionMode'>>(
  options: Given,
  say: (line: string) => void,
): Given {
  if (options.permissionMode !== 'auto') return options;
  say(`query() has ${AUTO_IS_DEFAULT}`);
  return { ...options, permissionMode: modeInEffect('auto') };
}

/**
 * Returns our mode for the one in effect. `default` becomes `dontAsk` for a program that cannot
 * decide. Throws ClientProblem `refused` for a mode that does not exist here.
 */
export function inwardMode(mode: PermissionMode = 'default', asks: boolean): OurMode {
  const modes: Readonly<Partial<Record<PermissionMode, OurMode>>> = {
    default: asks ? 'default' : 'dontAsk',
    acceptEdits: 'acceptEdits',
    bypassPermissions: 'bypass',
    plan: 'plan',
    dontAsk: 'dontAsk',
  };
  const effective = modeInEffect(mode);
  const ownMode = Object.hasOwn(modes, effective) ? modes[effective] : undefined;
  if (ownMode !== undefined) return ownMode;
  const known = Object.keys(modes).join(', ');
  throw new ClientProblem('refused', `permission mode ${JSON.stringify(mode)} is none of ${known}`);
}
