// Models as the API lists them: those of the catalogue, with what it says of them. When a model was
// released or deprecated and what else it supports the catalogue doesn't know.
import type { BetaModelInfo } from '@anthropic-ai/sdk/resources/beta/models';
import { z } from 'zod';
import { catalogue, findCatalogueFacts, parseBaseName } from '../models/catalogue.ts';
import { findModel } from '../models/find-model.ts';
import { invalid, notFound } from './errors.ts';
import { formatTime } from './ids.ts';
import { PAGE_BOUNDS } from './pages.ts';
import { parseQuery, type Query, wholeNumber } from './shapes/parse.ts';

const lifecycle = z.enum(['active', 'deprecated', 'retired']);
type Lifecycle = z.output<typeof lifecycle>;

const modelList = z.strictObject({
  limit: wholeNumber(PAGE_BOUNDS.least, PAGE_BOUNDS.most).optional(),
  after_id: z.string().optional(),
  before_id: z.string().optional(),
  lifecycle: z.array(lifecycle).max(3).optional(),
});

type ModelRequest = { readonly params: Readonly<Record<string, string>>; readonly query: Query };

const DEFAULT_LIMIT = 20;
const CURRENT: readonly Lifecycle[] = ['active', 'deprecated'];
const LINES = ['haiku', 'sonnet', 'opus', 'fable', 'mythos'] as const;

/** Returns the name that is sent for any name of a model. */
function nameOf(model: string): string | undefined {
  const found = findModel(model);
  return 'name' in found ? found.name : undefined;
}

/** Finds a model in the catalogue by any of its names. */
export function findFacts(model: string): ReturnType<typeof findCatalogueFacts> {
  const name = nameOf(model);
  return name === undefined ? undefined : findCatalogueFacts(name);
}

/** `now`: milliseconds since the epoch. */
export const modelHandlers = ({ now }: { now(): number }) => ({
  'models.list': async ({ query: sent }: Pick<ModelRequest, 'query'>) => {
    const query = parseQuery(modelList, sent);
    const wanted = query.lifecycle?.length ? query.lifecycle : CURRENT;
    const all = Object.keys(catalogue.models).map((base) => showModel(base, now()));
    return pageOfModels(
      all.filter((one) => wanted.includes(one.lifecycle)),
      query,
    );
  },
  'models.retrieve': async ({ params }: Pick<ModelRequest, 'params'>): Promise<BetaModelInfo> => {
    const { model_id: id = '' } = params;
    const name = nameOf(id);
    if (name === undefined || !findCatalogueFacts(name)) throw notFound('Model', id);
    return showModel(parseBaseName(name).base, now());
  },
});

type Paging = Pick<z.output<typeof modelList>, 'limit' | 'after_id' | 'before_id'>;

/** Models stand in the catalogue's order, newer ones first. Throws ManagedError. */
function pageOfModels(
  all: readonly BetaModelInfo[],
  { limit = DEFAULT_LIMIT, after_id: after, before_id: before }: Paging,
) {
  if (after !== undefined && before !== undefined) throw invalid('before_id: give it or after_id', 'before_id');
  const placeOf = (id: string, param: string): number => {
    const at = all.findIndex((one) => one.id === id);
    if (at < 0) throw invalid(`${param}: it is no model of this list`, param);
    return at;
  };
  const end = before === undefined ? all.length : placeOf(before, 'before_id');
  const from = after === undefined ? 0 : placeOf(after, 'after_id') + 1;
  const begin = before === undefined ? from : Math.max(0, end - limit);
  const data = all.slice(begin, Math.min(end, begin + limit));
  const has_more = before === undefined ? begin + limit < end : begin > 0;
  return { data, has_more, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}

function showModel(base: string, now: number): BetaModelInfo {
  const { id = base, window, maxOutput, retires } = catalogue.models[base]!;
  const [, line = '', ...version] = base.split('-');
  return {
    id,
    type: 'model',
    allowed_fallback_models: null,
    capabilities: null,
    created_at: formatTime(0),
    deprecated_at: null,
    display_name: `Claude ${line.charAt(0).toUpperCase()}${line.slice(1)} ${version.join('.')}`,
    lifecycle: lifecycleOf(retires, formatTime(now).slice(0, 10)),
    line: LINES.find((one) => one === line) ?? null,
    max_input_tokens: window,
    max_tokens: maxOutput,
    retires_at: retires === undefined ? null : `${retires}T00:00:00Z`,
  };
}

/** Days as YYYY-MM-DD. */
function lifecycleOf(retires: string | undefined, today: string): Lifecycle {
  if (retires === undefined) return 'active';
  return retires < today ? 'retired' : 'deprecated';
}
