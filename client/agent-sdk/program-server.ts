// The server that createSdkMcpServer() returns. A query calls its tools directly. When the program
// connects it to a transport of its own, it becomes an `McpServer` of the MCP package that the
// program has installed, which is not a dependency here.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import { importApart } from '../../system/process/import-apart.mjs';
import type {
  AnyZodRawShape,
  CallToolResult,
  ProgramMcpServer,
  SdkMcpToolDefinition,
  ToolExtra,
} from './shapes/mcp.ts';

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
