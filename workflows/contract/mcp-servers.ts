// The MCP servers that a run brings (G54): names, addresses, policies, and ids of vaults (G65).
// Credentials are the worker's, and never travel.
import { findRepeated, jsonSizeProblem } from './list-problems.ts';

/**
 * What holds for a tool of such a server (G52). `always_allow`: a call runs unasked unless a rule
 * of the worker asks or denies; `always_ask`: each call asks, whatever a rule allows; `auto`: rules
 * and the mode decide.
 */
export type ServerToolConfig = { readonly enabled: boolean; readonly policy: 'always_allow' | 'always_ask' | 'auto' };

/**
 * `config` holds for the tools that `tools` does not name. `url`: of a streamable HTTP server.
 * `vaults`: the ids of vaults, of which the first with a credential for `url` counts; absent: none.
 */
export type RunServer = {
  readonly name: string;
  readonly url: string;
  readonly config: ServerToolConfig;
  readonly tools: Readonly<Record<string, ServerToolConfig>>;
  readonly vaults?: readonly string[];
};

const MOST_RUN_SERVERS = 20;
/** Characters of JSON of all servers of a run. */
const LONGEST_SERVERS = 64 * 1024;
const LONGEST_URL = 2_000;
export const MOST_VAULTS = 50;
const VAULT_ID = /^vlt_[0-9a-z]{26}$/;

/** The names of MCP servers: a tool is named `mcp__server__tool`. */
export const SERVER_NAME = /^(?!_)(?!.*__)[A-Za-z0-9_-]{1,32}(?<!_)$/;

const policies = ['always_allow', 'always_ask', 'auto'] as const satisfies readonly ServerToolConfig['policy'][];

type Fields<Type> = { readonly [Key in keyof Type]?: unknown };

/** Options may come from any Temporal client. Returns a sentence for what is no list of servers. */
export function mcpServersProblem(servers: unknown): string | undefined {
  if (!Array.isArray(servers) || !servers.every(isRunServer))
    return 'the MCP servers are no list of { name, url, config, tools }';
  if (servers.length > MOST_RUN_SERVERS)
    return `${servers.length} MCP servers are given: give at most ${MOST_RUN_SERVERS}`;
  const twice = findRepeated(servers.map(({ name }) => name));
  if (twice !== undefined) return `two MCP servers are named ${JSON.stringify(twice)}`;
  return jsonSizeProblem('the MCP servers have', servers, LONGEST_SERVERS);
}

function isRunServer(value: unknown): value is RunServer {
  const { name, url, config, tools, vaults = [] } = (value ?? {}) as Fields<RunServer>;
  return (
    typeof name === 'string' &&
    SERVER_NAME.test(name) &&
    typeof url === 'string' &&
    url.length <= LONGEST_URL &&
    isServerUrl(url) &&
    isToolConfig(config) &&
    typeof tools === 'object' &&
    tools !== null &&
    Object.values(tools).every(isToolConfig) &&
    Array.isArray(vaults) &&
    vaults.length <= MOST_VAULTS &&
    vaults.every((id) => typeof id === 'string' && VAULT_ID.test(id))
  );
}

/** Node's URL, which Temporal's sandbox has too. */
declare const URL: { canParse(url: string): boolean };

const isServerUrl = (url: string): boolean => /^https?:\/\//.test(url) && URL.canParse(url);

function isToolConfig(value: unknown): value is ServerToolConfig {
  const { enabled, policy } = (value ?? {}) as Fields<ServerToolConfig>;
  return typeof enabled === 'boolean' && policies.some((known) => known === policy);
}
