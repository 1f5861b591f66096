// The API's refusals of tools and tool_choice.
// The API's refusals of output_config: effort, a format, and with its beta a task budget.
import { BETAS } from './betas.ts';
import { extraKeyProblem, firstProblem, isObject, type Json } from './shape.ts';

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

export function toolsProblem(request: Json): string | undefined {
  const { tools } = request;
  if (tools !== undefined && !Array.isArray(tools)) return 'tools: Input should be a valid list';
  const list = (tools as unknown[] | undefined) ?? [];
  return (
    firstProblem(list, (tool, index) => toolProblem(tool, `tools.${index}`)) ??
    deferralProblem(list) ??
    uniqueProblem(list) ??
    choiceProblem(request, list)
  );
}

/** Checks one tool. `path` is where it stands, also in a message. */
export function toolProblem(tool: unknown, path: string): string | undefined {
  if (!isObject(tool)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
  const { type, name, input_schema: schema, description } = tool;
  // The API's own tools have their own shapes.
  if (type === 'web_search_20250305') return webSearchProblem(tool, `${path}.${type}`);
  if (type !== undefined && type !== null && type !== 'custom') return undefined;
  if (name === undefined) return `${path}.custom.name: Field required`;
  if (typeof name !== 'string' || !NAME.test(name)) {
    return `${path}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
  }
  if (description !== undefined && typeof description !== 'string') {
    return `${path}.custom.description: Input should be a valid string`;
  }
  if (schema === undefined) return `${path}.custom.input_schema: Field required`;
  if (!isObject(schema)) return `${path}.custom.input_schema: Input should be a valid dictionary`;
  if (schema['type'] === undefined) return `${path}.custom.input_schema.type: Field required`;
  if (schema['type'] !== 'object') return `${path}.custom.input_schema.type: Input should be 'object'`;
  const combined = ['oneOf', 'allOf', 'anyOf'].some((key) => key in schema);
  if (!combined) return undefined;
  return `${path}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
}

const SEARCH_KEYS = new Set([
  'type',
  'name',
  'allowed_callers',
  'allowed_domains',
  'blocked_domains',
  'cache_control',
  'defer_loading',
  'max_uses',
  'strict',
  'user_location',
]);

function webSearchProblem(tool: Json, path: string): string | undefined {
  const extra = extraKeyProblem(tool, SEARCH_KEYS, path);
  if (extra !== undefined) return extra;
  if (tool['name'] !== 'web_search') return `${path}.name: Input should be 'web_search'`;
  const most = tool['max_uses'] ?? 1;
  if (!Number.isInteger(most)) return `${path}.max_uses: Input should be a valid integer`;
  if (Number(most) < 1) return `${path}.max_uses: Input should be greater than 0`;
  const lists = ['allowed_domains', 'blocked_domains'].filter((key) => (tool[key] ?? null) !== null);
  if (lists.length > 1) return `${path}: Only one of allowed_domains and blocked_domains may be given`;
  return firstProblem(lists, (key) => domainsProblem(tool[key], `${path}.${key}`));
}

function domainsProblem(domains: unknown, path: string): string | undefined {
  if (!Array.isArray(domains)) return `${path}: Input should be a valid list`;
  return firstProblem(domains as unknown[], (domain, index) => {
    if (typeof domain !== 'string') return `${path}.${index}: Input should be a valid string`;
    return /^https?:|\s/.test(domain) ? `${path}.${index}: domains are given without a scheme` : undefined;
  });
}

function deferralProblem(tools: readonly unknown[]): string | undefined {
  if (tools.length === 0 || tools.some((tool) => (tool as Json)['defer_loading'] !== true)) return undefined;
  return 'At least one tool must have defer_loading=false. All tools cannot be deferred.';
}

function uniqueProblem(tools: readonly unknown[]): string | undefined {
  const names = tools.map((tool) => (tool as Json)['name']).filter((name) => name !== undefined);
  return new Set(names).size === names.length ? undefined : 'tools: Tool names must be unique.';
}

function choiceProblem(request: Json, tools: readonly unknown[]): string | undefined {
  const { tool_choice: choice, thinking } = request;
  if (choice === undefined) return undefined;
  if (!isObject(choice)) return 'tool_choice: Input should be a valid dictionary';
  const type = String(choice['type']);
  if (!['auto', 'any', 'tool', 'none'].includes(type)) {
    return `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'`;
  }
  if (tools.length === 0) return 'tool_choice may only be specified while providing tools.';
  const forces = type === 'any' || type === 'tool';
  const thinks = isObject(thinking) && ['enabled', 'adaptive'].includes(String(thinking['type']));
  if (forces && thinks) return 'Thinking may not be enabled when tool_choice forces tool use.';
  if (type !== 'tool' || tools.some((tool) => (tool as Json)['name'] === choice['name'])) return undefined;
  return `tool_choice: Tool '${String(choice['name'])}' not found in provided tools`;
}

const OUTPUT_KEYS = ['effort', 'format'];
const EFFORTS: readonly unknown[] = [undefined, null, 'low', 'medium', 'high', 'xhigh', 'max'];
const LEAST_BUDGET = 20_000;
const budgetKeys = new Set(['type', 'total', 'remaining']);

export function outputConfigProblem(config: unknown, betas: readonly string[]): string | undefined {
  if (config === undefined || config === null) return undefined;
  if (!isObject(config)) return 'output_config: Input should be a valid dictionary';
  const keys = new Set([...OUTPUT_KEYS, ...(betas.includes(BETAS.taskBudgets) ? ['task_budget'] : [])]);
  const extra = extraKeyProblem(config, keys, 'output_config');
  if (extra !== undefined) return extra;
  if (!isEffort(config['effort'])) return EFFORT_PROBLEM;
  return taskBudgetProblem(config['task_budget'], 'output_config.task_budget');
}

export const EFFORT_PROBLEM = "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'";

/** Tells whether a value is an effort; an absent one counts. */
export function isEffort(value: unknown): boolean {
  return EFFORTS.includes(value);
}

function taskBudgetProblem(budget: unknown, path: string): string | undefined {
  if (budget === undefined || budget === null) return undefined;
  if (!isObject(budget)) return `${path}: Input should be a valid dictionary`;
  const { type, total, remaining } = budget;
  const extra = extraKeyProblem(budget, budgetKeys, path);
  if (extra !== undefined) return extra;
  if (type !== 'tokens') return `${path}.type: Input should be 'tokens'`;
  if (total === undefined) return `${path}.total: Field required`;
  if (!Number.isInteger(total)) return `${path}.total: Input should be a valid integer`;
  if (Number(total) < LEAST_BUDGET) return `${path}.total: Input should be greater than or equal to ${LEAST_BUDGET}`;
  if (remaining === undefined || remaining === null) return undefined;
  if (!Number.isInteger(remaining)) return `${path}.remaining: Input should be a valid integer`;
  return Number(remaining) < 0 ? `${path}.remaining: Input should be greater than or equal to 0` : undefined;
}
