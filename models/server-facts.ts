// What the server itself says of a model (X1), by the Models API: asked once a day, and never
// waited for longer than a moment. A server without it, a refusal or a foreign answer say nothing.
import type { ModelFacts, ThinkingKind } from '../store/model-facts.ts';
import type { Effort } from '../workflows/contract/loop.ts';

/** What a server knows of a model by its name, as JSON; throws what its client throws. */
export type AskServer = (name: string, signal: AbortSignal) => Promise<unknown>;

/** Milliseconds for which an answer holds, and for which a failure does. */
const DAY_MS = 24 * 3_600_000;
const AGAIN_MS = 10 * 60_000;
/** Milliseconds: a run opens without what takes longer, and the next one has it. */
const MOMENT_MS = 1_500;
const TIMEOUT_MS = 10_000;
const MOST_MODELS = 200;

export type ServerModel = Partial<Pick<ModelFacts, 'window' | 'maxOutput' | 'retires'>> & {
  readonly kinds?: readonly ThinkingKind[];
  readonly levels?: readonly Effort[];
  readonly lifecycle?: string;
};

export type ServerFacts = {
  /** Of the last answer, while it holds. */
  known(name: string): ServerModel | undefined;
  /** Never throws. */
  lookUp(names: readonly string[]): Promise<void>;
};

type Answer = { readonly facts: ServerModel | null; readonly until: number };

export function serverFacts(ask: AskServer | undefined, now: () => number = () => performance.now()): ServerFacts {
  const answers = new Map<string, Answer>();
  const asked = new Map<string, Promise<void>>();
  const begin = async (name: string, server: AskServer): Promise<void> => {
    const facts = await askedFacts(name, server);
    // Whoever names models without end shall not fill the memory.
    if (answers.size >= MOST_MODELS) answers.clear();
    answers.set(name, { facts, until: now() + (facts === null ? AGAIN_MS : DAY_MS) });
    asked.delete(name);
  };
  return {
    known: (name) => answers.get(name)?.facts ?? undefined,
    async lookUp(names) {
      if (!ask) return;
      const due = names.filter((name) => (answers.get(name)?.until ?? -Infinity) <= now());
      const answered = due.map((name) => {
        const answer = asked.get(name) ?? begin(name, ask);
        asked.set(name, answer);
        return answer;
      });
      await within(MOMENT_MS, Promise.all(answered));
    },
  };
}

async function askedFacts(name: string, server: AskServer): Promise<ServerModel | null> {
  try {
    return factsIn(await server(name, AbortSignal.timeout(TIMEOUT_MS)));
  } catch {
    return null;
  }
}

async function within(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([done, late]);
  clearTimeout(timer);
}

type Fields = Readonly<Record<string, unknown>>;

/** Tokens: a window below this, or a maximum above it, is no such number. */
const LEAST_WINDOW = 1_000;
const MOST_WINDOW = 100_000_000;

/** Null for what is not an answer of the Models API. */
export function factsIn(answer: unknown): ServerModel | null {
  if (!isFields(answer) || answer['type'] !== 'model' || typeof answer['id'] !== 'string') return null;
  const window = tokens(answer['max_input_tokens'], LEAST_WINDOW);
  const maxOutput = tokens(answer['max_tokens'], 1);
  const retires =
    typeof answer['retires_at'] === 'string' ? /^\d{4}-\d\d-\d\d/.exec(answer['retires_at'])?.[0] : undefined;
  const capabilities = isFields(answer['capabilities']) ? answer['capabilities'] : {};
  const kinds = supported(nested(capabilities, 'thinking', 'types'), THINKING);
  const levels = supported(nested(capabilities, 'effort'), EFFORTS);
  return {
    ...(window !== undefined && { window }),
    ...(maxOutput !== undefined && { maxOutput }),
    ...(retires !== undefined && { retires }),
    ...(kinds.length > 0 && { kinds }),
    ...(levels.length > 0 && { levels }),
    ...(typeof answer['lifecycle'] === 'string' && { lifecycle: answer['lifecycle'] }),
  };
}

const THINKING: readonly ThinkingKind[] = ['adaptive', 'enabled', 'disabled', 'between_tools'];
const EFFORTS: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/** Those that it says it supports. */
function supported<Name extends string>(capability: unknown, names: readonly Name[]): readonly Name[] {
  if (!isFields(capability)) return [];
  return names.filter((name) => nested(capability, name, 'supported') === true);
}

function nested(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((part, key) => (isFields(part) ? part[key] : undefined), value);
}

function tokens(value: unknown, least: number): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= MOST_WINDOW
    ? Number(value)
    : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
