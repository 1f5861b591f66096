// Checks a request's top level as the API does. The messages, tools and breakpoints have checks of their own.
import { breakpointsProblem } from './breakpoints.ts';
import { messagesProblem } from './messages.ts';
import { thinkingProblem } from './thinking.ts';
import { extraKey, firstProblem, isObject, stringProblem, type Json, textProblem, type RequestRules } from './shape.ts';

const KEYS =
  'max_tokens messages model cache_control container diagnostics inference_geo metadata output_config service_tier speed ' +
  'stop_sequences stream system thinking tool_choice tools user_profile_id workspace_id';
const SAMPLING_KEYS = 'temperature top_p top_k';
/** Only with an anthropic-beta header. */
const BETA_KEYS =
  'billing_policy compaction context_management fallback_credit_token fallbacks mcp_servers output_format thread';

/** The sentence the API would refuse this request with, or undefined. */
export function requestProblem(value: unknown, rules: RequestRules): string | undefined {
  if (!isObject(value)) return 'Input should be a valid dictionary or object to extract fields from';
  const model = value['model'];
  return (
    extraKey(value, allowedKeys(rules), '') ??
    stringProblem(model, 'model') ??
    (model === '' ? 'model: String should have at least 1 character' : undefined) ??
    (rules.counting ? undefined : maxTokensProblem(value, rules.maxOutputTokens)) ??
    settingsProblem(value) ??
    thinkingProblem(value, rules.betas) ??
    outputConfigProblem(value['output_config'], rules.betas) ??
    systemProblem(value['system']) ??
    toolsProblem(value) ??
    breakpointsProblem(value) ??
    messagesProblem(value, rules)
  );
}

function allowedKeys(rules: RequestRules): ReadonlySet<string> {
  const more = [rules.sampling ? SAMPLING_KEYS : '', rules.betas.length > 0 ? BETA_KEYS : ''];
  return new Set([KEYS, ...more].join(' ').split(' '));
}

function maxTokensProblem(request: Json, most: number | undefined): string | undefined {
  const value = request['max_tokens'];
  if (value === undefined) return 'max_tokens: Field required';
  if (typeof value !== 'number' || !Number.isInteger(value)) return 'max_tokens: Input should be a valid integer';
  if (value < 1) return 'max_tokens: must be greater than or equal to 1';
  if (most === undefined || value <= most) return undefined;
  const model = String(request['model']);
  return `max_tokens: ${value} > ${most}, which is the maximum allowed number of output tokens for ${model}`;
}

function settingsProblem(request: Json): string | undefined {
  const { stream, stop_sequences: stops, metadata } = request;
  if (stream !== undefined && typeof stream !== 'boolean') return 'stream: Input should be a valid boolean';
  if (metadata !== undefined && !isObject(metadata)) return 'metadata: Input should be a valid dictionary';
  if (stops !== undefined && !Array.isArray(stops)) return 'stop_sequences: Input should be a valid list';
  return firstProblem((stops as unknown[] | undefined) ?? [], stopProblem);
}

function stopProblem(stop: unknown, index: number): string | undefined {
  if (typeof stop !== 'string') return `stop_sequences.${index}: Input should be a valid string`;
  return stop.trim() === '' ? 'stop_sequences: each stop sequence must contain non-whitespace' : undefined;
}

function systemProblem(system: unknown): string | undefined {
  if (system === undefined || typeof system === 'string') return undefined;
  if (!Array.isArray(system)) return 'system: Input should be a valid list';
  return firstProblem(system as unknown[], (block, index) => {
    const path = `system.${index}`;
    if (!isObject(block)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
    if (block['type'] !== 'text') return `${path}.type: Input should be 'text'`;
    return textProblem(block, path);
  });
}

// The API's refusals of output_config: effort, a format, and with its beta a task budget.

const OUTPUT_KEYS = ['effort', 'format'];
const TASK_BUDGETS = 'task-budgets-2026-03-13';
const EFFORTS: readonly unknown[] = [undefined, null, 'low', 'medium', 'high', 'xhigh', 'max'];
const LEAST_BUDGET = 20_000;
const budgetKeys = new Set(['type', 'total', 'remaining']);

function outputConfigProblem(config: unknown, betas: readonly string[]): string | undefined {
  if (config === undefined || config === null) return undefined;
  if (!isObject(config)) return 'output_config: Input should be a valid dictionary';
  const keys = new Set([...OUTPUT_KEYS, ...(betas.includes(TASK_BUDGETS) ? ['task_budget'] : [])]);
  const extra = extraKey(config, keys, 'output_config');
  if (extra !== undefined) return extra;
  if (!EFFORTS.includes(config['effort'])) {
    return "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'";
  }
  return taskBudgetProblem(config['task_budget'], 'output_config.task_budget');
}

function taskBudgetProblem(budget: unknown, path: string): string | undefined {
  if (budget === undefined || budget === null) return undefined;
  if (!isObject(budget)) return `${path}: Input should be a valid dictionary`;
  const { type, total, remaining } = budget;
  const extra = extraKey(budget, budgetKeys, path);
  if (extra !== undefined) return extra;
  if (type !== 'tokens') return `${path}.type: Input should be 'tokens'`;
  if (total === undefined) return `${path}.total: Field required`;
  if (!Number.isInteger(total)) return `${path}.total: Input should be a valid integer`;
  if (Number(total) < LEAST_BUDGET) return `${path}.total: Input should be greater than or equal to ${LEAST_BUDGET}`;
  if (remaining === undefined || remaining === null) return undefined;
  if (!Number.isInteger(remaining)) return `${path}.remaining: Input should be a valid integer`;
  return Number(remaining) < 0 ? `${path}.remaining: Input should be greater than or equal to 0` : undefined;
}

// The API's refusals of tools and tool_choice.

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

function toolsProblem(request: Json): string | undefined {
  const { tools } = request;
  if (tools !== undefined && !Array.isArray(tools)) return 'tools: Input should be a valid list';
  const list = (tools as unknown[] | undefined) ?? [];
  return firstProblem(list, toolProblem) ?? uniqueProblem(list) ?? choiceProblem(request, list);
}

function toolProblem(tool: unknown, index: number): string | undefined {
  const path = `tools.${index}`;
  if (!isObject(tool)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
  const { type, name, input_schema: schema, description } = tool;
  if (type !== undefined && type !== null && type !== 'custom') return undefined; // The API's own tools have their own shapes.
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
