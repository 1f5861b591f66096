// Answers the Models API: the documented facts of a model, or the limits that the server was
// started with. Every id exists here; undocumented facts are null.
import { BETAS } from '../validate/betas.ts';
import type { ProfileEffort, ModelProfile, ThinkingType } from './model-profile.ts';
import { listProfiles, findProfile } from './profiles.ts';
import { EFFORTS } from './table.ts';

export type ServedLimits = { readonly window: number | undefined; readonly maxOutputTokens: number | undefined };

const WINDOW = 200_000;
const MOST_OUTPUT = 64_000;
const KINDS: readonly ThinkingType[] = ['adaptive', 'between_tools', 'disabled', 'enabled'];

/** Answers for one model. An alias is answered with the id it stands for. */
export function describeModel(name: string, limits: ServedLimits, betas: readonly string[]): object {
  const profile = findProfile(name);
  if (profile !== undefined) return describeDocumented(profile, limits, betas);
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

/**
 * Lists the models. `search` is the text after `?`. Retired models are listed when they are asked
 * for.
 */
export function listModels(search: string, limits: ServedLimits, betas: readonly string[]): object {
  const query = new URLSearchParams(search);
  const requested = [...query.getAll('lifecycle'), ...query.getAll('lifecycle[]')];
  const stages = requested.length === 0 ? ['active', 'deprecated'] : requested;
  const all = listProfiles().filter(({ lifecycle }) => stages.includes(lifecycle));
  const from = all.findIndex(({ id }) => id === query.get('after_id')) + 1;
  const page = all.slice(from, from + Number(query.get('limit') ?? 20));
  return {
    data: page.map((profile) => describeDocumented(profile, limits, betas)),
    has_more: from + page.length < all.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

function describeDocumented(profile: ModelProfile, limits: ServedLimits, betas: readonly string[]): object {
  const { id, line, released, lifecycle, retires, fallbacks } = profile;
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: `${released}T00:00:00Z`,
    max_input_tokens: limits.window ?? profile.window,
    max_tokens: limits.maxOutputTokens ?? profile.maxOutput,
    capabilities: listCapabilities(profile, betas),
    lifecycle,
    deprecated_at: null,
    retires_at: retires === null ? null : `${retires}T00:00:00Z`,
    line,
    ...(betas.length === 0 ? {} : { allowed_fallback_models: fallbacks }),
  };
}

const markSupported = (supported: boolean) => ({ supported });

function listCapabilities({ thinking, efforts, compaction }: ModelProfile, betas: readonly string[]): object {
  const levels = EFFORTS.map((effort): [ProfileEffort, object] => [effort, markSupported(efforts.includes(effort))]);
  const summaries = { ...markSupported(compaction), summarize: markSupported(compaction) };
  const clears = markSupported(true);
  return {
    batch: markSupported(true),
    citations: markSupported(true),
    code_execution: markSupported(true),
    context_management: {
      ...markSupported(true),
      clear_thinking_20251015: clears,
      clear_tool_uses_20250919: clears,
      compact_20260112: markSupported(compaction),
    },
    effort: { ...markSupported(efforts.length > 0), ...Object.fromEntries(levels) },
    image_input: markSupported(true),
    pdf_input: markSupported(true),
    server_tools: { ...markSupported(true), code_execution: markSupported(true), web_search: markSupported(true) },
    structured_outputs: markSupported(true),
    thinking: {
      ...markSupported(true),
      types: Object.fromEntries(KINDS.map((kind) => [kind, markSupported(thinking.includes(kind))])),
    },
    ...(betas.includes(BETAS.compaction) ? { compaction: summaries } : {}),
  };
}
