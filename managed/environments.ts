// Environments: where tools run. `cloud` is this deployment's workers (G73), `self_hosted` is the
// customer's own (G74); `env_default` always exists.
import type { z } from 'zod';
import type { BetaCloudConfig, BetaEnvironment } from '@anthropic-ai/sdk/resources/beta/environments';
import { conflict, invalid, notFound, unsupported } from './errors.ts';
import { formatTime } from './ids.ts';
import { LIST_AGE_MS, type ManagedStore } from './log/stored.ts';
import { placeOfDated } from './pages.ts';
import type { EnvironmentConfig, environmentCreate, environmentUpdate } from './shapes/environments.ts';
import { patchMetadata } from './shapes/parse.ts';

export const DEFAULT_ENVIRONMENT = 'env_default';

const noPackages = { type: 'packages' as const, apt: [], cargo: [], gem: [], go: [], npm: [], pip: [] };
type Networking = BetaCloudConfig['networking'];

const UNRESTRICTED: Networking = { type: 'unrestricted' };

const limitNetworking = (allow_mcp_servers: boolean): Networking => ({
  type: 'limited',
  allow_mcp_servers,
  allow_package_managers: false,
  allowed_hosts: [],
});

const cloud = (networking: Networking): BetaCloudConfig => ({ type: 'cloud', networking, packages: noPackages });

const builtIn: BetaEnvironment = {
  id: DEFAULT_ENVIRONMENT,
  type: 'environment',
  name: 'default',
  description: 'The workers of this deployment.',
  config: cloud(UNRESTRICTED),
  metadata: {},
  scope: 'organization',
  archived_at: null,
  created_at: formatTime(0),
  updated_at: formatTime(0),
};

/**
 * Refuses by name what a worker here would not enforce; what a change leaves out stays. Throws
 * ManagedError.
 */
function resolveConfig(
  config: EnvironmentConfig | null | undefined,
  current: BetaEnvironment['config'],
): BetaEnvironment['config'] {
  if (!config) return current;
  if (config.type === 'self_hosted') return { type: 'self_hosted' };
  const { networking } = config;
  const { type: _, ...lists } = config.packages ?? {};
  if (Object.values(lists).some((list) => list && list.length > 0))
    throw invalid('config.packages: install packages on the workers', 'config.packages', 'packages_not_supported');
  return cloud(
    networking ? resolveNetworking(networking) : current.type === 'cloud' ? current.networking : UNRESTRICTED,
  );
}

function resolveNetworking(networking: Limited | { readonly type: 'unrestricted' }): Networking {
  if (networking.type === 'unrestricted') return UNRESTRICTED;
  refuseExceptions(networking);
  return limitNetworking(networking.allow_mcp_servers ?? false);
}

type Limited = Extract<NonNullable<Extract<EnvironmentConfig, { type: 'cloud' }>['networking']>, { type: 'limited' }>;

/** Hosts cannot be let through one by one: a network is limited to none. */
function refuseExceptions({ allowed_hosts, allow_package_managers }: Limited): void {
  const why = 'a limited network is no network here: use unrestricted, or leave it out';
  if (allowed_hosts?.length) throw unsupported('config.networking.allowed_hosts', why);
  if (allow_package_managers) throw unsupported('config.networking.allow_package_managers', why);
}

/** Tells whether commands of its sessions have no network. */
export const isOffline = (config: BetaEnvironment['config']): boolean =>
  config.type === 'cloud' && config.networking.type === 'limited';

/** Tells whether its sessions reach the MCP servers of their agents. */
export const reachesServers = (config: BetaEnvironment['config']): boolean =>
  !(config.type === 'cloud' && config.networking.type === 'limited') || config.networking.allow_mcp_servers;

/** Throws ManagedError where sessions would not reach the MCP servers of their agent. */
export function refuseWithoutServers({ id, config }: BetaEnvironment): void {
  if (reachesServers(config)) return;
  const why = `environment ${id} has no network and the agent has MCP servers: allow_mcp_servers lets sessions reach these`;
  throw invalid(`environment_id: ${why}`, 'environment_id', 'mcp_egress_blocked');
}

function refuseScope(scope: string | null | undefined): void {
  if (scope === 'account') throw unsupported('scope', 'only "organization" is served');
}

export class Environments {
  readonly #stored: ManagedStore;
  readonly #now: () => number;

  constructor(stored: ManagedStore, now: () => number) {
    this.#stored = stored;
    this.#now = now;
  }

  /** A repeated request with the same `id` creates nothing new. Throws 404 once it was deleted. */
  async create(id: string, by: string, body: z.output<typeof environmentCreate>): Promise<BetaEnvironment> {
    refuseScope(body.scope);
    const at = formatTime(this.#now());
    const item: BetaEnvironment = {
      ...builtIn,
      id,
      name: body.name,
      description: body.description ?? null,
      config: resolveConfig(body.config, builtIn.config),
      metadata: body.metadata ?? {},
      created_at: at,
      updated_at: at,
    };
    await this.#stored.environments.append(by, (all, deleted) => {
      if (deleted.has(id)) throw missing(id);
      return all.has(id) ? null : { id, item };
    });
    return this.retrieve(id);
  }

  async retrieve(id: string): Promise<BetaEnvironment> {
    if (id === DEFAULT_ENVIRONMENT) return builtIn;
    const found = (await this.#stored.environments.read()).get(id);
    if (!found) throw missing(id);
    return found;
  }

  /** Returns an environment for new sessions. Throws ManagedError. */
  async requireOpen(id: string): Promise<BetaEnvironment> {
    const found = await this.retrieve(id);
    if (found.archived_at === null) return found;
    throw invalid(`environment_id: environment ${found.id} is archived`, 'environment_id', 'environment_archived');
  }

  update(id: string, by: string, body: z.output<typeof environmentUpdate>): Promise<BetaEnvironment> {
    refuseScope(body.scope);
    return this.#change(id, by, (item) => {
      if (item.archived_at !== null)
        throw invalid(`Environment ${id} is archived and cannot be changed`, undefined, 'environment_archived');
      const cleared = Object.entries(body.metadata ?? {}).map(([key, value]) => [key, value === '' ? null : value]);
      return {
        ...item,
        ...(body.name && { name: body.name }),
        ...(body.description !== undefined && { description: body.description }),
        config: resolveConfig(body.config, item.config),
        metadata: patchMetadata(item.metadata, Object.fromEntries(cleared) as Record<string, string | null>),
        updated_at: formatTime(this.#now()),
      };
    });
  }

  archive(id: string, by: string): Promise<BetaEnvironment> {
    return this.#change(id, by, (item) => {
      const at = formatTime(this.#now());
      return item.archived_at === null ? { ...item, archived_at: at, updated_at: at } : item;
    });
  }

  /** Throws ManagedError 409 while a session that is not archived works in it. */
  async delete(id: string, by: string): Promise<void> {
    refuseBuiltIn(id);
    const sessions = await this.#stored.listSessions(0);
    const live = sessions.find(([, item]) => item.environment === id && item.archivedAt === null);
    if (live) throw conflict('environment_in_use', `session ${live[0]} uses environment ${id}: archive it first`);
    await this.#stored.environments.append(by, (all) => {
      if (!all.has(id)) throw missing(id);
      return { id, item: null };
    });
  }

  /** Lists environments, newest first. */
  async list(includeArchived: boolean): Promise<readonly BetaEnvironment[]> {
    const stored = [...(await this.#stored.environments.read(LIST_AGE_MS)).values()];
    return [builtIn, ...stored]
      .filter(({ archived_at }) => includeArchived || archived_at === null)
      .toSorted((a, b) => (placeOfDated(a) < placeOfDated(b) ? 1 : -1));
  }

  async #change(id: string, by: string, change: (item: BetaEnvironment) => BetaEnvironment): Promise<BetaEnvironment> {
    refuseBuiltIn(id);
    await this.#stored.environments.append(by, (all) => {
      const item = all.get(id);
      if (!item) throw missing(id);
      const next = change(item);
      return next === item ? null : { id, item: next };
    });
    return this.retrieve(id);
  }
}

const missing = (id: string) => notFound('Environment', id, 'environment_not_found');

function refuseBuiltIn(id: string): void {
  if (id === DEFAULT_ENVIRONMENT) throw invalid(`${id} is built in: it can be neither changed nor deleted`);
}
