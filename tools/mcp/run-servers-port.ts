// The MCP servers that runs bring (G54), as activities see them.
import type { RunServer } from '../../workflows/contract/mcp-servers.ts';
import type { ToolRegistry } from '../registry.ts';

/** A server that cannot be reached. `detail` is the end of a sentence. */
export type AwayServer = { readonly server: string; readonly detail: string; readonly unauthorized: boolean };

type Servers = readonly RunServer[] | undefined;

export type RunServers = {
  /** Loads what `registryOf` needs for these servers. Throws StoreError. */
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
