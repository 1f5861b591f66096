// Checks a request's top level as the API does. The messages, tools and breakpoints have checks of
// their own.
import { BETAS, listBetaFields } from './betas.ts';
import { compactionBlockProblem, compactionRequestProblem } from './compaction.ts';
import { EFFORTS, findProfile, type ModelProfile, type ProfileEffort, type ThinkingType } from '../models/profiles.ts';
import { sizesProblem, messagesProblem } from './messages.ts';
import { outputConfigProblem, toolsProblem } from './tools.ts';
import {
  extraKeyProblem,
  firstProblem,
  isObject,
  type Json,
  type RequestProblem,
  type RequestRules,
  stringProblem,
} from './shape.ts';
import { textProblem } from './blocks.ts';
import { toolChangesProblem } from './tool-changes.ts';

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

// Checks cache_control as the API does: at most four, and of a known kind. The check of its block
// says where it may stand.
const MOST_CACHE_CONTROLS = 4;

/**
 * Checks the breakpoints. It runs before the messages are known to be well formed, and passes over
 * malformed ones.
 */
function breakpointsProblem(request: Json): string | undefined {
  const found: Json[] = [];
  const collect = (holder: unknown): void => {
    if (isObject(holder) && holder['cache_control'] !== undefined && holder['cache_control'] !== null)
      found.push(holder);
  };
  for (const tool of toList(request['tools'])) collect(tool);
  for (const block of toList(request['system'])) collect(block);
  for (const message of toList(request['messages'])) {
    for (const block of toList(isObject(message) ? message['content'] : undefined)) {
      collect(block);
      for (const part of toList(isObject(block) ? block['content'] : undefined)) collect(part);
    }
  }
  collect(request);
  if (found.length > MOST_CACHE_CONTROLS) {
    return `A maximum of ${MOST_CACHE_CONTROLS} blocks with cache_control may be provided. Found ${found.length}.`;
  }
  return kindProblem(found) ?? orderProblem(found);
}

function kindProblem(found: readonly Json[]): string | undefined {
  for (const { cache_control: control } of found) {
    if (!isObject(control)) return 'cache_control: Input should be a valid dictionary';
    if (control['type'] !== 'ephemeral') return "cache_control.type: Input should be 'ephemeral'";
    const ttl = control['ttl'];
    if (ttl !== undefined && ttl !== '5m' && ttl !== '1h')
      return "cache_control.ephemeral.ttl: Input should be '5m' or '1h'";
  }
  return undefined;
}

function orderProblem(found: readonly Json[]): string | undefined {
  const long = found.map((holder) => (holder['cache_control'] as Json)['ttl'] === '1h');
  const short = long.indexOf(false);
  if (short < 0 || !long.includes(true, short)) return undefined;
  return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.";
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

// Checks context editing and compaction at a threshold: which edits, in which order, with which
// header. They are accepted, and do nothing here.
const EDITS: Readonly<Record<string, string>> = {
  clear_thinking_20251015: BETAS.contextManagement,
  clear_tool_uses_20250919: BETAS.contextManagement,
  compact_20260112: BETAS.thresholdCompaction,
};
const LEAST_TRIGGER = 50_000;

function contextManagementProblem(management: unknown, betas: readonly string[]): string | undefined {
  if (management === undefined || management === null) return undefined;
  if (!isObject(management)) return 'context_management: Input should be a valid dictionary';
  const extra = extraKeyProblem(management, new Set(['edits']), 'context_management');
  const { edits = [] } = management;
  if (extra !== undefined || !Array.isArray(edits))
    return extra ?? 'context_management.edits: Input should be a valid list';
  const list = edits as readonly unknown[];
  return (
    firstProblem(list, (edit, index) => editProblem(edit, index, betas)) ?? editOrderProblem(list as readonly Json[])
  );
}

function editProblem(edit: unknown, index: number, betas: readonly string[]): string | undefined {
  const path = `context_management.edits.${index}`;
  if (!isObject(edit)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
  const type = String(edit['type']);
  // The header of compaction at a threshold admits the other edits as well.
  const known = Object.keys(EDITS).filter(
    (name) => betas.includes(BETAS.thresholdCompaction) || EDITS[name] === BETAS.contextManagement,
  );
  if (!known.includes(type)) {
    const tags = known.map((name) => `'${name}'`).join(', ');
    return `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags}`;
  }
  const { trigger } = edit;
  const low = type === 'compact_20260112' && isObject(trigger) && Number(trigger['value']) < LEAST_TRIGGER;
  return low ? `${path}.${type}: trigger.value must be at least ${LEAST_TRIGGER}` : undefined;
}

function editOrderProblem(edits: readonly Json[]): string | undefined {
  const at = edits.findIndex(({ type }) => type === 'clear_thinking_20251015');
  if (at <= 0) return undefined;
  return 'context_management: `clear_thinking_20251015` must be the first strategy in `context_management.edits` when provided';
}

// Checks the models that a decline may be handed over to, and the remaining blocks of such a reply
// when it is sent back.
const MOST_FALLBACKS = 3;
const fallbackKeys = new Set(['model', 'max_tokens', 'thinking', 'output_config', 'speed']);

function fallbacksProblem(
  request: Json,
  profile: ModelProfile | undefined,
  betas: readonly string[],
): string | undefined {
  const { fallbacks } = request;
  const sentBack = fallbackBlocksProblem(request, betas);
  if (sentBack !== undefined || fallbacks === undefined || fallbacks === null || fallbacks === 'default')
    return sentBack;
  if (!Array.isArray(fallbacks)) return "fallbacks: Input should be 'default' or a valid list";
  if (fallbacks.length > MOST_FALLBACKS) return `fallbacks: List should have at most ${MOST_FALLBACKS} items`;
  if (profile?.fallbacks?.length === 0) return 'fallbacks: not supported for this model';
  return firstProblem(fallbacks as unknown[], (entry, index) => {
    const path = `fallbacks.${index}`;
    if (!isObject(entry)) return `${path}: Input should be a valid dictionary or object to extract fields from`;
    const malformed = extraKeyProblem(entry, fallbackKeys, path) ?? stringProblem(entry['model'], `${path}.model`);
    const allowed = profile?.fallbacks ?? [String(entry['model'])];
    if (malformed !== undefined || allowed.includes(String(entry['model']))) return malformed;
    return `${path}.model: '${String(entry['model'])}' is not an allowed fallback model for ${profile?.id}`;
  });
}

const NOT_BEFORE_IT: readonly unknown[] = ['thinking', 'redacted_thinking', 'connector_text', 'tool_use'];

/**
 * Checks blocks that follow a decline: the thinking and calls of the model that declined are not
 * sent back; its text is, and everything that the other model said.
 */
function fallbackBlocksProblem({ messages }: Json, betas: readonly string[]): string | undefined {
  return firstProblem(messages as readonly Json[], ({ content }, index) => {
    const blocks = Array.isArray(content) ? (content as readonly Json[]) : [];
    const last = blocks.findLastIndex(({ type }) => type === 'fallback');
    if (last < 0) return undefined;
    if (!betas.includes(BETAS.fallbacks)) {
      return `messages.${index}.content.${last}: Input tag 'fallback' found using 'type' is not one of the expected content block types`;
    }
    const stray = blocks.slice(0, last).findIndex(({ type }) => NOT_BEFORE_IT.includes(type));
    const type = String(blocks[stray]?.['type']);
    return stray < 0
      ? undefined
      : `messages.${index}.content.${stray}: \`${type}\` blocks cannot precede a \`fallback\` block`;
  });
}

// Checks what one model refuses and another takes: kinds of thinking, effort, forced tools,
// sampling, fallbacks. Nothing is refused here for a model that the documents do not name.
const SAMPLING = ['temperature', 'top_p', 'top_k'];

function modelRuleProblem(request: Json, profile: ModelProfile | undefined): string | undefined {
  if (profile === undefined) return undefined;
  const { thinking, output_config: config, tool_choice: choice } = request;
  const type = isObject(thinking) ? (thinking['type'] as ThinkingType) : undefined;
  const effort = isObject(config) ? (config['effort'] as ProfileEffort | null | undefined) : undefined;
  return (
    (type === undefined ? undefined : typeProblem(type, profile)) ??
    levelProblem(effort ?? undefined, 'output_config.effort', profile) ??
    offProblem(type, effort ?? undefined, profile) ??
    toolChoiceProblem(choice, profile) ??
    samplingProblem(request, profile) ??
    messageEffortProblem(request, type, effort ?? undefined, profile)
  );
}

function typeProblem(type: ThinkingType, profile: ModelProfile): string | undefined {
  if (profile.thinking.includes(type)) return undefined;
  if (type === 'adaptive') return 'adaptive thinking is not supported on this model';
  const instead = profile.thinking.includes('between_tools')
    ? 'Use "thinking.type.between_tools" to turn thinking off before tool calls.'
    : 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
  return `"thinking.type.${type}" is not supported for this model.${type === 'between_tools' ? '' : ` ${type === 'enabled' ? ADAPT : instead}`}`;
}

const ADAPT = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';

function levelProblem(effort: ProfileEffort | undefined, path: string, { efforts }: ModelProfile): string | undefined {
  if (effort === undefined || efforts.includes(effort)) return undefined;
  if (efforts.length === 0) return 'This model does not support the effort parameter.';
  return `${path}: '${effort}' is not supported for this model. Supported levels: ${efforts.join(', ')}`;
}

function offProblem(
  type: ThinkingType | undefined,
  effort: ProfileEffort | undefined,
  profile: ModelProfile,
): string | undefined {
  if (type !== 'disabled' && type !== 'between_tools') return undefined;
  if (effort === undefined || EFFORTS.indexOf(effort) <= EFFORTS.indexOf(profile.offUpTo)) return undefined;
  return `output_config.effort: '${effort}' is not supported with "thinking.type.${type}" for this model`;
}

function toolChoiceProblem(choice: unknown, { forcedTools }: ModelProfile): string | undefined {
  const forces = isObject(choice) && ['any', 'tool'].includes(String(choice['type']));
  return forces && !forcedTools ? 'tool_choice: type "tool" and "any" are not supported for this model.' : undefined;
}

function samplingProblem(request: Json, { sampling }: ModelProfile): string | undefined {
  const sent = SAMPLING.find((key) => request[key] !== undefined && request[key] !== null);
  return sent === undefined || sampling ? undefined : `${sent}: not supported for this model`;
}

/** Checks the effort of messages. With thinking between tools only, the level may not change. */
function messageEffortProblem(
  { messages }: Json,
  type: ThinkingType | undefined,
  effort: ProfileEffort = 'high',
  profile: ModelProfile,
): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  return firstProblem(messages as unknown[], (message, index) => {
    const config = isObject(message) ? message['output_config'] : undefined;
    const level = isObject(config) ? (config['effort'] as ProfileEffort | null | undefined) : undefined;
    if (level === undefined || level === null || !EFFORTS.includes(level)) return undefined;
    const path = `messages.${index}.output_config.effort`;
    const other = type === 'between_tools' && level !== effort;
    return other ? `${path}: cannot change with "thinking.type.between_tools"` : levelProblem(level, path, profile);
  });
}

// The API's refusals of thinking: a kind the model does not have, a field that the kind does not
// have or that needs its beta, a budget that is too small or leaves no room for an answer.
const TYPES = ['disabled', 'enabled', 'adaptive', 'between_tools'];

// These patterns are for models that the documents do not name; the checks above know the others.
/** From 4.7 on a model decides by itself how much to think; up to 4.5 no model does. */
const ONLY_ADAPTIVE = /^claude-(?:(?:fable|mythos)-|[a-z]+-(?:4-[7-9]|[5-9]|\d\d)(?!\d))/;
const NEVER_ADAPTIVE = /^claude-(?:\d|[a-z]+-4(?:-[015]|-\d{8})?(?!-?\d))/;

function thinkingProblem(request: Json, betas: readonly string[]): string | undefined {
  const { thinking } = request;
  if (thinking === undefined) return undefined;
  if (!isObject(thinking)) return 'thinking: Input should be a valid dictionary';
  const type = String(thinking['type']);
  if (!TYPES.includes(type)) {
    const expected = TYPES.map((each) => `'${each}'`).join(', ');
    return `thinking: Input tag found using 'type' does not match any of the expected tags: ${expected}`;
  }
  const extra = fieldProblem(thinking, type, betas) ?? displayProblem(thinking['display'], type, betas);
  if (extra !== undefined) return extra;
  const model = String(request['model']);
  if (type === 'adaptive' && NEVER_ADAPTIVE.test(model)) return 'adaptive thinking is not supported on this model';
  return type === 'enabled'
    ? thinkingBudgetProblem(thinking['budget_tokens'], request['max_tokens'], model)
    : undefined;
}

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  adaptive: ['type', 'display'],
  enabled: ['type', 'display', 'budget_tokens'],
};

function fieldProblem(thinking: Json, type: string, betas: readonly string[]): string | undefined {
  const path = `thinking.${type}`;
  const fields = FIELDS[type] ?? ['type'];
  const bound = type in FIELDS && betas.includes(BETAS.bindingControls) ? ['block_binding'] : [];
  const extra = extraKeyProblem(thinking, new Set([...fields, ...bound]), path);
  const binding = thinking['block_binding'];
  if (extra !== undefined || binding === undefined || binding === null) return extra;
  if (!isObject(binding)) return `${path}.block_binding: Input should be a valid dictionary`;
  const behavior = binding['prefix_mismatch_behavior'];
  const unknown = extraKeyProblem(binding, new Set(['prefix_mismatch_behavior']), `${path}.block_binding`);
  if (unknown !== undefined || [undefined, null, 'error', 'drop_block'].includes(behavior as string)) return unknown;
  return `${path}.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'`;
}

function displayProblem(display: unknown, type: string, betas: readonly string[]): string | undefined {
  const values = ['summarized', 'omitted', ...(betas.includes(BETAS.displayUpdates) ? ['updates'] : [])];
  if (display === undefined || display === null || values.includes(display as string)) return undefined;
  const quoted = values.map((value) => `'${value}'`);
  return `thinking.${type}.display: Input should be ${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}

function thinkingBudgetProblem(budget: unknown, cap: unknown, model: string): string | undefined {
  if (ONLY_ADAPTIVE.test(model)) {
    return '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
  }
  if (budget === undefined) return 'thinking.enabled.budget_tokens: Field required';
  if (!Number.isInteger(budget)) return 'thinking.enabled.budget_tokens: Input should be a valid integer';
  if (Number(budget) < 1_024) return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024';
  if (typeof cap === 'number' && cap <= Number(budget)) {
    return '`max_tokens` must be greater than `thinking.budget_tokens`';
  }
  return undefined;
}
