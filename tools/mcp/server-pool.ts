// Connects to the MCP servers that runs bring (G54). Runs that give an address the same name share
// a connection, which ends when nothing has used it for a while.
import type { Log } from '../../system/log.ts';
import type { Network } from '../../system/network.ts';
import { RecentMap } from '../../system/recent-map.ts';
import type { RunServer, ServerToolConfig } from '../../workflows/contract/mcp-servers.ts';
import { type FetchRules, findRoute } from '../builtin/web/fetch-page.ts';
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
import { createServerTool } from './server-tools.ts';
import { type HttpServer, type KnownServers, type McpBounds, mcpBounds } from './servers.ts';
import type { ServerProcesses } from './stdio.ts';
import type { AwayServer } from './run-servers-port.ts';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { Readable } from 'node:stream';
import type { FetchLike } from '@modelcontextprotocol/client';
import { PrivateAddress } from '../builtin/web/addresses.ts';

/** Servers that are found again. One that is forgotten ends as others do, when nothing uses it. */
const MOST_KEPT = 500;
/** Milliseconds without a use after which a connection ends. */
const IDLE_MS = 5 * 60_000;

export type RunServersOptions = Omit<ServerSurroundings, 'network'> &
  Pick<FetchRules, 'lookup' | 'fakeIpRanges'> & {
    readonly known: KnownServers;
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
  readonly #built = new WeakMap<Servers, Map<ToolRegistry, Built>>();

  constructor(options: RunServersOptions) {
    this.#options = options;
    this.#known = Object.fromEntries(
      Object.entries(options.known).map(([url, server]) => [new URL(url).href, server] as const),
    );
    this.#processes = buildServerProcesses(options);
  }

  /** Waits for lists, in bounds. */
  async refresh(servers: Servers): Promise<void> {
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
    return servers.map(({ name, url }) => {
      const { href } = new URL(url);
      const key = `${name} ${href}`;
      const server = this.#kept.get(key) ?? this.#open(name, href);
      this.#kept.set(key, server);
      return server;
    });
  }

  #open(name: string, url: string): KeptServer {
    const { log, network, lookup, fakeIpRanges, bounds: changed, idleMs = IDLE_MS } = this.#options;
    const known = Object.hasOwn(this.#known, url) ? this.#known[url] : undefined;
    const server: HttpServer = { ...known, type: 'http', url };
    const reach = known ? network : { fetch: createPublicFetch({ network, lookup, fakeIpRanges }) as typeof fetch };
    const bounds = { ...mcpBounds, ...changed };
    return new KeptServer(name, server, {
      open: createLinkOpener(server, this.#processes, bounds, { network: reach }),
      bounds,
      log,
      idleMs,
    });
  }
}

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

/**
 * Fetches from the public internet alone (G54): as for web_fetch (L86), the address that is judged
 * is the one that is connected to. Follows no redirect. Throws TypeError as fetch does, with the
 * reason as its cause.
 */
function createPublicFetch(rules: Pick<FetchRules, 'fakeIpRanges' | 'lookup' | 'network'>): FetchLike {
  return async (input, init = {}) => {
    const url = new URL(input);
    try {
      const route = await findRoute(url, { ...rules, privateHosts: [] });
      if (route.kind === 'proxy') return await route.fetch(url, { ...init, redirect: 'manual' });
      return await send(url, init, route.options);
    } catch (error) {
      if (init.signal?.aborted === true) throw error;
      throw toFetchError(error);
    }
  };
}

function toFetchError(error: unknown): TypeError {
  if (!(error instanceof PrivateAddress)) return new TypeError('fetch failed', { cause: error });
  const allowed = 'only the configuration of the worker can allow it ("managed.mcpServers")';
  return new TypeError('fetch failed', { cause: new Error(`${error.message}: ${allowed}`, { cause: error }) });
}

/** Sends on a connection of its own: a kept one was judged for another request. */
function send(url: URL, { method, headers, body, signal }: RequestInit, options: RequestOptions): Promise<Response> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const how = { ...options, method, headers: Object.fromEntries(new Headers(headers)), agent: false };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, signal ? { ...how, signal } : how);
    outgoing.once('response', (answer) => resolve(readResponse(answer))).on('error', reject);
    outgoing.end(body);
  });
}

/** Rejects for a status or a header that no Response can have. */
async function readResponse(answer: IncomingMessage): Promise<Response> {
  try {
    return toResponse(answer);
  } catch (error) {
    answer.destroy();
    throw error;
  }
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

function toResponse(answer: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = '' } = answer;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(answer.headersDistinct))
    for (const value of values) headers.append(name, value);
  const hasBody = !WITHOUT_BODY.has(status);
  if (!hasBody) answer.resume();
  const body = hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null;
  return new Response(body, { status, statusText, headers });
}
