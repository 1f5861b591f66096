// The snapshot a run works with from its first iteration to its last (L57, L58): stored once,
// referred to by hash.
import type { JsonSchema } from '../system/schema/json-schema.ts';
import { RecentMap } from '../system/recent-map.ts';
import { wellFormedText } from '../system/text.ts';
import type { Reach } from '../system/process/places.ts';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import type { Effort, Rules, Price } from '../workflows/contract/loop.ts';
import type { SystemPart } from '../workflows/contract/activities.ts';
import type { PermissionMode, PermissionRules } from '../workflows/contract/session.ts';
import type { AgentFacts, QuerySource } from '../workflows/contract/facts.ts';
import type { ToolEnv } from '../workflows/contract/tool-env.ts';
import { StoreError, type Store, newerValue, newerVersion, parseStored } from './values/store.ts';

/** A model as a run knows it. Window and maximum output in tokens. */
export type RunModel = ModelFacts & { readonly name: string };

export type RunConfig = {
  readonly v: 1;
  readonly session: SessionId;
  /** Temporal's id of the session's first run; part of every call key (L40). */
  readonly chain: string;
  readonly run: number;
  /** Travels to tools, logs and traces with `depth`, 0 for a main agent (L13). */
  readonly queryId: string;
  readonly depth: number;
  /** Its caller's span, by its W3C trace context (O15). */
  readonly traceparent?: string;
  /** How the prompt came that opened it. */
  readonly querySource?: QuerySource;
  /** The session is an agent's (L66). */
  readonly agent?: AgentFacts;
  /** Absolute real path of the workspace. */
  readonly cwd: string;
  readonly mode: PermissionMode;
  /** The caller's and the worker's (L55). */
  readonly permissions?: PermissionRules;
  /** The tools that the run was opened with, by name (L57); absent: all. */
  readonly tools?: readonly string[];
  /** Those of the workspace are not told to the model (L78); absent: they are. */
  readonly instructions?: false;
  /** Notes of the workspace are told and made (L80); absent: they are not. */
  readonly memory?: true;
  /** After its natural end a prompt is suggested (L56); absent: none is. */
  readonly suggestPrompts?: true;
  /**
   * The caller's variables for tools; those of the worker's configuration are in its process alone.
   */
  readonly toolEnv?: ToolEnv;
  /**
   * Absolute real paths of the folders besides the workspace that tools may work in; absent: none.
   */
  readonly folders?: readonly string[];
  /** The primary, then the fallbacks in order (L19). */
  readonly models: readonly [RunModel, ...RunModel[]];
  /** Makes summaries: compactions, collapses, batches (L9, L10, L42). */
  readonly smallModel: RunModel;
  /** The run was opened by a worker without a real model. */
  readonly scripted: boolean;
  /**
   * Tokens of extended thinking, where a model takes a number; null: as much as it thinks by itself
   * (L59).
   */
  readonly thinkingTokens: number | null;
  /** Absent: the model's own (X2). */
  readonly effort?: Effort;
  /** Tools under other names for the model (L89); absent: under our own. */
  readonly toolNames?: ToolNames;
  /** The API may search the web (L88); absent: it is not offered to. */
  readonly webSearch?: WebSearchSettings;
  /** The schema that the final answer must satisfy (L53). */
  readonly outputSchema: Readonly<Record<string, unknown>> | null;
  /** Caller's, system context and user context, joined (L58). */
  readonly system: string;
  /**
   * The same in parts, so that what changes from run to run can be told apart. Absent: opened by a
   * version that joined them alone.
   */
  readonly systemParts?: readonly SystemPart[];
  readonly backoff: Backoff;
  /**
   * Milliseconds until the first byte of a reply, before an attempt is given up; absent in runs of
   * v0.1.0.
   */
  readonly firstByteMs?: number;
  /** Milliseconds between two bytes of a reply, pings too, before an attempt is given up. */
  readonly stallMs: number;
  /**
   * Milliseconds of a whole request, before an attempt is given up; absent: as long as it takes.
   */
  readonly requestMs?: number;
  /** What the server says of a request that is too long, beside what is known (L24). */
  readonly overflowWords?: readonly string[];
  /** Empty replies in a row before `model_error` (L15). */
  readonly maxEmptyReplies: number;
  readonly rules: Rules;
  /** Those it has to find wherever it goes on; absent without any. */
  readonly hooks?: readonly string[];
};

/** By our name of a tool. */
export type ToolNames = Readonly<
  Record<
    string,
    {
      /** The model is offered the tool under it. */
      readonly name: string;
      /** It is understood under these, too. */
      readonly also?: readonly string[];
      /** Fields of its input that are understood under other names, too. */
      readonly fields?: FieldNames;
    }
  >
>;

/** By our name, the one that the model is offered a tool under. */
export type SentNames = Readonly<Record<string, string>>;

/** By our name of a field. `values`: words that stand in it; `ignored`: fields that say nothing. */
export type FieldNames = {
  readonly [field: string]:
    | string
    | {
        readonly name: string;
        readonly fields?: FieldNames;
        readonly values?: Readonly<Record<string, string>>;
        readonly ignored?: readonly string[];
      };
};

/** How searches of the web are bounded. */
export type WebSearchSettings = {
  /** In one request to the model. */
  readonly maxUses?: number;
  /** Hosts, perhaps with the beginning of a path. Results come from these alone. */
  readonly allowedDomains?: readonly string[];
  /** Results never come from these. */
  readonly blockedDomains?: readonly string[];
  /** Where results are to fit. */
  readonly userLocation?: {
    readonly city?: string;
    readonly region?: string;
    readonly country?: string;
    readonly timezone?: string;
  };
};

export type ConfigReader = (hash: Hash) => Promise<RunConfig>;

/** Reads each configuration once; they are immutable and small. Throws StoreError. */
export function configReader(store: Store, kept = 256): ConfigReader {
  const cache = new RecentMap<Hash, RunConfig>(kept);
  return async (hash) => {
    const cached = cache.get(hash);
    if (cached) return cached;
    const config = decode(await store.get(hash), hash);
    cache.set(hash, config);
    return config;
  };
}

function decode(bytes: Uint8Array, hash: Hash): RunConfig {
  const value = parseStored(bytes);
  const what = `run configuration ${hash}`;
  const newer = newerVersion(value);
  if (newer !== undefined) throw newerValue(what, newer);
  if ((value as Partial<RunConfig> | null | undefined)?.v !== 1) {
    throw new StoreError('corrupt', `${what} is none of version 1: restore it from a backup`);
  }
  return value as RunConfig;
}

// The system prompt of a run (L58): the caller's, then the system's context. Made once when the run
// opens and fixed for it, so that the prompt cache holds.

export const DEFAULT_SYSTEM_PROMPT = [
  'You are an agent that completes tasks in a workspace, using the tools you are given.',
  'Work step by step: look before you change, prefer the file tools to shell commands, and check what you did.',
  'Independent reads may go in one reply: they run together. When the task is done, say what you did in a few sentences.',
  'A tool result that says its outcome is unknown means that the effect may or may not have happened: check before repeating it.',
].join('\n');

type Context = Reach & {
  /** Of MCP servers, about their tools (L74). */
  readonly instructions?: readonly string[];
  /** What hooks said at the start of the session, each as the model is told it. */
  readonly added?: readonly string[];
};

/**
 * `at` in milliseconds since the epoch. `schema`: what the final answer must satisfy (L53). What
 * may differ from run to run is a part of its own: later runs of the session are told that part
 * alone.
 */
export function systemPrompt(
  callers: string,
  context: Context,
  at: number,
  schema?: JsonSchema,
): readonly SystemPart[] {
  const { cwd, folders = [], instructions = [], added = [] } = context;
  const facts = [
    `Workspace: ${cwd}`,
    ...(folders.length === 0 ? [] : [`Other folders you may work in, by absolute path: ${folders.join(', ')}`]),
    `Platform: ${process.platform}`,
  ];
  const parts = [
    { name: 'the instructions', text: callers.trim() },
    { name: 'the workspace', text: facts.join('\n') },
    { name: 'the date', text: `Date when this run started: ${new Date(at).toISOString().slice(0, 10)}` },
    { name: MCP_SAID, text: instructions.join('\n\n') },
    { name: 'the rule for the final answer', text: schema === undefined ? '' : answerRule(schema) },
    { name: HOOKS_ADDED, text: added.join('\n\n') },
  ];
  // One lone surrogate makes every request of the run unreadable (L58).
  return parts.filter(({ text }) => text !== '').map(({ name, text }) => ({ name, text: wellFormedText(text) }));
}

const MCP_SAID = 'what MCP servers say';
const HOOKS_ADDED = 'what hooks added';

export function systemPartsOf({ systemParts, system }: RunConfig): readonly SystemPart[] {
  const parts = systemParts ?? [{ name: 'the instructions', text: system }];
  return parts.map((part) => (part.name === MCP_SAID || part.name === HOOKS_ADDED ? { ...part, foreign: true } : part));
}

function answerRule(schema: JsonSchema): string {
  return [
    'Your final answer, the reply in which you call no tool, must be exactly one JSON value that satisfies the JSON schema below:',
    'no words before or after it.',
    JSON.stringify(schema),
  ].join('\n');
}

// What a run knows of a model (X1): a part of its snapshot. What is absent is not known, or was not
// when the run opened.

/** How a request may ask for thinking. */
export type ThinkingKind = 'adaptive' | 'enabled' | 'disabled' | 'between_tools';

/**
 * Window and maximum output in tokens; prices in US dollars per million tokens, null when they are
 * not known.
 */
export type ModelFacts = {
  readonly window: number;
  readonly maxOutput: number;
  readonly price: Price | null;
  /** Nobody knows this model: its window and its maximum are what such a model has at least. */
  readonly assumed?: true;
  /** `byDefault`: it thinks where a request says nothing of it. */
  readonly thinking?: { readonly kinds: readonly ThinkingKind[]; readonly byDefault: boolean };
  readonly effort?: { readonly levels: readonly Effort[]; readonly byDefault: Effort };
  /**
   * Its thinking is bound to what stood before it: the system prompt, the tools, every earlier
   * message.
   */
  readonly checksPrefix?: boolean;
  /**
   * The models, by their base names, whose thinking it reads beside its own. Absent: none that is
   * documented.
   */
  readonly reads?: readonly string[];
  /** Messages of the role system may stand between others. */
  readonly systemMessages?: boolean;
  /**
   * Tools may come and go in messages: with their definitions, or only those that the request
   * declares.
   */
  readonly toolChanges?: 'inline' | 'references';
  /** The API itself summarises its conversations on demand. */
  readonly compaction?: boolean;
  /** The API itself searches the web for it. */
  readonly webSearch?: boolean;
  /** Tokens below which nothing is cached. */
  readonly minCacheable?: number;
  /** The day of its end, as YYYY-MM-DD. */
  readonly retires?: string;
};

/**
 * By prefix of a name, the longest that fits wins: what is said of it goes before what is known
 * otherwise.
 */
export type ModelTable = Readonly<Record<string, Partial<ModelFacts>>>;

/** What is known of models, and which of them a name means (X1, X2). */
export type Models = {
  /** The name that is sent for one that a person wrote; a sentence for one that is no model. */
  find(name: string): FoundModel;
  /** `name`: as it is sent. */
  facts(name: string): ModelFacts;
  /** Asks the server about them, at most once a day, and waits but a moment. Never throws. */
  lookUp(names: readonly string[]): Promise<void>;
  /** The server has said how much fits, in tokens. */
  learn(name: string, window: number): void;
  /** The server has no such model, or not for this account. True when that is news. */
  lose(name: string): boolean;
  /** It was lost, a while ago at most. */
  isLost(name: string): boolean;
  /**
   * Its server does not know this field of a request, for as long as the worker lives. True when
   * that is news.
   */
  refuse(name: string, field: string): boolean;
  isRefused(name: string, field: string): boolean;
};

export type FoundModel = { readonly name: string } | { readonly problem: string };

/** How long to wait before the next attempt of a model call (L14). */
export type Backoff = {
  /** Failed attempts after which the call is given up: 10 retries. */
  readonly maxRetries: number;
  /** Milliseconds before the first retry; doubled each time up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** A longer wait asked for by the provider parks the session. */
  readonly parkOverMs: number;
};

export const defaultBackoff: Backoff = { maxRetries: 10, firstMs: 500, maxMs: 32_000, parkOverMs: 60_000 };

/** Milliseconds: a cold start, or a long prompt on a machine of one's own. */
export const FIRST_BYTE_MS = 600_000;

type Patience = Pick<RunConfig, 'firstByteMs' | 'stallMs' | 'requestMs'>;

/** How long a run waits for a model that says nothing, or does not come to an end. */
export function patience({ firstByteMs = FIRST_BYTE_MS, stallMs, requestMs }: Patience) {
  return { firstByteMs, stallMs, ...(requestMs !== undefined && { requestMs }) };
}
