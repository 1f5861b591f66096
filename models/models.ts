// What a worker knows of models (X1): its configuration, then what the server says of them, then
// the catalogue.
import type { ModelFacts, Models, ModelTable } from '../store/model-facts.ts';
import type { Price } from '../workflows/contract/loop.ts';
import { catalogueFacts } from './catalogue.ts';
import { findModel } from './find-model.ts';
import { type AskServer, type ServerModel, serverFacts } from './server-facts.ts';

export type ModelsSettings = {
  /** The worker's own, for `default`. */
  readonly model?: string | undefined;
  /** By prefix of a name. */
  readonly configured?: ModelTable | undefined;
  /** Replies are the scripted model's, and cost nothing. */
  readonly scripted?: boolean;
  /** The server is the API of the models' maker: what it does not know is no model. */
  readonly official?: boolean;
  /** Absent: nobody is asked. */
  readonly ask?: AskServer | undefined;
};

const FREE: Price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/**
 * What nobody knows has at least as much as most of what is served today; where it has less, its
 * server says so.
 */
const UNKNOWN: ModelFacts = { window: 200_000, maxOutput: 64_000, price: null, assumed: true };

export function createModels(settings: ModelsSettings = {}): Models {
  const { model, configured = {}, scripted, official = false, ask } = settings;
  const server = serverFacts(ask);
  /** Learned from refusals: no server names it otherwise. */
  const windows = new Map<string, number>();
  const lost = new Map<string, number>();
  const refused = new Set<string>();
  return {
    find: (name) => findModel(name, { model, configured, official }),
    facts(name) {
      const window = windows.get(name);
      const own = ofTable(configured, name);
      const said = {
        ...withServers(catalogueFacts(name), server.known(name)),
        ...(window !== undefined && { window }),
      };
      const { assumed: _unless, ...known } = { ...UNKNOWN, ...said, ...own };
      const isAssumed = said.window === undefined && own?.window === undefined;
      return { ...known, ...(isAssumed && { assumed: true as const }), ...(scripted && { price: FREE }) };
    },
    lookUp: (names) => server.lookUp(names),
    learn: (name, window) => void windows.set(name, window),
    lose(name) {
      const isNews = !lost.has(name);
      lost.set(name, performance.now());
      return isNews;
    },
    isLost: (name) => performance.now() - (lost.get(name) ?? -Infinity) < LOST_MS,
    refuse(name, field) {
      const isNews = !refused.has(`${field} ${name}`);
      refused.add(`${field} ${name}`);
      return isNews;
    },
    isRefused: (name, field) => refused.has(`${field} ${name}`),
  };
}

/**
 * What the server says goes before. It does not say what a model does where a request says nothing.
 */
function withServers(known: ModelFacts | undefined, said: ServerModel = {}): Partial<ModelFacts> {
  const { kinds, levels, lifecycle: _lifecycle, ...sizes } = said;
  const thinks = known?.thinking?.byDefault ?? kinds?.includes('adaptive') ?? false;
  const effort = known?.effort?.byDefault ?? 'high';
  return {
    ...known,
    ...sizes,
    ...(kinds && { thinking: { kinds, byDefault: thinks } }),
    ...(levels && { effort: { levels, byDefault: effort } }),
  };
}

/** Milliseconds after which a model that was not there may be. */
const LOST_MS = 3_600_000;

/** The longest prefix that fits. */
function ofTable(table: ModelTable, name: string): Partial<ModelFacts> | undefined {
  const [longest] = Object.keys(table)
    .filter((prefix) => name.startsWith(prefix))
    .toSorted((a, b) => b.length - a.length);
  return longest === undefined ? undefined : table[longest];
}
