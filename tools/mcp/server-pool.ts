// Connects to the MCP servers that runs bring (G54). Runs that give an address the same name share
// a connection, which ends when nothing has used it for a while.
import type { Log } from '../../system/log.ts';
import type { Network } from '../../system/network.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { reasonOf } from '../../system/text.ts';
import type { FoundCredential, Vaults } from '../../store/vaults/vaults.ts';
import type { RunServer, ServerToolConfig } from '../../workflows/contract/mcp-servers.ts';
import { toHost } from '../builtin/web/addresses.ts';
import type { FetchRules } from '../builtin/web/fetch-page.ts';
import { deriveRegistry, findServerName, type ToolRegistry } from '../registry.ts';
import type { PermissionDecision, Tool } from '../tool.ts';
import { KeptServer } from './keep-server.ts';
import { createLinkOpener } from './link.ts';
import type { ListedTool } from './list-tools.ts';
import {
  addServerTools,
  buildServerProcesses,
  collectInstructions,
  describeLeftOut,
  type ServerSurroundings,
} from './open-servers.ts';
import { createPublicFetch } from './public-fetch.ts';
import type { AwayServer } from './run-servers-port.ts';
import { createServerTool } from './server-tools.ts';
import {
  type HttpServer,
  type KnownServer,
  type KnownServers,
  type McpBounds,
  mcpBounds,
  type McpHeaders,
} from './servers.ts';
import type { ServerProcesses } from './stdio.ts';
import { findToken, type TokenMeans } from './vault-tokens.ts';

/** Servers that are found again. One that is forgotten ends as others do, when nothing uses it. */
const MOST_KEPT = 500;
/** Milliseconds without a use after which a connection ends. */
const IDLE_MS = 5 * 60_000;
/** Milliseconds for which a look into vaults is good enough between two replies. */
const LOOK_MS = 2_000;
const REMEDY = 'only the configuration of the worker can allow it ("managed.mcpServers")';

export type RunServersOptions = Omit<ServerSurroundings, 'network'> &
  Pick<FetchRules, 'lookup' | 'fakeIpRanges'> & {
    readonly known: KnownServers;
    readonly vaults: Vaults;
    readonly network?: Network | undefined;
    readonly log: Log;
    readonly bounds?: Partial<McpBounds>;
    /** Milliseconds without a use after which a connection ends. */
    readonly idleMs?: number;
  };

type Servers = readonly RunServer[];
type Built = { readonly kept: readonly KeptServer[]; readonly registry: ToolRegistry };

export class ServerPool {
  readonly #options: RunServersOptions;
  readonly #known: KnownServers;
  readonly #processes: ServerProcesses;
  readonly #kept = new RecentMap<string, KeptServer>(MOST_KEPT);
  /** The credential that vaults had for an address at the last look; null: none. */
  readonly #found = new RecentMap<string, FoundCredential | null>(MOST_KEPT);
  readonly #tokens: TokenMeans;
  readonly #built = new WeakMap<Servers, Map<ToolRegistry, Built>>();

  constructor(options: RunServersOptions) {
    this.#options = options;
    this.#known = Object.fromEntries(
      Object.entries(options.known).map(([url, server]) => [new URL(url).href, server] as const),
    );
    this.#processes = buildServerProcesses(options);
    const privateHosts = Object.keys(this.#known).map((url) => toHost(new URL(url)));
    const fetch = createPublicFetch({ ...options, privateHosts, remedy: REMEDY });
    this.#tokens = { vaults: options.vaults, fetch, now: Date.now };
  }

  /** Looks which credentials the vaults of runs have. Throws StoreError. */
  async look(servers: Servers, maxAgeMs = LOOK_MS): Promise<void> {
    await Promise.all(
      servers.map(async (server) => {
        if (!server.vaults?.length) return;
        const found = await this.#options.vaults.find(server.vaults, new URL(server.url).href, maxAgeMs);
        this.#found.set(lookOf(server), found);
      }),
    );
  }

  /** Looks into vaults again, and waits for lists, in bounds. Never throws. */
  async refresh(servers: Servers): Promise<void> {
    await this.look(servers, 0).catch((error: unknown) => {
      this.#options.log('warn', `vaults could not be read: ${reasonOf(error)}`);
    });
    await Promise.all(this.#find(servers).map((server) => server.refresh()));
  }

  /** Adds the tools of the run's servers, which take the place of others' with the same names. */
  registryOf(base: ToolRegistry, servers: Servers): ToolRegistry {
    const kept = this.#find(servers);
    const built = this.#built.get(servers) ?? new Map<ToolRegistry, Built>();
    const known = built.get(base);
    if (known?.kept.every((server, at) => server === kept[at])) return known.registry;
    const registry = this.#build(base, servers, kept);
    this.#built.set(servers, built.set(base, { kept, registry }));
    return registry;
  }

  instructions(servers: Servers, tools: readonly string[] | undefined): readonly string[] {
    return collectInstructions(this.#find(servers), tools);
  }

  leftOut(servers: Servers): readonly string[] {
    return this.#find(servers).flatMap(describeLeftOut);
  }

  away(servers: Servers): readonly AwayServer[] {
    return this.#find(servers).flatMap(({ name, away }) => {
      if (away === null) return [];
      return [{ server: name, detail: away.reason, unauthorized: away.unauthorized }];
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#kept.values()].map((server) => server.close()));
  }

  #build(base: ToolRegistry, servers: Servers, kept: readonly KeptServer[]): ToolRegistry {
    const own = new Map(servers.map((server) => [server.name, server]));
    const makeTools = (server: KeptServer, listed: readonly ListedTool[]): readonly Tool[] =>
      listed.flatMap((each) => createRunTool(server, each, own.get(server.name)) ?? []);
    const refresh = (): Promise<void> => this.refresh(servers);
    return addServerTools(withoutServers(base, own), kept, refresh, { makeTools, hasResources: false });
  }

  #find(servers: Servers): readonly KeptServer[] {
    return servers.map((brought) => {
      const { name, url, vaults = [] } = brought;
      const { href } = new URL(url);
      const found = vaults.length === 0 ? null : this.#found.get(lookOf(brought));
      // Two credentials never share a connection, nor do two versions of one.
      const login = found === undefined ? 'unread' : found ? `${found.id} ${found.item.version}` : '';
      const key = `${name} ${href} ${login}`;
      const server = this.#kept.get(key) ?? this.#open(name, href, found);
      this.#kept.set(key, server);
      return server;
    });
  }

  /** `found`: the credential that goes with requests; undefined while its vaults are unread. */
  #open(name: string, url: string, found: FoundCredential | null | undefined): KeptServer {
    const { log, network, lookup, fakeIpRanges, bounds: changed, idleMs = IDLE_MS } = this.#options;
    const known = Object.hasOwn(this.#known, url) ? this.#known[url] : undefined;
    const headers = found === null ? {} : { headers: this.#headersOf(known, found) };
    const server: HttpServer = { ...known, type: 'http', url, ...headers };
    const publicFetch = createPublicFetch({ network, lookup, fakeIpRanges, remedy: REMEDY });
    const reach = known ? network : { fetch: publicFetch as typeof fetch };
    const bounds = { ...mcpBounds, ...changed };
    return new KeptServer(name, server, {
      open: createLinkOpener(server, this.#processes, bounds, { network: reach, credential: found?.id }),
      bounds,
      log,
      idleMs,
    });
  }

  /** A credential goes before the headers of the worker's configuration. */
  #headersOf(known: KnownServer | undefined, found: FoundCredential | undefined) {
    return async (refused?: McpHeaders): Promise<McpHeaders> => {
      if (!found) throw new Error('the vaults of the session could not be read');
      const own = typeof known?.headers === 'function' ? await known.headers(refused) : known?.headers;
      const token = await findToken(this.#tokens, found, { refused: refused?.['authorization']?.slice(BEARER.length) });
      return { ...own, authorization: `${BEARER}${token}` };
    };
  }
}

const BEARER = 'Bearer ';

const lookOf = ({ url, vaults = [] }: RunServer): string => `${vaults.join(' ')} ${url}`;

/** Leaves out the tools of the worker's servers with these names. */
function withoutServers(base: ToolRegistry, names: ReadonlyMap<string, unknown>): ToolRegistry {
  const isHidden = (name: string): boolean => names.has(findServerName(name) ?? '');
  return deriveRegistry(
    base,
    (name) => (isHidden(name) ? undefined : base.get(name)),
    (all) => (all.some(({ name }) => isHidden(name)) ? all.filter(({ name }) => !isHidden(name)) : all),
  );
}

const DECISIONS: Readonly<Record<ServerToolConfig['policy'], PermissionDecision | null>> = {
  always_allow: { kind: 'allow' },
  always_ask: { kind: 'ask' },
  auto: null,
};

/** Returns null for a tool that is not enabled. */
function createRunTool(server: KeptServer, listed: ListedTool, run: RunServer | undefined): Tool | null {
  if (run === undefined) return null;
  const { enabled, policy } = Object.hasOwn(run.tools, listed.name) ? run.tools[listed.name]! : run.config;
  const decision = DECISIONS[policy];
  if (!enabled) return null;
  const tool = createServerTool(server, listed);
  return decision ? { ...tool, canUse: () => decision } : tool;
}
