// Tools of the program: `tool()` and `createSdkMcpServer()` as such programs write them, and what they are in a worker's configuration.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { callResult, outputOf } from '../../activities/mcp/results.ts';
import type { McpServer, McpServers, ServerQuestion } from '../../activities/mcp/servers.ts';
import { defineTool, type Tool, type ToolContext } from '../../activities/tools/tool.ts';
import type { OnElicitation } from './shapes.ts';

type Shape = Readonly<Record<string, z.ZodType>>;

/** Texts, images and PDF documents reach the model, as an MCP server's do. Of anything else it reads that it was there. */
export type CallToolResult = {
  readonly content: readonly { readonly type: string; readonly text?: string; readonly [key: string]: unknown }[];
  readonly isError?: boolean;
  readonly [key: string]: unknown;
};

/** `readOnlyHint`: runs without asking, beside others. It, or `idempotentHint`: runs again when its result was lost. */
export type ToolAnnotations = {
  readonly readOnlyHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly openWorldHint?: boolean;
  readonly title?: string;
};

/** `idempotencyKey`: unique to this call for ever, the same when it is run again. */
export type ToolExtra = { readonly signal: AbortSignal; readonly idempotencyKey: string };

export type SdkMcpToolDefinition = {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Shape;
  readonly handler: (args: never, extra: ToolExtra) => Promise<CallToolResult>;
  readonly annotations?: ToolAnnotations;
};

export type McpSdkServerConfig = {
  readonly type: 'sdk';
  readonly name: string;
  readonly version?: string;
  readonly tools: readonly SdkMcpToolDefinition[];
};

/** A server that is a process. It begins in the folder of the program. */
export type McpStdioServerConfig = {
  readonly type?: 'stdio';
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** A server at an address. */
export type McpHttpServerConfig = {
  readonly type: 'http' | 'sse';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export type McpServerConfig = McpSdkServerConfig | McpStdioServerConfig | McpHttpServerConfig;

/** Others are connected while the session opens. */
export function statusesOf(servers: Readonly<Record<string, McpServerConfig>>) {
  return Object.entries(servers).map(([name, server]) => ({
    name,
    status: isOfProgram(server) ? ('connected' as const) : ('pending' as const),
  }));
}

function isOfProgram(server: McpServerConfig): server is McpSdkServerConfig {
  return server.type === 'sdk';
}

/** A tool of the program. Give `createSdkMcpServer()` a list of them. */
export function tool<Fields extends Shape>(
  name: string,
  description: string,
  inputSchema: Fields,
  handler: (args: z.infer<z.ZodObject<Fields>>, extra: ToolExtra) => Promise<CallToolResult>,
  extras: { readonly annotations?: ToolAnnotations } = {},
): SdkMcpToolDefinition {
  return { name, description, inputSchema, handler, ...extras };
}

/** Its tools run in this process: `mcp__NAME__TOOL` is the tool's name for the model, rules and callbacks. */
export function createSdkMcpServer(server: {
  readonly name: string;
  readonly version?: string;
  readonly tools?: readonly SdkMcpToolDefinition[];
}): McpSdkServerConfig {
  return { type: 'sdk', tools: [], ...server };
}

export function toolsOf(servers: Readonly<Record<string, McpServerConfig>>): readonly Tool[] {
  return Object.entries(servers).flatMap(([name, server]) =>
    isOfProgram(server) ? server.tools.map((each) => workerTool(name, each)) : [],
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
    inputSchema: z.object(inputSchema),
    risk: readOnlyHint ? 'read' : 'external',
    recovery: idempotentHint ? 'rerun' : 'report',
    call: async (input, { signal, idempotencyKey }: ToolContext) => {
      return outputOf(callResult.parse(await handler(input as never, { signal, idempotencyKey })));
    },
  });
}
