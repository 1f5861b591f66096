// MCP servers and the tools of a program.

/** Fields of a tool's input by name, as zod 3 or zod 4 has them. */
export type AnyZodRawShape = Readonly<Record<string, Zod3Field | Zod4Field>>;

type Zod3Field = { readonly _output: unknown };
type Zod4Field = { readonly _zod: { readonly output: unknown } };

export type InferShape<Shape extends AnyZodRawShape> = {
  [Field in keyof Shape]: Shape[Field] extends { _output: infer Output }
    ? Output
    : Shape[Field] extends { _zod: { output: infer Output } }
      ? Output
      : never;
} & {};

/**
 * Texts, images and PDF documents reach the model, as an MCP server's do. Of anything else it reads
 * that it was there.
 */
export type CallToolResult = {
  content: readonly { readonly type: string; readonly text?: string; readonly [key: string]: unknown }[];
  isError?: boolean;
  [key: string]: unknown;
};

/**
 * `readOnlyHint`: runs without asking, beside others. It, or `idempotentHint`: runs again when its
 * result was lost.
 */
export type ToolAnnotations = {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
};

/** `idempotencyKey`: unique to this call for ever, the same when it is run again. */
export type ToolExtra = { readonly signal: AbortSignal; readonly idempotencyKey: string };

export type SdkMcpToolDefinition<Shape extends AnyZodRawShape = AnyZodRawShape> = {
  name: string;
  description: string;
  inputSchema: Shape;
  annotations?: ToolAnnotations;
  _meta?: Record<string, unknown>;
  // `extra` is ToolExtra: whoever calls a handler in a test may have another.
  // oxlint-disable-next-line typescript/no-explicit-any
  handler: (args: InferShape<Shape>, extra: any) => Promise<CallToolResult>;
};

export type McpServerToolPolicy = {
  name: string;
  permission_policy?: 'always_allow' | 'always_ask' | 'always_deny';
  org_max_permission?: 'allow' | 'ask' | 'blocked';
};

/** A server that is a process. It begins in the folder of the program. */
export type McpStdioServerConfig = {
  type?: 'stdio';
  command: string;
  args?: string[];
  env?: Record<string, string>;
  timeout?: number;
  alwaysLoad?: boolean;
};

type AtAddress = {
  url: string;
  headers?: Record<string, string>;
  tools?: McpServerToolPolicy[];
  timeout?: number;
  alwaysLoad?: boolean;
};

/** Servers at an address. */
export type McpHttpServerConfig = { type: 'http' } & AtAddress;
export type McpSSEServerConfig = { type: 'sse' } & AtAddress;

export type McpSdkServerConfig = { type: 'sdk'; name: string; timeout?: number; tools?: McpServerToolPolicy[] };

/** A server in the process of the program. */
export type McpServerInstance = {
  // oxlint-disable-next-line typescript/no-explicit-any
  connect(transport: any): Promise<void>;
  close(): Promise<void>;
};

/** What createSdkMcpServer() makes: tools may be added to it, and it may be connected elsewhere. */
export type ProgramMcpServer = McpServerInstance & {
  registerTool<Shape extends AnyZodRawShape>(
    name: string,
    config: {
      title?: string;
      description?: string;
      inputSchema?: Shape | { readonly shape: Shape };
      annotations?: ToolAnnotations;
    },
    // With an `inputSchema` its input comes first, then `extra`; without one `extra` alone.
    // oxlint-disable-next-line typescript/no-explicit-any
    handler: (...given: any[]) => CallToolResult | Promise<CallToolResult>,
  ): void;
};

export type McpSdkServerConfigWithInstance = McpSdkServerConfig & { instance: McpServerInstance };

export type McpServerConfig =
  McpStdioServerConfig | McpSSEServerConfig | McpHttpServerConfig | McpSdkServerConfigWithInstance;

export type McpServerConfigForProcessTransport =
  McpStdioServerConfig | McpSSEServerConfig | McpHttpServerConfig | McpSdkServerConfig;

export type McpClaudeAIProxyServerConfig = { type: 'claudeai-proxy'; url: string; id: string; timeout?: number };
export type McpServerStatusConfig = McpServerConfigForProcessTransport | McpClaudeAIProxyServerConfig;
export type McpServerProvenance = { name: string; source: string };
export type AgentMcpServerSpec = string | Record<string, McpServerConfigForProcessTransport>;

type ListedTool = {
  name: string;
  description?: string;
  annotations?: { readOnly?: boolean; destructive?: boolean; openWorld?: boolean };
  _meta?: Record<string, unknown>;
};

export type McpServerStatus = {
  name: string;
  status: 'connected' | 'failed' | 'needs-auth' | 'pending' | 'disabled';
  serverInfo?: { name: string; version: string };
  error?: string;
  config?: McpServerStatusConfig;
  scope?: string;
  source?: string;
  tools?: ListedTool[];
};

export type McpSetServersResult = { added: string[]; removed: string[]; errors: Record<string, string> };

export type SDKMcpResourceLink = {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
  annotations?: Record<string, unknown>;
};
