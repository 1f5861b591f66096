// Checks a request's top level as the API does. The messages, tools and breakpoints have checks of
// their own.
import { listBetaFields } from './betas.ts';
import { contextManagementProblem } from './context-management.ts';
import { breakpointsProblem } from './breakpoints.ts';
import { compactionBlockProblem, compactionRequestProblem } from './compaction.ts';
import { findProfile } from '../models/profiles.ts';
import { sizesProblem } from './images.ts';
import { messagesProblem } from './messages.ts';
import { modelRuleProblem } from './model-rules.ts';
import { fallbacksProblem } from './fallbacks.ts';
import { outputConfigProblem } from './output-config.ts';
import {
  extraKeyProblem,
  firstProblem,
  isObject,
  stringProblem,
  type Json,
  type RequestProblem,
  type RequestRules,
} from './shape.ts';
import { textProblem } from './text.ts';
import { thinkingProblem } from './thinking.ts';
import { toolChangesProblem } from './tool-changes.ts';
import { toolsProblem } from './tools.ts';

const KEYS =
  'max_tokens messages model cache_control container diagnostics inference_geo metadata output_config service_tier speed ' +
  'stop_sequences stream system thinking tool_choice tools user_profile_id workspace_id';
const SAMPLING_KEYS = 'temperature top_p top_k';

/** Returns the sentence that the API would refuse this request with, or undefined. */
export function requestProblem(value: unknown, rules: RequestRules): RequestProblem | undefined {
  if (!isObject(value)) return 'Input should be a valid dictionary or object to extract fields from';
  const model = value['model'];
  const { betas } = rules;
  const profile = findProfile(String(model));
  return (
    compactionRequestProblem(value, betas, rules.counting) ??
    extraKeyProblem(value, listAllowedKeys(rules), '') ??
    stringProblem(model, 'model') ??
    (model === '' ? 'model: String should have at least 1 character' : undefined) ??
    (rules.counting ? undefined : maxTokensProblem(value, rules.maxOutputTokens ?? profile?.maxOutput)) ??
    settingsProblem(value) ??
    thinkingProblem(value, betas) ??
    outputConfigProblem(value['output_config'], betas) ??
    modelRuleProblem(value, profile) ??
    contextManagementProblem(value['context_management'], betas) ??
    systemProblem(value['system']) ??
    toolsProblem(value) ??
    breakpointsProblem(value) ??
    messagesProblem(value, rules) ??
    compactionBlockProblem(value, betas) ??
    toolChangesProblem(value, betas) ??
    fallbacksProblem(value, profile, betas) ??
    sizesProblem(value, profile)
  );
}

function listAllowedKeys({ sampling, betas }: RequestRules): ReadonlySet<string> {
  const keys = [KEYS, sampling ? SAMPLING_KEYS : ''].join(' ').split(' ');
  return new Set([...keys, ...listBetaFields(betas)]);
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
