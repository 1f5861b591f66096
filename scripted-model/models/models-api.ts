// The answers of the Models API: what the documents say of a model, or the limits the server was
// started with. Every id exists here; what is not documented is null.
import { BETAS } from '../validate/betas.ts';
import type { Effort, ModelProfile, ThinkingType } from './model-profile.ts';
import { allProfiles, profileOf } from './profiles.ts';
import { EFFORTS } from './table.ts';

export type ModelLimits = { readonly window: number | undefined; readonly maxOutputTokens: number | undefined };

const WINDOW = 200_000;
const MOST_OUTPUT = 64_000;
const KINDS: readonly ThinkingType[] = ['adaptive', 'between_tools', 'disabled', 'enabled'];

/** An alias is answered with the id it stands for. */
export function modelInfo(name: string, limits: ModelLimits, betas: readonly string[]): object {
  const profile = profileOf(name);
  if (profile !== undefined) return documented(profile, limits, betas);
  return {
    type: 'model',
    id: name,
    display_name: `${name} (scripted)`,
    created_at: '1970-01-01T00:00:00Z',
    max_input_tokens: limits.window ?? WINDOW,
    max_tokens: limits.maxOutputTokens ?? MOST_OUTPUT,
    capabilities: null,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
  };
}

/** `search`: after `?`. Retired models are listed when they are asked for. */
export function modelList(search: string, limits: ModelLimits, betas: readonly string[]): object {
  const query = new URLSearchParams(search);
  const asked = [...query.getAll('lifecycle'), ...query.getAll('lifecycle[]')];
  const stages = asked.length === 0 ? ['active', 'deprecated'] : asked;
  const all = allProfiles().filter(({ lifecycle }) => stages.includes(lifecycle));
  const from = all.findIndex(({ id }) => id === query.get('after_id')) + 1;
  const page = all.slice(from, from + Number(query.get('limit') ?? 20));
  return {
    data: page.map((profile) => documented(profile, limits, betas)),
    has_more: from + page.length < all.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

function documented(profile: ModelProfile, limits: ModelLimits, betas: readonly string[]): object {
  const { id, line, released, lifecycle, retires, fallbacks } = profile;
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: `${released}T00:00:00Z`,
    max_input_tokens: limits.window ?? profile.window,
    max_tokens: limits.maxOutputTokens ?? profile.maxOutput,
    capabilities: capabilities(profile, betas),
    lifecycle,
    deprecated_at: null,
    retires_at: retires === null ? null : `${retires}T00:00:00Z`,
    line,
    ...(betas.length === 0 ? {} : { allowed_fallback_models: fallbacks }),
  };
}

const is = (supported: boolean) => ({ supported });

function capabilities({ thinking, efforts, compaction }: ModelProfile, betas: readonly string[]): object {
  const levels = EFFORTS.map((effort): [Effort, object] => [effort, is(efforts.includes(effort))]);
  const summaries = { ...is(compaction), summarize: is(compaction) };
  const clears = is(true);
  return {
    batch: is(true),
    citations: is(true),
    code_execution: is(true),
    context_management: {
      ...is(true),
      clear_thinking_20251015: clears,
      clear_tool_uses_20250919: clears,
      compact_20260112: is(compaction),
    },
    effort: { ...is(efforts.length > 0), ...Object.fromEntries(levels) },
    image_input: is(true),
    pdf_input: is(true),
    server_tools: { ...is(true), code_execution: is(true), web_search: is(true) },
    structured_outputs: is(true),
    thinking: { ...is(true), types: Object.fromEntries(KINDS.map((kind) => [kind, is(thinking.includes(kind))])) },
    ...(betas.includes(BETAS.compaction) ? { compaction: summaries } : {}),
  };
}
