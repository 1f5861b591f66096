// The options of a query. What each is here, and which are refused or passed over, is in
// docs/from-the-agent-sdk.md.
import type { Readable, Writable } from 'node:stream';
import type { AgentDefinition } from './agents.ts';
import type { EffortLevel } from './facts.ts';
import type { Hooks } from './hooks.ts';
import type { McpServerConfig } from './mcp.ts';
import type { CanUseTool, OnElicitation, OnUserDialog, PermissionMode } from './permissions.ts';
import type { SessionStore, SessionStoreFlush } from './sessions.ts';

type Display = { display?: 'summarized' | 'omitted' };

export type ThinkingAdaptive = { type: 'adaptive' } & Display;
export type ThinkingEnabled = { type: 'enabled'; budgetTokens?: number } & Display;
export type ThinkingDisabled = { type: 'disabled' };
export type ThinkingConfig = ThinkingAdaptive | ThinkingEnabled | ThinkingDisabled;

export type OutputFormatType = 'json_schema';
export type BaseOutputFormat = { type: OutputFormatType };
export type JsonSchemaOutputFormat = { type: 'json_schema'; schema: Record<string, unknown> };
export type OutputFormat = JsonSchemaOutputFormat;

export type SettingSource = 'user' | 'project' | 'local';
export type ConfigScope = SettingSource;
export type SdkBeta = 'context-1m-2025-08-07';
export type SdkPluginConfig = { type: 'local'; path: string; skipMcpDiscovery?: boolean };
export type ToolConfig = { askUserQuestion?: { previewFormat?: 'markdown' | 'html' } };

/** The parts that programs write; others are taken as they come. */
export type Settings = {
  permissions?: {
    allow?: string[];
    deny?: string[];
    ask?: string[];
    defaultMode?: PermissionMode;
    additionalDirectories?: string[];
    [key: string]: unknown;
  };
  env?: Record<string, string>;
  model?: string;
  fallbackModel?: string[];
  effortLevel?: EffortLevel;
  sandbox?: SandboxSettings;
  enabledPlugins?: Record<string, unknown>;
  fastMode?: boolean;
  [key: string]: unknown;
};

export type SandboxNetworkConfig = {
  allowedDomains?: string[];
  deniedDomains?: string[];
  strictAllowlist?: boolean;
  allowManagedDomainsOnly?: boolean;
  allowUnixSockets?: string[];
  allowAllUnixSockets?: boolean;
  allowLocalBinding?: boolean;
  allowMachLookup?: string[];
  httpProxyPort?: number;
  socksProxyPort?: number;
  tlsTerminate?: { caCertPath?: string; caKeyPath?: string };
};

export type SandboxFilesystemConfig = {
  allowWrite?: string[];
  denyWrite?: string[];
  denyRead?: string[];
  allowRead?: string[];
  allowManagedReadPathsOnly?: boolean;
  disabled?: boolean;
};

type Masked = { mode: 'deny' | 'mask'; extract?: string; injectHosts?: string[]; [key: string]: unknown };

export type SandboxCredentialsConfig = {
  files?: ({ path: string } & Masked)[];
  envVars?: ({ name: string } & Masked)[];
  allowPlaintextInject?: boolean;
  [key: string]: unknown;
};

export type SandboxIgnoreViolations = Record<string, string[]>;

export type SandboxSettings = {
  enabled?: boolean;
  failIfUnavailable?: boolean;
  autoAllowBashIfSandboxed?: boolean;
  allowUnsandboxedCommands?: boolean;
  network?: SandboxNetworkConfig;
  filesystem?: SandboxFilesystemConfig;
  credentials?: SandboxCredentialsConfig;
  ignoreViolations?: SandboxIgnoreViolations;
  excludedCommands?: string[];
  [key: string]: unknown;
};

/** How a program would start another process. None is started here. */
export type SpawnOptions = {
  command: string;
  args: string[];
  cwd?: string;
  env: Record<string, string | undefined>;
  signal: AbortSignal;
};

type Exited = (code: number | null, signal: NodeJS.Signals | null) => void;
type Listening = {
  (event: 'exit', listener: Exited): void;
  (event: 'error', listener: (error: Error) => void): void;
};

export type SpawnedProcess = {
  stdin: Writable;
  stdout: Readable;
  readonly killed: boolean;
  readonly exitCode: number | null;
  readonly signalCode?: NodeJS.Signals | null;
  kill(signal: NodeJS.Signals): boolean;
  on: Listening;
  once: Listening;
  off: Listening;
};

type PresetPrompt = {
  type: 'preset';
  preset: 'claude_code';
  append?: string;
  excludeDynamicSections?: boolean;
  snapshot?: boolean;
};

type Asked = {
  model?: string;
  fallbackModel?: string;
  /** Its own words in place of ours; with a preset, what is added to ours. */
  systemPrompt?: string | string[] | { type: 'custom'; prompt: string | string[]; snapshot?: boolean } | PresetPrompt;
  thinking?: ThinkingConfig;
  maxThinkingTokens?: number;
  effort?: EffortLevel;
  maxTurns?: number;
  maxBudgetUsd?: number;
  taskBudget?: { total: number };
  outputFormat?: OutputFormat;
  betas?: SdkBeta[];
  planModeInstructions?: string;
  verbatimPrompts?: boolean;
  promptSuggestions?: boolean;
};

type Tools = {
  /** Rules that allow, as `Bash(npm test:*)` or `mcp__shop__order`. */
  allowedTools?: string[];
  disallowedTools?: string[];
  /** The built-in tools that the model is offered; those of the program are offered always. */
  tools?: string[] | { type: 'preset'; preset: 'claude_code' };
  toolAliases?: Record<string, string>;
  toolConfig?: ToolConfig;
  permissionMode?: PermissionMode;
  permissionPrompts?: 'host' | 'none';
  permissionPromptToolName?: string;
  allowDangerouslySkipPermissions?: boolean;
  canUseTool?: CanUseTool;
  hooks?: Hooks;
  onUserDialog?: OnUserDialog;
  supportedDialogKinds?: string[];
  /**
   * Answers what MCP servers, processes or at an address, ask in the middle of a call. Absent: they
   * may not.
   */
  onElicitation?: OnElicitation;
  /**
   * Made with `createSdkMcpServer()`, processes, or at an address. None is trusted: every call of
   * the last two asks.
   */
  mcpServers?: Record<string, McpServerConfig>;
  mcpServersDelivery?: 'argv' | 'initialize';
  strictMcpConfig?: boolean;
  /** Types of agents by name, beside the built-in `general` and `explore`. */
  agents?: Record<string, AgentDefinition>;
  agent?: string;
  agentProgressSummaries?: boolean;
  forwardSubagentText?: boolean;
  perTaskStopAffordance?: boolean;
  skills?: string[] | 'all';
  plugins?: SdkPluginConfig[];
  pluginDelivery?: 'argv' | 'initialize';
  sandbox?: SandboxSettings;
};

type Conversation = {
  /** The session of this id goes on. */
  resume?: string;
  resumeSessionAt?: string;
  resumeDropsTurn?: string;
  forkSession?: boolean;
  /**
   * The newest session of `cwd` that the program can work on goes on; where there is none, a new
   * one begins.
   */
  continue?: boolean;
  /** The id of the session that this opens; asked again, it is the same query. */
  sessionId?: string;
  title?: string;
  persistSession?: boolean;
  sessionStore?: SessionStore;
  sessionStoreFlush?: SessionStoreFlush;
  enableFileCheckpointing?: boolean;
  includePartialMessages?: boolean;
  includeHookEvents?: boolean;
  /** Aborted: the run is interrupted, and AbortError is thrown. */
  abortController?: AbortController;
};

type Place = {
  cwd?: string;
  /**
   * Other folders that tools may read and change, relative to `cwd` or absolute; no link on the way
   * to one.
   */
  additionalDirectories?: string[];
  projectConfigRoot?: string;
  /**
   * Settings of Perdure and of the model; the others go to commands and tools, and are stored
   * nowhere.
   */
  env?: Record<string, string | undefined>;
  settings?: string | Settings;
  managedSettings?: Settings;
  settingSources?: SettingSource[];
  /** Gets what is to be said to a person, a line each. Absent: standard error gets it. */
  stderr?: (data: string) => void;
  debug?: boolean;
  debugFile?: string;
  loadTimeoutMs?: number;
  executable?: 'bun' | 'deno' | 'node';
  executableArgs?: string[];
  extraArgs?: Record<string, string | null>;
  pathToClaudeCodeExecutable?: string;
  spawnClaudeCodeProcess?: (options: SpawnOptions) => SpawnedProcess;
};

export type Options = Asked & Tools & Conversation & Place;
