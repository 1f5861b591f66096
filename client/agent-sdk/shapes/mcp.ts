// Declares MCP servers and the tools of a program.

/** The fields of a tool's input by name, of zod 3 or zod 4. */
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
 * The result of a tool. Texts, images and PDF documents reach the model; it reads about any other
 * block only that it was there.
 */
export type CallToolResult = {
  content: readonly { readonly type: string; readonly text?: string; readonly [key: string]: unknown }[];
  isError?: boolean;
  [key: string]: unknown;
};

/**
 * A tool with `readOnlyHint` runs without asking, and in parallel with others. With it, or with
 * `idempotentHint`, a call whose result was lost runs again.
 */
export type ToolAnnotations = {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
};

/** `idempotencyKey` is unique to this call, and the same when the call runs again. */
export type ToolExtra = { readonly signal: AbortSignal; readonly idempotencyKey: string };

export type SdkMcpToolDefinition<Shape extends AnyZodRawShape = AnyZodRawShape> = {
  name: string;
  description: string;
  inputSchema: Shape;
  annotations?: ToolAnnotations;
  _meta?: Record<string, unknown>;
  // `extra` is ToolExtra. The type is open, so that tests may call a handler with another value.
  // oxlint-disable-next-line typescript/no-explicit-any
  handler: (args: InferShape<Shape>, extra: any) => Promise<CallToolResult>;
};

export type McpServerToolPolicy = {
  name: string;
  permission_policy?: 'always_allow' | 'always_ask' | 'always_deny';
  org_max_permission?: 'allow' | 'ask' | 'blocked';
};

/** A server that is a process. It starts in the folder of the program. */
export type McpStdioServerConfig = {
  type?: 'stdio';
  command: string;
  args?: string[];
  env?: Record<string, string>;
  timeout?: number;
  alwaysLoad?: boolean;
};

type RemoteServerConfig = {
  url: string;
  headers?: Record<string, string>;
  tools?: McpServerToolPolicy[];
  timeout?: number;
  alwaysLoad?: boolean;
};

/** A server at an HTTP address. */
export type McpHttpServerConfig = { type: 'http' } & RemoteServerConfig;
export type McpSSEServerConfig = { type: 'sse' } & RemoteServerConfig;

export type McpSdkServerConfig = { type: 'sdk'; name: string; timeout?: number; tools?: McpServerToolPolicy[] };

/** A server in the process of the program. */
export type McpServerInstance = {
  // oxlint-disable-next-line typescript/no-explicit-any
  connect(transport: any): Promise<void>;
  close(): Promise<void>;
};

/** The server of createSdkMcpServer(). A program may add tools, or connect it elsewhere. */
export type ProgramMcpServer = McpServerInstance & {
  registerTool<Shape extends AnyZodRawShape>(
    name: string,
    config: {
      title?: string;
      description?: string;
      inputSchema?: Shape | { readonly shape: Shape };
      annotations?: ToolAnnotations;
    },
    // With an `inputSchema` the input comes first, then `extra`; without one only `extra` comes.
    // oxlint-disable-next-line typescript/no-explicit-any
    handler: (...args: any[]) => CallToolResult | Promise<CallToolResult>,
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
