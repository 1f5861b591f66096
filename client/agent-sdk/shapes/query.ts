// Declares a running query and its methods. A method that is not supported here rejects with a
// sentence that says what to do instead.
import type { AccountInfo, AgentInfo, ModelInfo, PermissionMode, SlashCommand } from './facts.ts';
import type { McpServerConfig, McpServerStatus, McpSetServersResult } from './mcp.ts';
import type { SDKMessage, SDKUserMessage } from './messages.ts';
import type { Options, SdkPluginConfig, Settings } from './options.ts';

export type QueryPrompt = string | AsyncIterable<SDKUserMessage>;
export type QueryParams = { prompt: QueryPrompt; options?: Options };

export type RewindFilesResult = {
  canRewind: boolean;
  error?: string;
  filesChanged?: string[];
  insertions?: number;
  deletions?: number;
  skippedLinks?: number;
};

export type SDKControlInitializeResponse = {
  commands: SlashCommand[];
  agents: AgentInfo[];
  models: ModelInfo[];
  account: AccountInfo;
  output_style: string;
  available_output_styles: string[];
  claude_code_version?: string;
};

export type SDKControlInterruptResponse = { still_queued: string[]; cancelled?: string[] };

/** The token counts of a request, as far as they are counted. */
export type SDKControlGetContextUsageResponse = {
  model: string;
  totalTokens: number;
  maxTokens: number;
  rawMaxTokens: number;
  percentage: number;
  categories: { name: string; tokens: number; color: string; kind: 'used' | 'free' | 'buffer' | 'deferred' }[];
  [part: string]: unknown;
};

export type Query = AsyncGenerator<SDKMessage, void> & {
  /** Interrupts the current run. Its result is the next message. */
  interrupt(): Promise<SDKControlInterruptResponse | undefined>;
  /** Applies from the next message on. */
  setModel(model?: string): Promise<void>;
  /** Applies from the next message on, and at once to calls that ask. */
  setPermissionMode(mode: PermissionMode): Promise<{ mode?: PermissionMode } | undefined>;
  /** Applies from the next message on. Null removes the limit. */
  setMaxThinkingTokens(tokens: number | null, display?: 'summarized' | 'omitted' | 'highlights' | null): Promise<void>;
  /** Lists the models that are not retired, newest first. */
  supportedModels(): Promise<ModelInfo[]>;
  supportedAgents(): Promise<AgentInfo[]>;
  /** Lists `compact` and `clear`, which may be sent in the place of a prompt. */
  supportedCommands(): Promise<SlashCommand[]>;
  mcpServerStatus(): Promise<McpServerStatus[]>;
  accountInfo(): Promise<AccountInfo>;
  initializationResult(): Promise<SDKControlInitializeResponse>;
  reinitialize(): Promise<SDKControlInitializeResponse>;
  /** Sends the messages of the stream, too. */
  streamInput(stream: AsyncIterable<SDKUserMessage>): Promise<void>;
  /** Interrupts the run and ends the messages, like leaving the loop. */
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
  applyFlagSettings(settings: { [Key in keyof Settings]?: Settings[Key] | null }): Promise<void>;
  updateSettings(source: 'localSettings' | 'userSettings', settings: Record<string, unknown>): Promise<void>;
  getContextUsage(options?: { detail?: 'summary' | 'full' }): Promise<SDKControlGetContextUsageResponse>;
  rewindFiles(userMessageId: string, options?: { dryRun?: boolean }): Promise<RewindFilesResult>;
  readFile(
    path: string,
    options?: { maxBytes?: number; encoding?: 'utf-8' | 'base64' },
  ): Promise<{ contents: string; absPath: string; truncated?: boolean; encoding?: 'base64'; lossy?: boolean } | null>;
  seedReadState(path: string, mtime: number): Promise<void>;
  /** Applies from the next message of the prompt on, as do the next two. */
  setMcpServers(servers: Record<string, McpServerConfig>): Promise<McpSetServersResult>;
  reconnectMcpServer(serverName: string): Promise<void>;
  toggleMcpServer(serverName: string, enabled: boolean): Promise<void>;
  setMcpPermissionModeOverride(serverName: string, mode: 'default' | 'auto' | null): Promise<{ warning?: string }>;
  readMcpResource(
    serverName: string,
    uri: string,
  ): Promise<{ contents: { uri: string; mimeType?: string; text?: string; blob?: string }[] }>;
  reloadPlugins(options?: {
    holdOnCacheImpact?: boolean;
    addPlugins?: SdkPluginConfig[];
    refuseIfBusy?: boolean;
  }): Promise<{ commands: SlashCommand[]; agents: AgentInfo[]; mcpServers: McpServerStatus[]; error_count: number }>;
  reloadSkills(): Promise<{ skills: SlashCommand[] }>;
  stopTask(taskId: string): Promise<void>;
  backgroundTasks(toolUseId?: string): Promise<boolean>;
};

/** A prepared query, whose first message comes sooner. */
export type WarmQuery = {
  query(prompt: QueryPrompt): Query;
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
};
