// Opens the MCP servers that runs bring (G54). The code that connects to servers is loaded with the
// first run that has some.
import type { RunServers } from './run-servers-port.ts';
import type { RunServersOptions, ServerPool } from './server-pool.ts';

export function createRunServers(options: RunServersOptions): RunServers {
  let loading: Promise<ServerPool> | undefined;
  let pool: ServerPool | undefined;
  const open = async (): Promise<ServerPool> => {
    const { ServerPool } = await import('./server-pool.ts');
    return (pool = new ServerPool(options));
  };
  const load = (): Promise<ServerPool> => (loading ??= open());
  return {
    load: async (servers) => {
      if (servers) await (await load()).look(servers);
    },
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
