// Checks the models that a decline may be handed over to, and the remaining blocks of such a reply
// when it is sent back.
import type { ModelProfile } from '../models/model-profile.ts';
import { BETAS } from './betas.ts';
import { extraKeyProblem, firstProblem, isObject, stringProblem, type Json } from './shape.ts';

const MOST_FALLBACKS = 3;
const fallbackKeys = new Set(['model', 'max_tokens', 'thinking', 'output_config', 'speed']);

export function fallbacksProblem(
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
