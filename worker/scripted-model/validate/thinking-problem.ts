// What the API refuses of thinking: a budget where the model adapts, or one that is too small or leaves no room for an answer.
import { isObject } from './shape.ts';
import type { Json } from './shape.ts';

const TYPES = ['disabled', 'enabled', 'adaptive', 'between_tools'];

/** From 4.7 on a model decides by itself how much to think; up to 4.5 none does. */
const ONLY_ADAPTIVE = /^claude-(?:(?:fable|mythos)-|[a-z]+-(?:4-[7-9]|[5-9]|\d\d)(?!\d))/;
const NEVER_ADAPTIVE = /^claude-(?:\d|[a-z]+-4(?:-[015]|-\d{8})?(?!-?\d))/;

export function thinkingProblem(request: Json): string | undefined {
  const { thinking } = request;
  if (thinking === undefined) return undefined;
  if (!isObject(thinking)) return 'thinking: Input should be a valid dictionary';
  const type = String(thinking['type']);
  if (!TYPES.includes(type)) {
    const expected = TYPES.map((each) => `'${each}'`).join(', ');
    return `thinking: Input tag found using 'type' does not match any of the expected tags: ${expected}`;
  }
  const model = String(request['model']);
  if (type === 'adaptive' && NEVER_ADAPTIVE.test(model)) return 'adaptive thinking is not supported on this model';
  return type === 'enabled' ? budgetProblem(thinking['budget_tokens'], request['max_tokens'], model) : undefined;
}

function budgetProblem(budget: unknown, cap: unknown, model: string): string | undefined {
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
