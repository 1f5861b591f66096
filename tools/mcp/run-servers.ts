// The MCP servers that runs bring (G54), as activities see them. What connects to servers is loaded
// with the first run that has some.
import type { RunServer } from '../../workflows/contract/mcp-servers.ts';
import type { FetchRules } from '../builtin/web/fetch-page.ts';
import type { ServerSurroundings } from './open-servers.ts';
import type { ServerPool } from './server-pool.ts';
import type { HttpServer, McpBounds } from './servers.ts';
import type { ToolRegistry } from '../registry.ts';
import type { Log } from '../../system/log.ts';
import type { Network } from '../../system/network.ts';

/** What a worker's configuration says of a server that a session may name. */
export type KnownServer = Pick<
  HttpServer,
  'headers' | 'trusted' | 'timeoutMs' | 'progressTimeoutMs' | 'connectTimeoutMs'
>;

/** By address. One that is known is connected to wherever it leads; others in public alone. */
export type KnownServers = Readonly<Record<string, KnownServer>>;

export type RunServersOptions = Omit<ServerSurroundings, 'network'> &
  Pick<FetchRules, 'lookup' | 'fakeIpRanges'> & {
    readonly known: KnownServers;
    readonly network?: Network | undefined;
    readonly log: Log;
    readonly bounds?: Partial<McpBounds>;
    /** Milliseconds without a use after which a connection ends. */
    readonly idleMs?: number;
  };

/** A server that cannot be reached. `detail` is the end of a sentence. */
export type AwayServer = { readonly server: string; readonly detail: string; readonly unauthorized: boolean };

type Servers = readonly RunServer[] | undefined;

export type RunServers = {
  /** Loads what `registryOf` needs for these servers. */
  load(servers: Servers): Promise<void>;
  /** Connects, and waits for lists of tools, in bounds. Never throws. */
  refresh(servers: Servers): Promise<void>;
  /** Returns the same registry as long as neither the base nor the servers are others. */
  registryOf(base: ToolRegistry, servers: Servers): ToolRegistry;
  /** Returns the instructions of servers that have a tool in the list. */
  instructions(servers: Servers, tools: readonly string[] | undefined): readonly string[];
  /** Returns a sentence for each server that has left out tools. */
  leftOut(servers: Servers): readonly string[];
  away(servers: Servers): readonly AwayServer[];
  close(): Promise<void>;
};

export function createRunServers(options: RunServersOptions): RunServers {
  let loading: Promise<ServerPool> | undefined;
  let pool: ServerPool | undefined;
  const open = async (): Promise<ServerPool> => {
    const { ServerPool } = await import('./server-pool.ts');
    return (pool = new ServerPool(options));
  };
  const load = (): Promise<ServerPool> => (loading ??= open());
  return {
    load: async (servers) => void (servers && (await load())),
    refresh: async (servers) => void (servers && (await (await load()).refresh(servers))),
    registryOf: (base, servers) => (servers && pool ? pool.registryOf(base, servers) : base),
    instructions: (servers, tools) => (servers && pool?.instructions(servers, tools)) ?? [],
    leftOut: (servers) => (servers && pool?.leftOut(servers)) ?? [],
    away: (servers) => (servers && pool?.away(servers)) ?? [],
    close: async () => await (await loading)?.close(),
  };
}
