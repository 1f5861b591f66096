// Tools of the program: `tool()` and `createSdkMcpServer()` as such programs write them, and what they are in a worker's configuration.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { callResult, outputOf } from '../../activities/mcp/results.ts';
import type { McpServer, McpServers, ServerQuestion } from '../../activities/mcp/servers.ts';
import { ClientProblem } from '../problem.ts';
import { defineTool, type Tool, type ToolContext } from '../../activities/tools/tool.ts';
import type {
  AnyZodRawShape,
  CallToolResult,
  InferShape,
  McpSdkServerConfigWithInstance,
  McpServerConfig,
  McpServerInstance,
  McpServerStatus,
  SdkMcpToolDefinition,
  ToolAnnotations,
  ToolExtra,
} from './shapes/mcp.ts';
import type { OnElicitation } from './shapes/permissions.ts';
import { isZod3, zod3Input } from './zod3-fields.ts';

/** Others are connected while the session opens. */
export function statusesOf(servers: Readonly<Record<string, McpServerConfig>>): McpServerStatus[] {
  return Object.entries(servers).map(([name, server]) => ({
    name,
    status: isOfProgram(server) ? ('connected' as const) : ('pending' as const),
  }));
}

function isOfProgram(server: McpServerConfig): server is McpSdkServerConfigWithInstance {
  return server.type === 'sdk';
}

/** A tool of the program. Give `createSdkMcpServer()` a list of them. */
export function tool<Shape extends AnyZodRawShape>(
  name: string,
  description: string,
  inputSchema: Shape,
  handler: (args: InferShape<Shape>, extra: ToolExtra) => Promise<CallToolResult>,
  extras: { annotations?: ToolAnnotations; searchHint?: string; alwaysLoad?: boolean } = {},
): SdkMcpToolDefinition<Shape> {
  const { annotations } = extras;
  return { name, description, inputSchema, handler, ...(annotations && { annotations }) };
}

/** Tools of a program, as a server: they are called where they are, without one. */
class ProgramServer implements McpServerInstance {
  readonly tools: readonly SdkMcpToolDefinition[];
  constructor(tools: readonly SdkMcpToolDefinition[]) {
    this.tools = tools;
  }
  /** What it is made of, for whoever compares. */
  toJSON(): readonly SdkMcpToolDefinition[] {
    return this.tools;
  }
  connect(): Promise<void> {
    return Promise.reject(
      new ClientProblem('refused', 'this server is of query() alone, which calls its tools itself'),
    );
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Its tools run in this process: `mcp__NAME__TOOL` is the tool's name for the model, rules and callbacks. */
export function createSdkMcpServer(server: {
  name: string;
  version?: string;
  instructions?: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  tools?: SdkMcpToolDefinition<any>[];
  alwaysLoad?: boolean;
  timeout?: number;
}): McpSdkServerConfigWithInstance {
  return { type: 'sdk', name: server.name, instance: new ProgramServer(server.tools ?? []) };
}

/** Throws ClientProblem `refused`. */
function definitionsOf(name: string, { instance }: McpSdkServerConfigWithInstance): readonly SdkMcpToolDefinition[] {
  if (instance instanceof ProgramServer) return instance.tools;
  const what = `the server ${JSON.stringify(name)} of query() was not made with createSdkMcpServer()`;
  throw new ClientProblem('refused', `${what}: give its tools to that, or the server as a process or at an address`);
}

export function toolsOf(servers: Readonly<Record<string, McpServerConfig>>): readonly Tool[] {
  return Object.entries(servers).flatMap(([name, server]) =>
    isOfProgram(server) ? definitionsOf(name, server).map((each) => workerTool(name, each)) : [],
  );
}

/** Those that are not of the program, as a configuration has them. */
export function serversOf(
  servers: Readonly<Record<string, McpServerConfig>>,
  onElicitation?: OnElicitation,
): McpServers {
  const asks = onElicitation && {
    answers: (asked: ServerQuestion, { signal }: { readonly signal: AbortSignal }) =>
      onElicitation(asked, { signal, requestId: randomUUID() }),
  };
  const others = Object.entries(servers).flatMap(([name, server]): [string, McpServer][] => {
    if (isOfProgram(server)) return [];
    return [[name, { ...('command' in server ? { cwd: process.cwd(), ...server } : server), ...asks }]];
  });
  return Object.fromEntries(others);
}

function workerTool(
  server: string,
  { name, description, inputSchema, handler, annotations = {} }: SdkMcpToolDefinition,
): Tool {
  const { readOnlyHint = false, idempotentHint = readOnlyHint } = annotations;
  return defineTool({
    name: `mcp__${server}__${name}`,
    description,
    ...(isZod3(inputSchema)
      ? zod3Input(inputSchema)
      : { inputSchema: z.object(inputSchema as unknown as z.ZodRawShape) }),
    risk: readOnlyHint ? 'read' : 'external',
    recovery: idempotentHint ? 'rerun' : 'report',
    call: async (input, { signal, idempotencyKey }: ToolContext) => {
      return outputOf(callResult.parse(await handler(input as never, { signal, idempotencyKey })));
    },
  });
}
