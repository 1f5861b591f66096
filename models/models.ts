// Knows the models of a worker (X1): by its configuration, then by what the server says of them,
// then by the catalogue.
// Asks the server itself about a model (X1), by the Models API: once a day, and without waiting
// longer than a moment. A server without it, a refusal or a foreign answer say nothing.
import type { ModelFacts, Models, ModelTable, ThinkingKind } from '../store/model-facts.ts';
import type { Effort, ModelPrice } from '../workflows/contract/loop.ts';
import { findCatalogueFacts } from './catalogue.ts';
import { findModel } from './find-model.ts';

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

/** Returns what a server knows of a model by its name, as JSON. Throws what its client throws. */
export type AskServer = (name: string, signal: AbortSignal) => Promise<unknown>;

/** Milliseconds for which an answer holds, and for which a failure does. */
const DAY_MS = 24 * 3_600_000;
const AGAIN_MS = 10 * 60_000;
/**
 * Milliseconds that are waited for an answer. A run opens without a slower one, and the next run
 * has it.
 */
const MOMENT_MS = 1_500;
const TIMEOUT_MS = 10_000;
const MOST_MODELS = 200;

export type ServerModel = Partial<Pick<ModelFacts, 'window' | 'maxOutput' | 'retires' | 'webSearch'>> & {
  readonly kinds?: readonly ThinkingKind[];
  readonly levels?: readonly Effort[];
  readonly lifecycle?: string;
};

type ServerFacts = {
  /** Returns the last answer, while it holds. */
  known(name: string): ServerModel | undefined;
  /** Never throws. */
  lookUp(names: readonly string[]): Promise<void>;
};

type Answer = { readonly facts: ServerModel | null; readonly until: number };

export function createServerFacts(
  ask: AskServer | undefined,
  now: () => number = () => performance.now(),
): ServerFacts {
  const answers = new Map<string, Answer>();
  const pending = new Map<string, Promise<void>>();
  const begin = async (name: string, server: AskServer): Promise<void> => {
    const facts = await askForFacts(name, server);
    // A caller that names models without end must not fill the memory.
    if (answers.size >= MOST_MODELS) answers.clear();
    answers.set(name, { facts, until: now() + (facts === null ? AGAIN_MS : DAY_MS) });
    pending.delete(name);
  };
  return {
    known: (name) => answers.get(name)?.facts ?? undefined,
    async lookUp(names) {
      if (!ask) return;
      const due = names.filter((name) => (answers.get(name)?.until ?? -Infinity) <= now());
      const answered = due.map((name) => {
        const answer = pending.get(name) ?? begin(name, ask);
        pending.set(name, answer);
        return answer;
      });
      await waitAtMost(MOMENT_MS, Promise.all(answered));
    },
  };
}

async function askForFacts(name: string, server: AskServer): Promise<ServerModel | null> {
  try {
    return parseServerModel(await server(name, AbortSignal.timeout(TIMEOUT_MS)));
  } catch {
    return null;
  }
}

async function waitAtMost(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([done, late]);
  clearTimeout(timer);
}

type Fields = Readonly<Record<string, unknown>>;

/** Tokens. A window below the first, or a number above the second, is not believed. */
const LEAST_WINDOW = 1_000;
const MOST_WINDOW = 100_000_000;

/** Returns null for anything but an answer of the Models API. */
export function parseServerModel(answer: unknown): ServerModel | null {
  if (!isFields(answer) || answer['type'] !== 'model' || typeof answer['id'] !== 'string') return null;
  const window = parseTokens(answer['max_input_tokens'], LEAST_WINDOW);
  const maxOutput = parseTokens(answer['max_tokens'], 1);
  const retires =
    typeof answer['retires_at'] === 'string' ? /^\d{4}-\d\d-\d\d/.exec(answer['retires_at'])?.[0] : undefined;
  const capabilities = isFields(answer['capabilities']) ? answer['capabilities'] : {};
  const kinds = listSupported(valueAt(capabilities, 'thinking', 'types'), THINKING);
  const levels = listSupported(valueAt(capabilities, 'effort'), EFFORTS);
  const webSearch = valueAt(capabilities, 'server_tools', 'web_search', 'supported');
  return {
    ...(window !== undefined && { window }),
    ...(maxOutput !== undefined && { maxOutput }),
    ...(retires !== undefined && { retires }),
    ...(kinds.length > 0 && { kinds }),
    ...(levels.length > 0 && { levels }),
    ...(typeof webSearch === 'boolean' && { webSearch }),
    ...(typeof answer['lifecycle'] === 'string' && { lifecycle: answer['lifecycle'] }),
  };
}

const THINKING: readonly ThinkingKind[] = ['adaptive', 'enabled', 'disabled', 'between_tools'];
const EFFORTS: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/** Returns those names that the capability says it supports. */
function listSupported<Name extends string>(capability: unknown, names: readonly Name[]): readonly Name[] {
  if (!isFields(capability)) return [];
  return names.filter((name) => valueAt(capability, name, 'supported') === true);
}

function valueAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((part, key) => (isFields(part) ? part[key] : undefined), value);
}

function parseTokens(value: unknown, least: number): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= MOST_WINDOW
    ? Number(value)
    : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
