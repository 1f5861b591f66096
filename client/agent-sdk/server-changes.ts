// Keeps the changes that a program makes to the MCP servers of a query that runs. A worker has the
// servers that it began with, so that another one takes its place before the next message.
import { checkConfig } from '../faces/tools.ts';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import type { McpServerConfig, McpServerStatus, McpSetServersResult } from './shapes/mcp.ts';
import type { Options } from './shapes/options.ts';
import { outsideServers, programTools, serverStatuses, withInstances } from './tools.ts';

type Servers = Readonly<Record<string, McpServerConfig>>;

export type ServerChanges = {
  /** Tells whether the servers have changed since `servers()` was asked last. */
  isPending(): boolean;
  /** Returns the servers in effect from the next message on. `own` are those of the options. */
  servers(own: Servers | undefined): Record<string, McpServerConfig> | undefined;
  status(own: Servers): McpServerStatus[];
  /** Throws ClientProblem `refused` and ConfigProblem for a server that is not valid. */
  set(own: Servers, servers: Servers): Promise<McpSetServersResult>;
  /** Throws ClientProblem `refused` for a server that is not there. */
  toggle(own: Servers, name: string, isOn: boolean): void;
  reconnect(own: Servers, name: string): void;
};

export function createServerChanges(): ServerChanges {
  let replacement: Servers | null = null;
  /** The servers of the options that an earlier call has named, and so replaced. */
  const named = new Set<string>();
  const off = new Set<string>();
  let isPending = false;
  const allOf = (own: Servers): Servers => {
    if (replacement === null) return own;
    const remaining = Object.entries(own).filter(([name, { type }]) => type !== 'sdk' && !named.has(name));
    return { ...Object.fromEntries(remaining), ...replacement };
  };
  const isOn = ([name]: readonly [string, unknown]): boolean => !off.has(name);
  const inEffect = (own: Servers): Record<string, McpServerConfig> =>
    Object.fromEntries(Object.entries(allOf(own)).filter(isOn));
  const requireServer = (own: Servers, name: string): void => {
    if (Object.hasOwn(allOf(own), name)) return;
    throw new ClientProblem('refused', `the query has no server ${JSON.stringify(name)}`);
  };
  return {
    isPending: () => isPending,
    servers: (own) => {
      isPending = false;
      const all = inEffect(own ?? {});
      return own === undefined && Object.keys(all).length === 0 ? undefined : all;
    },
    status: (own) => [
      ...serverStatuses(inEffect(own)),
      ...[...off]
        .filter((name) => Object.hasOwn(allOf(own), name))
        .map((name) => ({ name, status: 'disabled' as const })),
    ],
    set: async (own, servers) => {
      await checkServers({ mcpServers: { ...servers } });
      const before = Object.keys(inEffect(own));
      replacement = { ...servers };
      for (const name of Object.keys(servers)) {
        named.add(name);
        off.delete(name);
      }
      isPending = true;
      const after = Object.keys(inEffect(own));
      return {
        added: after.filter((name) => !before.includes(name)),
        removed: before.filter((name) => !after.includes(name)),
        errors: {},
      };
    },
    toggle: (own, name, on) => {
      requireServer(own, name);
      if (on ? off.delete(name) : !off.has(name)) isPending = true;
      if (!on) off.add(name);
    },
    reconnect: (own, name) => {
      requireServer(own, name);
      off.delete(name);
      isPending = true;
    },
  };
}

async function checkServers(options: Pick<Options, 'mcpServers'>): Promise<void> {
  const { mcpServers = {} } = await withInstances(options, () => undefined);
  const tools = programTools(mcpServers);
  const others = outsideServers(mcpServers);
  checkConfig(
    present({
      tools: tools.length > 0 ? tools : undefined,
      mcpServers: Object.keys(others).length > 0 ? others : undefined,
    }),
    'the servers of setMcpServers()',
  );
}
