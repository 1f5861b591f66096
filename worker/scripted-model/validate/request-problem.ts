// What the API refuses of a request's top level. The messages, tools and breakpoints have checks of their own.
import { breakpointsProblem } from './breakpoints-problem.ts';
import { messagesProblem } from './messages-problem.ts';
import { outputConfigProblem } from './output-config-problem.ts';
import { extraKey, firstProblem, isObject, stringProblem } from './shape.ts';
import type { Json } from './shape.ts';
import { textProblem } from './text-problem.ts';
import { thinkingProblem } from './thinking-problem.ts';
import { toolsProblem } from './tools-problem.ts';

const KEYS =
  'max_tokens messages model cache_control container diagnostics inference_geo metadata output_config service_tier speed ' +
  'stop_sequences stream system thinking tool_choice tools user_profile_id workspace_id';
const SAMPLING_KEYS = 'temperature top_p top_k';
/** Only with an anthropic-beta header. */
const BETA_KEYS =
  'billing_policy compaction context_management fallback_credit_token fallbacks mcp_servers output_format thread';

export type RequestRules = {
  /** Of the anthropic-beta header. */
  readonly betas: readonly string[];
  /** The API version still takes temperature, top_p and top_k. */
  readonly sampling: boolean;
  /** count_tokens takes no max_tokens and streams nothing. */
  readonly counting: boolean;
  readonly maxOutputTokens: number | undefined;
  readonly prefill: boolean;
  readonly verifySignature: (model: string, thinking: string, signature: string) => boolean;
};

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
  return thinkingProblem(request) ?? firstProblem((stops as unknown[] | undefined) ?? [], stopProblem);
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
