// The API's refusals of thinking: a kind the model does not have, a field that the kind does not
// have or that needs its beta, a budget that is too small or leaves no room for an answer.
import { BETAS } from './betas.ts';
import { extraKeyProblem, isObject, type Json } from './shape.ts';

const TYPES = ['disabled', 'enabled', 'adaptive', 'between_tools'];

// These patterns are for models that the documents do not name; model-rules.ts knows the others.
/** From 4.7 on a model decides by itself how much to think; up to 4.5 no model does. */
const ONLY_ADAPTIVE = /^claude-(?:(?:fable|mythos)-|[a-z]+-(?:4-[7-9]|[5-9]|\d\d)(?!\d))/;
const NEVER_ADAPTIVE = /^claude-(?:\d|[a-z]+-4(?:-[015]|-\d{8})?(?!-?\d))/;

export function thinkingProblem(request: Json, betas: readonly string[]): string | undefined {
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
