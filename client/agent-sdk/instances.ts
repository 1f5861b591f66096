// Connects MCP servers that the program runs in its own process (`McpServer`), in memory, and calls
// their tools over that connection.
import type { z } from 'zod';
import {
  callAsTask,
  McpError,
  FOR_EVER,
  linkInProcess,
  listTools,
  callResult,
  IDEMPOTENCY_KEY,
  mcpBounds,
  PROGRESS_CALL_MS,
  ToolFailure,
} from '../faces/tools.ts';
import type { Link, ListedTool } from '../faces/types.ts';
import { ClientProblem } from '../faces/start.ts';
import { reasonOf } from '../../system/text.ts';
import type { McpServerConfig, McpServerInstance, ToolExtra } from './shapes/mcp.ts';

/**
 * A connected server with its listed tools. It takes the place of the program's server in the
 * options of a query.
 */
export class ConnectedInstance implements McpServerInstance {
  readonly tools: readonly ListedTool[];
  readonly #name: string;
  readonly #own: McpServerInstance;

  constructor(name: string, own: McpServerInstance, tools: readonly ListedTool[]) {
    this.#name = name;
    this.#own = own;
    this.tools = tools;
  }

  /** Throws ToolFailure, which the model reads. */
  async call(
    tool: string,
    input: unknown,
    { signal, idempotencyKey }: ToolExtra,
  ): Promise<z.output<typeof callResult>> {
    const params = { name: tool, arguments: input, _meta: { [IDEMPOTENCY_KEY]: idempotencyKey } };
    try {
      const link = await linkOf(this.#name, this.#own);
      const how = { signal, timeout: FOR_EVER };
      if (this.tools.find(({ name }) => name === tool)?.isTask !== true)
        return await link.request('tools/call', params, callResult, how);
      return await callAsTask(link, params, { ...how, keepMs: PROGRESS_CALL_MS, onWorking: () => undefined });
    } catch (error) {
      if (!(error instanceof McpError || error instanceof ClientProblem)) throw error;
      throw new ToolFailure(`The server ${this.#name} did not do it: ${error.message}`, { cause: error });
    }
  }

  connect(): Promise<void> {
    return Promise.reject(new ClientProblem('refused', `the server ${JSON.stringify(this.#name)} is connected`));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** All queries of the process share one connection to a server. */
const links = new WeakMap<McpServerInstance, Promise<Link>>();

async function linkOf(name: string, instance: McpServerInstance): Promise<Link> {
  const known = links.get(instance);
  if (known) return await known;
  const forget = (): void => void links.delete(instance);
  const opening = openLink(name, instance);
  links.set(instance, opening);
  // A connection that the program closes is opened again for the next call.
  opening.then(({ closed }) => closed.then(forget), forget);
  return await opening;
}

/** Throws ClientProblem `refused`. */
async function openLink(name: string, instance: McpServerInstance): Promise<Link> {
  try {
    return await linkInProcess((transport) => instance.connect(transport), AbortSignal.timeout(mcpBounds.slowListMs));
  } catch (error) {
    const what = `the server ${JSON.stringify(name)} of query() cannot be connected`;
    throw new ClientProblem('refused', `${what}: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Returns the servers with the program's instances connected. `isOwn` tells those that
 * createSdkMcpServer() made, which need no connection. Throws ClientProblem `refused` for a server
 * that cannot be used.
 */
export async function connectInstances(
  servers: Readonly<Record<string, McpServerConfig>>,
  isOwn: (instance: McpServerInstance) => boolean,
  say: (line: string) => void,
): Promise<Record<string, McpServerConfig>> {
  const connected = Object.entries(servers).map(async ([name, server]): Promise<[string, McpServerConfig]> => {
    if (server.type !== 'sdk' || isOwn(server.instance)) return [name, server];
    const { instance } = server;
    if (typeof (instance as Partial<McpServerInstance> | undefined)?.connect !== 'function') {
      const what = `the server ${JSON.stringify(name)} of query() has no instance`;
      throw new ClientProblem(
        'refused',
        `${what}: give an McpServer, or what createSdkMcpServer() makes of your tools`,
      );
    }
    const link = await linkOf(name, instance);
    const { tools, leftOut } = link.offers.tools ? await listServerTools(name, link) : { tools: [], leftOut: [] };
    for (const why of leftOut) say(`a tool of the server ${name} is left out: ${why}`);
    return [name, { ...server, instance: new ConnectedInstance(name, instance, tools) }];
  });
  return Object.fromEntries(await Promise.all(connected));
}

async function listServerTools(name: string, link: Link) {
  try {
    return await listTools(link, mcpBounds.slowListMs);
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    const what = `the tools of the server ${JSON.stringify(name)} of query() cannot be listed`;
    throw new ClientProblem('refused', `${what}: ${error.message}`, { cause: error });
  }
}
