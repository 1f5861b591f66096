// Connects MCP servers that the program runs in its own process (`McpServer`), in memory, and calls
// their tools over that connection.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { importApart } from '../../system/process/import-apart.mjs';
import { reasonOf } from '../../system/text.ts';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import {
  callAsTask,
  callResult,
  FOR_EVER,
  IDEMPOTENCY_KEY,
  linkInProcess,
  listTools,
  mcpBounds,
  McpError,
  PROGRESS_CALL_MS,
  ToolFailure,
} from '../faces/tools.ts';
import type { Link, ListedTool } from '../faces/types.ts';
import type {
  AnyZodRawShape,
  CallToolResult,
  McpServerConfig,
  McpServerInstance,
  ProgramMcpServer,
  SdkMcpToolDefinition,
  ToolExtra,
} from './shapes/mcp.ts';

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

// The server that createSdkMcpServer() returns. A query calls its tools directly. When the program
// connects it to a transport of its own, it becomes an `McpServer` of the MCP package that the
// program has installed, which is not a dependency here.
const PACKAGE = '@modelcontextprotocol/sdk';

type Handler = (...args: never[]) => CallToolResult | Promise<CallToolResult>;

/** The part of the package's `McpServer` that is used here. */
type RealServer = {
  registerTool(name: string, config: object, handler: Handler): unknown;
  connect(transport: unknown): Promise<void>;
  close(): Promise<void>;
};

export class ProgramServer implements ProgramMcpServer {
  readonly #info: { readonly name: string; readonly version: string };
  readonly #instructions: string | undefined;
  readonly #tools: SdkMcpToolDefinition[];
  #real: RealServer | null = null;

  constructor(
    info: { readonly name: string; readonly version: string },
    tools: readonly SdkMcpToolDefinition[],
    instructions?: string,
  ) {
    this.#info = info;
    this.#tools = [...tools];
    this.#instructions = instructions;
  }

  get tools(): readonly SdkMcpToolDefinition[] {
    return this.#tools;
  }

  /** The identity of a query compares servers by this value. */
  toJSON(): readonly SdkMcpToolDefinition[] {
    return this.#tools;
  }

  registerTool: ProgramMcpServer['registerTool'] = (name, config, handler) => {
    if (this.#tools.some((tool) => tool.name === name)) throw new Error(`Tool ${name} is already registered`);
    const { description = '', inputSchema, annotations } = config;
    const anyHandler = handler as (...all: unknown[]) => CallToolResult | Promise<CallToolResult>;
    const run = async (args: unknown, extra: ToolExtra): Promise<CallToolResult> =>
      inputSchema === undefined ? anyHandler(extra) : anyHandler(args, extra);
    const schema = (inputSchema ?? {}) as AnyZodRawShape;
    this.#tools.push({ name, description, inputSchema: schema, handler: run, ...present({ annotations }) });
    this.#real?.registerTool(name, { description, inputSchema: schema, annotations }, run);
  };

  async connect(transport: unknown): Promise<void> {
    this.#real ??= await this.#createReal();
    await this.#real.connect(transport);
  }

  async close(): Promise<void> {
    await this.#real?.close();
  }

  async #createReal(): Promise<RealServer> {
    const { McpServer } = (await importApart(resolvePackage())) as {
      readonly McpServer: new (info: object, options: object) => RealServer;
    };
    const options = this.#instructions === undefined ? {} : { instructions: this.#instructions };
    const real = new McpServer(this.#info, options);
    for (const { name, description, inputSchema, annotations, handler } of this.#tools)
      real.registerTool(name, present({ description, inputSchema, annotations }), handler as Handler);
    return real;
  }
}

/**
 * Returns the URL of the package's module as the program would import it. Throws ClientProblem
 * `refused` when the program does not have the package.
 */
function resolvePackage(): string {
  const from = [process.argv[1], join(process.cwd(), 'program.js')].filter((path) => path !== undefined);
  for (const path of from) {
    try {
      return pathToFileURL(createRequire(path).resolve(`${PACKAGE}/server/mcp.js`)).href;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  const why = `a server of createSdkMcpServer() is connected to a transport by ${PACKAGE}, which the program does not have`;
  throw new ClientProblem('refused', `${why}: install it; query() needs neither`);
}
