// The exports of `perdure/agent-sdk`: a program for an in-process agent becomes durable by changing its import to it.
import '../../activities/process/supported.ts';
export { query } from './query.ts';
export type { Query, QueryParams } from './query.ts';
export { createSdkMcpServer, tool } from './tools.ts';
export type {
  CallToolResult,
  McpHttpServerConfig,
  McpSdkServerConfig,
  McpServerConfig,
  McpStdioServerConfig,
  SdkMcpToolDefinition,
  ToolAnnotations,
  ToolExtra,
} from './tools.ts';
export type { Options } from './options.ts';
export type { Hooks } from './callbacks.ts';
export type * from './shapes.ts';
