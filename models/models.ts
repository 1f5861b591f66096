// Knows the models of a worker (X1): by its configuration, then by what the server says of them,
// then by the catalogue.
import type { ModelFacts, Models, ModelTable } from '../store/model-facts.ts';
import type { ModelPrice } from '../workflows/contract/loop.ts';
import { findCatalogueFacts } from './catalogue.ts';
import { findModel } from './find-model.ts';
import { type AskServer, type ServerModel, createServerFacts } from './server-facts.ts';

type ModelsSettings = {
  /** The worker's own model, for `default`. */
  readonly model?: string | undefined;
  /** Facts by the prefix of a name. */
  readonly configured?: ModelTable | undefined;
  /** True when replies are the scripted model's, and cost nothing. */
  readonly scripted?: boolean;
  /**
   * True when the server is the API of the models' maker: a name that it does not know is not a
   * model.
   */
  readonly official?: boolean;
  /** Asks the server about a model; absent: it is not asked. */
  readonly ask?: AskServer | undefined;
};

const FREE: ModelPrice = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/**
 * An unknown model has at least as much as most models that are served today; where it has less,
 * its server says so.
 */
const UNKNOWN: ModelFacts = { window: 200_000, maxOutput: 64_000, price: null, assumed: true };

export function createModels(settings: ModelsSettings = {}): Models {
  const { model, configured = {}, scripted, official = false, ask } = settings;
  const server = createServerFacts(ask);
  /** Windows learned from refusals; servers do not name them otherwise. */
  const windows = new Map<string, number>();
  const lostAt = new Map<string, number>();
  const refused = new Set<string>();
  return {
    find: (name) => findModel(name, { model, configured, official }),
    facts(name) {
      const window = windows.get(name);
      const own = findInTable(configured, name);
      const reported = {
        ...mergeServerFacts(findCatalogueFacts(name), server.known(name)),
        ...(window !== undefined && { window }),
      };
      const { assumed: _unless, ...known } = { ...UNKNOWN, ...reported, ...own };
      const isAssumed = reported.window === undefined && own?.window === undefined;
      return { ...known, ...(isAssumed && { assumed: true as const }), ...(scripted && { price: FREE }) };
    },
    lookUp: (names) => server.lookUp(names),
    learn: (name, window) => void windows.set(name, window),
    lose(name) {
      const isNews = !lostAt.has(name);
      lostAt.set(name, performance.now());
      return isNews;
    },
    isLost: (name) => performance.now() - (lostAt.get(name) ?? -Infinity) < LOST_MS,
    refuse(name, field) {
      const isNews = !refused.has(`${field} ${name}`);
      refused.add(`${field} ${name}`);
      return isNews;
    },
    isRefused: (name, field) => refused.has(`${field} ${name}`),
  };
}

/**
 * Merges the facts of the catalogue with those of the server, which go before. The server does not
 * say what a model does where a request says nothing.
 */
function mergeServerFacts(known: ModelFacts | undefined, reported: ServerModel = {}): Partial<ModelFacts> {
  const { kinds, levels, lifecycle: _lifecycle, ...sizes } = reported;
  const thinks = known?.thinking?.byDefault ?? kinds?.includes('adaptive') ?? false;
  const effort = known?.effort?.byDefault ?? 'high';
  return {
    ...known,
    ...sizes,
    ...(kinds && { thinking: { kinds, byDefault: thinks } }),
    ...(levels && { effort: { levels, byDefault: effort } }),
  };
}

/** Milliseconds after which a model that was missing may exist. */
const LOST_MS = 3_600_000;

/** Finds the entry with the longest prefix that fits. */
function findInTable(table: ModelTable, name: string): Partial<ModelFacts> | undefined {
  const [longest] = Object.keys(table)
    .filter((prefix) => name.startsWith(prefix))
    .toSorted((a, b) => b.length - a.length);
  return longest === undefined ? undefined : table[longest];
}
