// The MCP servers that runs bring (G54), as activities see them. What connects to servers is loaded
// with the first run that has some.
import type { RunServer } from '../../workflows/contract/mcp-servers.ts';
import type { ToolRegistry } from '../registry.ts';
import type { AwayServer, RunServersOptions, ServerPool } from './server-pool.ts';

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
    refresh: async (servers) => {
      if (servers) await (await load()).refresh(servers);
    },
    registryOf: (base, servers) => (servers && pool ? pool.registryOf(base, servers) : base),
    instructions: (servers, tools) => (servers && pool?.instructions(servers, tools)) ?? [],
    leftOut: (servers) => (servers && pool?.leftOut(servers)) ?? [],
    away: (servers) => (servers && pool?.away(servers)) ?? [],
    close: async () => await (await loading)?.close(),
  };
}
