// MCP servers of an agent (G54): each is named by one toolset, which says what holds for its tools.
// The worker that runs a session connects to them.
import type {
  BetaManagedAgentsMCPServerURLDefinition,
  BetaManagedAgentsMCPToolset,
} from '@anthropic-ai/sdk/resources/beta/agents';
import type { z } from 'zod';
import { findRepeated, mcpServersProblem, SERVER_NAME } from '../client/faces/outside.ts';
import type { RunServer } from '../client/faces/types.ts';
import { invalid } from './errors.ts';
import type { mcpToolset } from './shapes/agents.ts';

type Servers = readonly BetaManagedAgentsMCPServerURLDefinition[];
type Tools = readonly ({ readonly type: string } | BetaManagedAgentsMCPToolset)[];
type ToolConfig = Pick<BetaManagedAgentsMCPToolset['default_config'], 'enabled' | 'permission_policy'>;

const ask = { type: 'always_ask' } as const;

/** Returns a toolset with its defaults written out: each call asks (G52). */
export function resolveMcpToolset(toolset: z.output<typeof mcpToolset>): BetaManagedAgentsMCPToolset {
  const { mcp_server_name, configs = [], default_config } = toolset;
  const enabled = default_config?.enabled ?? true;
  const permission_policy = default_config?.permission_policy ?? ask;
  return {
    type: 'mcp_toolset',
    mcp_server_name,
    default_config: { enabled, permission_policy },
    configs: configs.map((config) => ({
      name: config.name,
      enabled: config.enabled ?? enabled,
      permission_policy: config.permission_policy ?? permission_policy,
    })),
  };
}

/** Throws ManagedError for a server without a toolset, a toolset without one, and wrong names. */
export function refuseWrongServers(servers: Servers, tools: Tools, path = ''): void {
  for (const [at, server] of servers.entries()) refuseServer(server, `${path}mcp_servers.${at}`);
  const names = servers.map(({ name }) => name);
  for (const [at, tool] of tools.entries()) if (isMcpToolset(tool)) refuseToolset(tool, names, `${path}tools.${at}`);
  const toolsets = tools.filter(isMcpToolset).map(({ mcp_server_name }) => mcp_server_name);
  const twice = findRepeated(toolsets);
  if (twice !== undefined)
    throw invalid(`${path}tools: two mcp_toolset entries name ${JSON.stringify(twice)}`, `${path}tools`);
  const unused = names.find((name) => !toolsets.includes(name));
  if (unused !== undefined)
    throw invalid(`${path}mcp_servers: no mcp_toolset of tools names ${JSON.stringify(unused)}`, `${path}mcp_servers`);
  const problem = mcpServersProblem(runServers(servers, tools));
  if (problem !== undefined) throw invalid(`${path}mcp_servers: ${problem}`, `${path}mcp_servers`);
}

function refuseServer({ name, url }: Servers[number], path: string): void {
  if (!SERVER_NAME.test(name))
    throw invalid(
      `${path}.name: give 1 to 32 letters, digits, "-" or "_", no two "_" together and none at an end`,
      `${path}.name`,
    );
  const problem = urlProblem(url);
  if (problem !== undefined) throw invalid(`${path}.url: ${problem}`, `${path}.url`);
}

/** Returns a sentence for what is no address of an MCP server. */
export function urlProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:\/\//.test(text)) return 'give an address that begins with https:// or http://';
  if (url.username !== '' || url.password !== '')
    return 'an address has no user and no password: a vault has credentials';
  return url.hash === '' ? undefined : 'an address of a server has no fragment';
}

function refuseToolset(
  { mcp_server_name, configs }: BetaManagedAgentsMCPToolset,
  names: readonly string[],
  path: string,
): void {
  if (!names.includes(mcp_server_name))
    throw invalid(
      `${path}.mcp_server_name: mcp_servers has no ${JSON.stringify(mcp_server_name.slice(0, 80))}`,
      `${path}.mcp_server_name`,
    );
  const twice = configs.findIndex(({ name }, at) => configs.findIndex((one) => one.name === name) !== at);
  if (twice !== -1) throw invalid(`${path}.configs.${twice}: the tool is named twice`, `${path}.configs.${twice}`);
}

const isMcpToolset = (tool: Tools[number]): tool is BetaManagedAgentsMCPToolset => tool.type === 'mcp_toolset';

/** Returns the servers as a run has them. `vaults`: the ids of its session's. */
export function runServers(servers: Servers, tools: Tools, vaults: readonly string[] = []): readonly RunServer[] {
  return servers.flatMap(({ name, url }) => {
    const toolset = tools.filter(isMcpToolset).find(({ mcp_server_name }) => mcp_server_name === name);
    if (toolset === undefined) return [];
    const own = toolset.configs.map((config) => [config.name, runConfig(config)] as const);
    const policies = { config: runConfig(toolset.default_config), tools: Object.fromEntries(own) };
    return [{ name, url, ...policies, ...(vaults.length > 0 && { vaults }) }];
  });
}

const runConfig = ({ enabled, permission_policy }: ToolConfig): RunServer['config'] => ({
  enabled,
  policy: permission_policy.type,
});
