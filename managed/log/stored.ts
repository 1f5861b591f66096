// The items of the resource logs, and the logs of one store. Versions of agents never change, so a
// log names them by their hash and the bodies are values of the store.
import { randomBytes } from 'node:crypto';
import type { BetaManagedAgentsAgent } from '@anthropic-ai/sdk/resources/beta/agents';
import type { BetaManagedAgentsDeployment } from '@anthropic-ai/sdk/resources/beta/deployments';
import type { BetaManagedAgentsDeploymentRun } from '@anthropic-ai/sdk/resources/beta/deployment-runs';
import type { BetaEnvironment } from '@anthropic-ai/sdk/resources/beta/environments';
import type { BetaManagedAgentsMemoryStore } from '@anthropic-ai/sdk/resources/beta/memory-stores';
import type {
  BetaManagedAgentsMemoryStoreResource,
  BetaManagedAgentsSessionAgent,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { parseStored, StoreError } from '../../client/faces/sessions.ts';
import { Memories, MEMORY_STORES, ResourceLog, Skills } from '../../client/faces/stored.ts';
import type { Hash, MessageBody, Resources, SessionLabels, Store } from '../../client/faces/types.ts';
import { RecentMap } from '../../system/recent-map.ts';

/** The parts of an agent that a version fixes. */
export type AgentVersion = Omit<BetaManagedAgentsAgent, 'archived_at'>;

/** Times in milliseconds since the epoch; the newest version comes last. */
export type AgentItem = {
  readonly createdAt: number;
  readonly archivedAt: number | null;
  readonly versions: readonly Hash[];
};

export type EnvironmentItem = BetaEnvironment;

/** Times in milliseconds since the epoch. `agent`: hash of a BetaManagedAgentsSessionAgent. */
export type SessionItem = {
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly archivedAt: number | null;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly environment: string;
  readonly agentId: string;
  readonly agentVersion: number;
  readonly agent: Hash;
  /** Whether that differs from the one that the session's workflow began with (G27). */
  readonly hasNewAgent?: true;
  /** What is attached to the session; absent where nothing is. */
  readonly resources?: readonly BetaManagedAgentsMemoryStoreResource[];
  /** The vaults whose credentials its MCP servers get; absent without any. */
  readonly vaults?: readonly string[];
  /** Cents of US dollars (G69); absent without a budget. */
  readonly budget?: string;
  /**
   * Noted before the workflow starts, so that a workflow is found even if the server died before it
   * could note the start; absent before.
   */
  readonly isStarting?: true;
  /** The first changes of a session that has no transcript to hold them. */
  readonly updates?: readonly SessionUpdate[];
  /** Whether runs show attached files (G66); absent for sessions in sandboxes elsewhere. */
  readonly hasFiles?: true;
  /** By the session of each thread that was archived, when that was. */
  readonly archivedThreads?: Readonly<Record<string, number>>;
  /** The newest outcome that was sent: its event, and its description. */
  readonly outcome?: { readonly event: string; readonly description: MessageBody };
  /** The deployment that created the session; absent where a request did. */
  readonly deployment?: string;
  /** Whether a workflow was started: a session without messages has none (G3). */
  readonly isStarted: boolean;
};

/**
 * The changes of one request. `at`: milliseconds since the epoch. `budget`: cents; null without one.
 */
export type SessionUpdate = SessionLabels & { readonly at: number; readonly budget?: string | null };

export type MemoryStoreItem = Omit<BetaManagedAgentsMemoryStore, 'id' | 'type'>;

/** The parts of each session that a deployment creates. */
export type DeploymentConfig = Pick<
  BetaManagedAgentsDeployment,
  'agent' | 'environment_id' | 'initial_events' | 'resources' | 'budget' | 'vault_ids'
>;

export type RunError = NonNullable<BetaManagedAgentsDeploymentRun['error']>;

/** Times in milliseconds since the epoch. `config`: hash of a DeploymentConfig. */
export type DeploymentItem = {
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly archivedAt: number | null;
  readonly name: string;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly agentId: string;
  readonly config: Hash;
  readonly schedule: { readonly expression: string; readonly timezone: string } | null;
  /** Why nothing fires; null while the schedule does. */
  readonly paused: 'manual' | RunError['type'] | null;
  /** Firings up to this moment are claimed, or are left out. */
  readonly firedUntil: number;
  readonly lastRunAt: number | null;
};

/**
 * A run of a deployment, which is claimed before its session is created. `scheduledAt`: null for a
 * manual run.
 */
export type DeploymentRunItem = {
  readonly createdAt: number;
  readonly deployment: string;
  readonly agent: DeploymentConfig['agent'];
  readonly config: Hash;
  readonly scheduledAt: number | null;
  /** Absent until the run is over; null when its session has the first events. */
  readonly error?: RunError | null;
};

/** Hashes of the keys of a self-hosted environment. */
export type EnvironmentKeysItem = { readonly hashes: readonly string[] };

/** One log takes some 60 records a second on a folder, so sessions have sixteen. */
const SHARDS = 16;
/** Milliseconds for which lists reuse what was read. */
export const LIST_AGE_MS = 1_000;
const MOST_VALUES = 500;
/** Runs of deployments that are remembered, the newest. */
const MOST_RUNS = 10_000;
/** Memory stores whose memories are kept in mind. */
const MOST_OPEN_STORES = 100;

export class ManagedStore {
  readonly agents: ResourceLog<AgentItem>;
  readonly environments: ResourceLog<EnvironmentItem>;
  readonly environmentKeys: ResourceLog<EnvironmentKeysItem>;
  readonly memoryStores: ResourceLog<MemoryStoreItem>;
  readonly deployments: ResourceLog<DeploymentItem>;
  readonly deploymentRuns: ResourceLog<DeploymentRunItem>;
  readonly skills: Skills;
  readonly #sessions: readonly ResourceLog<SessionItem>[];
  readonly #memories = new RecentMap<string, Memories>(MOST_OPEN_STORES);
  readonly #store: Store;
  readonly #now: () => number;
  readonly #values = new RecentMap<Hash, unknown>(MOST_VALUES);
  #secret: Promise<Uint8Array> | undefined;

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
    this.agents = new ResourceLog({ store, name: 'agents', now });
    this.environments = new ResourceLog({ store, name: 'environments', now });
    this.environmentKeys = new ResourceLog({ store, name: 'environment-keys', now });
    this.skills = new Skills(store, now);
    this.memoryStores = new ResourceLog({ store, name: MEMORY_STORES, now });
    this.deployments = new ResourceLog({ store, name: 'deployments', now });
    this.deploymentRuns = new ResourceLog({ store, name: 'deployment-runs', now, forget: forgetRuns });
    this.#sessions = Array.from({ length: SHARDS }, (_, n) => new ResourceLog({ store, name: `sessions-${n}`, now }));
  }

  /** Returns the log that holds the session. */
  sessionLog(id: string): ResourceLog<SessionItem> {
    return this.#sessions[Number.parseInt(id.slice(-1), 36) % SHARDS]!;
  }

  /** Returns the memories of a store. */
  memories(id: string): Memories {
    const open = this.#memories.get(id) ?? new Memories({ store: this.#store, id, now: this.#now });
    this.#memories.set(id, open);
    return open;
  }

  async listSessions(maxAgeMs: number = LIST_AGE_MS): Promise<readonly (readonly [string, SessionItem])[]> {
    const shards: Resources<SessionItem>[] = await Promise.all(this.#sessions.map((log) => log.read(maxAgeMs)));
    return shards.flatMap((items) => [...items]);
  }

  async putVersion(version: AgentVersion): Promise<Hash> {
    return this.#put(version);
  }

  version(hash: Hash): Promise<AgentVersion> {
    return this.#get<AgentVersion>(hash);
  }

  async putSessionAgent(agent: BetaManagedAgentsSessionAgent): Promise<Hash> {
    return this.#put(agent);
  }

  sessionAgent(hash: Hash): Promise<BetaManagedAgentsSessionAgent> {
    return this.#get<BetaManagedAgentsSessionAgent>(hash);
  }

  async putDeployment(config: DeploymentConfig): Promise<Hash> {
    return this.#put(config);
  }

  deployment(hash: Hash): Promise<DeploymentConfig> {
    return this.#get<DeploymentConfig>(hash);
  }

  /** Returns the key that seals cursors; all servers of the store have the same. */
  secret(): Promise<Uint8Array> {
    return (this.#secret ??= this.#readSecret());
  }

  async #readSecret(): Promise<Uint8Array> {
    const key = 'managed/cursor-key';
    const known = await this.#store.read(key);
    if (known) return known;
    const bytes = randomBytes(32);
    const outcome = await this.#store.create(key, bytes);
    return outcome.kind === 'created' ? bytes : outcome.bytes;
  }

  #put(value: object): Promise<Hash> {
    return this.#store.put(Buffer.from(JSON.stringify(value)));
  }

  async #get<T>(hash: Hash): Promise<T> {
    const known = this.#values.get(hash);
    if (known !== undefined) return known as T;
    const value = parseStored(await this.#store.get(hash));
    if (value === undefined) throw new StoreError('corrupt', `stored value ${hash} is no JSON`);
    this.#values.set(hash, value);
    return value as T;
  }
}

/** The first of them are the oldest. */
const forgetRuns = (all: Resources<DeploymentRunItem>): readonly string[] =>
  all.size <= MOST_RUNS ? [] : [...all.keys()].slice(0, all.size - MOST_RUNS);
