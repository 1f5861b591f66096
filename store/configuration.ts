// The configuration that a run works with from its first iteration to its last (L57, L58). It is
// stored once and referred to by its hash.
import { RecentMap } from '../system/recent-map.ts';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import type { Effort, Rules } from '../workflows/contract/loop.ts';
import type { SystemPart } from '../workflows/contract/activities.ts';
import type { PermissionMode, PermissionRules } from '../workflows/contract/session.ts';
import type { AgentFacts, QuerySource } from '../workflows/contract/facts.ts';
import type { PromptContext } from '../workflows/contract/prompt-context.ts';
import type { RunMount } from '../workflows/contract/mounts.ts';
import type { RosterAgent } from '../workflows/contract/roster.ts';
import type { Toolset } from '../workflows/contract/run-options.ts';
import type { RunServer } from '../workflows/contract/mcp-servers.ts';
import type { ToolEnv } from '../workflows/contract/tool-env.ts';
import type { OutsideTool } from '../workflows/contract/waits.ts';
import { StoreError, type Store, newerValue, findNewerVersion, parseStored } from './values/store.ts';
import type { SessionFiles } from './values/files.ts';
import type { ModelFacts } from './model-facts.ts';

/** A model as a run knows it. Window and maximum output are in tokens. */
export type RunModel = ModelFacts & { readonly name: string };

export type RunConfig = {
  readonly v: 1;
  readonly session: SessionId;
  /** Temporal's id of the session's first run, which is part of every call key (L40). */
  readonly chain: string;
  readonly run: number;
  /** Travels to tools, logs and traces with `depth`, which is 0 for a main agent (L13). */
  readonly queryId: string;
  readonly depth: number;
  /** The caller's span, as a W3C trace context (O15). */
  readonly traceparent?: string;
  /** How the prompt came that opened the run. */
  readonly querySource?: QuerySource;
  /** Present when the session is an agent's (L66). */
  readonly agent?: AgentFacts;
  /** The absolute real path of the workspace. */
  readonly cwd: string;
  readonly mode: PermissionMode;
  /** The rules of the caller and of the worker (L55). */
  readonly permissions?: PermissionRules;
  /** The names of the tools that the run was opened with (L57); absent: all. */
  readonly tools?: readonly string[];
  /** False keeps the workspace's instructions from the model (L78). */
  readonly instructions?: false;
  /** True gives the model the workspace's notes, and has it make new ones (L80). */
  readonly memory?: true;
  /** True has a prompt suggested after the run's natural end (L56). */
  readonly suggestPrompts?: true;
  /**
   * The caller's variables for tools; those of the worker's configuration are in its process alone.
   */
  readonly toolEnv?: ToolEnv;
  /** Parts of the system prompt that the caller gave by name (L58). */
  readonly systemContext?: PromptContext;
  readonly userContext?: PromptContext;
  /** The absolute real paths of further folders that tools may work in; absent: none. */
  readonly folders?: readonly string[];
  /** The primary model, then the fallbacks in order (L19). */
  readonly models: readonly [RunModel, ...RunModel[]];
  /** The model that makes summaries: compactions, collapses, batches (L9, L10, L42). */
  readonly smallModel: RunModel;
  /** The run was opened by a worker without a real model. */
  readonly scripted: boolean;
  /**
   * Tokens of extended thinking, where a model takes a number; null: as much as it thinks by itself
   * (L59).
   */
  readonly thinkingTokens: number | null;
  /** Absent: the model's own default (X2). */
  readonly effort?: Effort;
  /** Whether its folders are captured, as someone said; absent: as its workers do unless told. */
  readonly snapshots?: boolean;
  /** Tools whose calls somebody outside carries out (G53); absent: none. */
  readonly outsideTools?: readonly OutsideTool[];
  /** MCP servers of this session alone (G54); absent: none. */
  readonly mcpServers?: readonly RunServer[];
  /** The agents that calls of `agent` may start (G68); absent: the worker's types. */
  readonly roster?: readonly RosterAgent[];
  /** Folders below /mnt (G67). */
  readonly mounts?: readonly RunMount[];
  /** The self-hosted environment whose workers run some of these; absent: none does. */
  readonly environment?: string;
  /** The toolset whose inputs file and shell tools take (G51); absent: our own. */
  readonly toolset?: Toolset;
  /** Where the shell of a toolset begins: the folder that the run before it ended in (G51). */
  readonly dir?: string;
  /** Shell commands and `web_fetch` have no network. */
  readonly offline?: true;
  /** What the run's tools see below /mnt/session (G66); absent: nothing. */
  readonly sessionFiles?: SessionFiles;
  /** Tools under other names for the model (L89); absent: under our own. */
  readonly toolNames?: ToolNames;
  /**
   * Tokens of the definitions of MCP servers' tools: where there are more, the model finds what it
   * needs (L74). Absent: all are sent.
   */
  readonly deferAbove?: number;
  /** The API may search the web (L88); absent: it is not offered to. */
  readonly webSearch?: WebSearchSettings;
  /** The schema that the final answer must satisfy (L53). */
  readonly outputSchema: Readonly<Record<string, unknown>> | null;
  /** The caller's system prompt, system context and user context, joined (L58). */
  readonly system: string;
  /**
   * The same in parts, so that changes from run to run can be told apart. Absent in runs that were
   * opened by a version that only joined them.
   */
  readonly systemParts?: readonly SystemPart[];
  readonly backoff: Backoff;
  /**
   * Milliseconds until the first byte of a reply, after which an attempt is given up; absent in
   * runs of v0.1.0.
   */
  readonly firstByteMs?: number;
  /**
   * Milliseconds between two bytes of a reply, pings included, after which an attempt is given up.
   */
  readonly stallMs: number;
  /** Milliseconds of a whole request, after which an attempt is given up; absent: without limit. */
  readonly requestMs?: number;
  /** Further words by which a server refuses a request that is too long (L24). */
  readonly overflowWords?: readonly string[];
  /** Empty replies in a row before `model_error` (L15). */
  readonly maxEmptyReplies: number;
  readonly rules: Rules;
  /** The names of the hooks that the run needs wherever it goes on; absent without any. */
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
      /** Fields of its input that say nothing. */
      readonly ignored?: readonly string[];
      /** A field that may hold a list of questions, which become the tool's one question. */
      readonly questions?: string;
    }
  >
>;

/** By our name, the one that the model is offered a tool under. */
export type SentNames = Readonly<Record<string, string>>;

/**
 * By our name of a field. `also`: it is understood under these, too; `values`: words that stand in
 * it; `ignored`: fields that say nothing.
 */
export type FieldNames = {
  readonly [field: string]:
    | string
    | {
        readonly name: string;
        readonly also?: readonly string[];
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

/**
 * Returns a reader that reads each configuration once; they are immutable and small. It throws
 * StoreError.
 */
export function createConfigReader(store: Store, capacity = 256): ConfigReader {
  const cache = new RecentMap<Hash, RunConfig>(capacity);
  return async (hash) => {
    const cached = cache.get(hash);
    if (cached) return cached;
    const config = decodeConfig(await store.get(hash), hash);
    cache.set(hash, config);
    return config;
  };
}

function decodeConfig(bytes: Uint8Array, hash: Hash): RunConfig {
  const value = parseStored(bytes);
  const what = `run configuration ${hash}`;
  const newer = findNewerVersion(value);
  if (newer !== undefined) throw newerValue(what, newer);
  if ((value as Partial<RunConfig> | null | undefined)?.v !== 1) {
    throw new StoreError('corrupt', `${what} is none of version 1: restore it from a backup`);
  }
  return value as RunConfig;
}

/** How long to wait before the next attempt of a model call (L14). */
export type Backoff = {
  /** Failed attempts after which the call is given up: 10 retries. */
  readonly maxRetries: number;
  /** Milliseconds before the first retry; doubled each time up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** A longer wait that the provider asks for parks the session. */
  readonly parkOverMs: number;
};

export const defaultBackoff: Backoff = { maxRetries: 10, firstMs: 500, maxMs: 32_000, parkOverMs: 60_000 };

/**
 * Milliseconds. It leaves time for a cold start, or for a long prompt on a machine of one's own.
 */
export const FIRST_BYTE_MS = 600_000;

type WaitLimits = Pick<RunConfig, 'firstByteMs' | 'stallMs' | 'requestMs'>;

/** Returns how long a run waits for a model that says nothing, or does not come to an end. */
export function waitLimitsOf({ firstByteMs = FIRST_BYTE_MS, stallMs, requestMs }: WaitLimits) {
  return { firstByteMs, stallMs, ...(requestMs !== undefined && { requestMs }) };
}
