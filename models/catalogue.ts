// The catalogue of models (X1): what their documents say of them, as of its date. `from` names the
// page of each kind of fact; `assumed` lists the facts of a model that its pages do not state,
// taken from the model before it.
import type { ModelFacts } from '../store/model-facts.ts';
import type { ModelPrice } from '../workflows/contract/loop.ts';
import file from './catalogue.cjs';

/** A price with the factor of regional endpoints, which cost more where the model is sold so. */
type CataloguePrice = Omit<ModelPrice, 'factors'> & {
  readonly factors: ModelPrice['factors'] & { readonly regional?: number };
};

type CatalogueModel = Omit<ModelFacts, 'price' | 'assumed'> & {
  /** The API's name of the model, where that is not its base name. */
  readonly id?: string;
  readonly price: CataloguePrice;
  readonly assumed?: readonly string[];
};

type Catalogue = {
  /** YYYY-MM-DD. */
  readonly date: string;
  readonly pages: Readonly<Record<string, string>>;
  readonly from: Readonly<Record<string, string>>;
  readonly default: string;
  /** The model for questions apart from the conversation. */
  readonly small: string;
  readonly aliases: Readonly<Record<string, string>>;
  /** Models by base name. */
  readonly models: Readonly<Record<string, CatalogueModel>>;
};

export const catalogue = file as Catalogue;

/** The parts of a model's name (X2). */
type BaseName = {
  readonly base: string;
  /**
   * How the model is sold, as its name says: for one region, for a government, in batches, or
   * faster.
   */
  readonly variant?: 'regional' | 'government' | 'batch' | 'fast';
};

const REGIONS = /^(us-gov|us|eu|au|jp|in|apac|global)\./;
const VARIANTS = /(?::(?:thinking|beta|nitro|floor|batch)|-(?:fast|batch)|-v\d+(?::\d+)?|@(?:default|\d{8}))$/;

/**
 * Returns what a model is called by its maker, for a name as gateways and clouds write it:
 * `anthropic/claude-opus-5.5`, `claude-haiku-4-5@20251001`,
 * `us.anthropic.claude-haiku-4-5-20251001-v1:0`, `claude-opus-5-5[1m]`.
 */
export function parseBaseName(name: string): BaseName {
  const place = name.toLowerCase().trim().split('/').at(-1) ?? '';
  const region = REGIONS.exec(place)?.[1];
  let rest = place
    .replace(REGIONS, '')
    .replace(/^~/, '')
    .replace(/^(?:anthropic\.|databricks-)/, '')
    .replace(/\[1m\]$/, '');
  let variant: BaseName['variant'] = variantOfRegion(region);
  for (let end = VARIANTS.exec(rest); end; end = VARIANTS.exec(rest)) {
    if (end[0].endsWith('fast')) variant = 'fast';
    if (end[0].endsWith('batch')) variant = 'batch';
    rest = rest.slice(0, end.index);
  }
  const base = putLineFirst(rest.replaceAll(/(\d)\.(?=\d)/g, '$1-').replace(/-\d{8}$/, ''));
  return { base: resolveShortForms(base), ...(variant && { variant }) };
}

function variantOfRegion(region: string | undefined): BaseName['variant'] {
  if (region === undefined || region === 'global') return undefined;
  return region === 'us-gov' ? 'government' : 'regional';
}

/** Moves the version behind the family; older names have it before: `claude-3-5-sonnet`. */
function putLineFirst(name: string): string {
  const old = /^claude-(\d+(?:-\d+)?)-([a-z]+)$/.exec(name);
  return old ? `claude-${old[2]}-${old[1]}` : name;
}

/**
 * Completes a base name: the first of a generation has no minor version in its dated id, and some
 * gateways call the newest of a line `latest`.
 */
function resolveShortForms(base: string): string {
  const line = /^claude-([a-z]+)-latest$/.exec(base)?.[1];
  if (line !== undefined && Object.hasOwn(catalogue.aliases, line)) return catalogue.aliases[line] ?? base;
  return Object.hasOwn(catalogue.models, `${base}-0`) ? `${base}-0` : base;
}

/** The factor of a government's endpoints, which cost more than those of a region. */
const GOVERNMENT = 1.2;

/**
 * Returns the facts of a model, with the prices of the variant that its name says: regional,
 * government, batch or fast. Undefined for a model that the catalogue does not know.
 */
export function findCatalogueFacts(name: string): ModelFacts | undefined {
  const { base, variant } = parseBaseName(name);
  const found = Object.hasOwn(catalogue.models, base) ? catalogue.models[base] : undefined;
  if (!found) return undefined;
  const { id: _id, assumed: _assumed, price, ...facts } = found;
  const { regional = 1, ...factors } = price.factors;
  const times =
    variant === undefined ? 1 : { regional, government: GOVERNMENT, batch: 0.5, fast: factors.fast ?? 1 }[variant];
  return { ...facts, price: scalePrice({ ...price, factors }, times) };
}

function scalePrice(price: ModelPrice, times: number): ModelPrice {
  if (times === 1) return price;
  const scaleEach = <Prices extends object>(prices: Prices): Prices =>
    Object.fromEntries(
      Object.entries(prices).map(([key, value]) => [key, isPrice(key, value) ? value * times : value]),
    ) as Prices;
  return { ...scaleEach(price), ...(price.above && { above: scaleEach(price.above) }) };
}

function isPrice(key: string, value: unknown): value is number {
  return typeof value === 'number' && key !== 'tokens' && key !== 'webSearch';
}
