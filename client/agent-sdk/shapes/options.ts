// Declares the options of a query. docs/api/agent-sdk-rows.md says what each does here, and which
// are refused or passed over.
import type { Readable, Writable } from 'node:stream';
import type {
  CanUseTool,
  EffortLevel,
  OnElicitation,
  OnUserDialog,
  PermissionMode,
  SessionStore,
  SessionStoreFlush,
} from './facts.ts';
import type { Hooks } from './hooks.ts';
import type { McpServerConfig, AgentMcpServerSpec } from './mcp.ts';

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

/** Declares the parts that programs write. Any other field is allowed, too. */
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

type CredentialMask = { mode: 'deny' | 'mask'; extract?: string; injectHosts?: string[]; [key: string]: unknown };

export type SandboxCredentialsConfig = {
  files?: ({ path: string } & CredentialMask)[];
  envVars?: ({ name: string } & CredentialMask)[];
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

/** How a program would start an agent's process. No such process is started here. */
export type SpawnOptions = {
  command: string;
  args: string[];
  cwd?: string;
  env: Record<string, string | undefined>;
  signal: AbortSignal;
};

type ExitListener = (code: number | null, signal: NodeJS.Signals | null) => void;
type AddListener = {
  (event: 'exit', listener: ExitListener): void;
  (event: 'error', listener: (error: Error) => void): void;
};

export type SpawnedProcess = {
  stdin: Writable;
  stdout: Readable;
  readonly killed: boolean;
  readonly exitCode: number | null;
  readonly signalCode?: NodeJS.Signals | null;
  kill(signal: NodeJS.Signals): boolean;
  on: AddListener;
  once: AddListener;
  off: AddListener;
};

type PresetPrompt = {
  type: 'preset';
  preset: 'claude_code';
  append?: string;
  excludeDynamicSections?: boolean;
  snapshot?: boolean;
};

type ModelOptions = {
  model?: string;
  fallbackModel?: string;
  /** Replaces our system prompt; a preset appends to it. */
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

type ToolOptions = {
  /** Rules that allow calls, such as `Bash(npm test:*)` or `mcp__shop__order`. */
  allowedTools?: string[];
  disallowedTools?: string[];
  /** The built-in tools that the model is offered. The program's tools are always offered. */
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
   * Answers the questions that MCP servers outside the program ask in the middle of a call. Without
   * it they may not ask.
   */
  onElicitation?: OnElicitation;
  /**
   * Servers made with `createSdkMcpServer()`, processes, or servers at an address. The last two are
   * not trusted: every call of their tools asks.
   */
  mcpServers?: Record<string, McpServerConfig>;
  mcpServersDelivery?: 'argv' | 'initialize';
  strictMcpConfig?: boolean;
  /** Types of agents by name, in addition to the built-in `general` and `explore`. */
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

type SessionOptions = {
  /** The id of a session to go on with. */
  resume?: string;
  resumeSessionAt?: string;
  resumeDropsTurn?: string;
  forkSession?: boolean;
  /** Goes on with the newest session of `cwd` that the program can work on, or begins a new one. */
  continue?: boolean;
  /** The id of the session to open. The same query with the same id goes on after a crash. */
  sessionId?: string;
  title?: string;
  persistSession?: boolean;
  sessionStore?: SessionStore;
  sessionStoreFlush?: SessionStoreFlush;
  enableFileCheckpointing?: boolean;
  includePartialMessages?: boolean;
  includeHookEvents?: boolean;
  /** Aborting it interrupts the run and makes the query throw AbortError. */
  abortController?: AbortController;
};

type PlaceOptions = {
  cwd?: string;
  /**
   * Other folders that tools may read and change, relative to `cwd` or absolute. Their paths must
   * not contain links.
   */
  additionalDirectories?: string[];
  projectConfigRoot?: string;
  /**
   * Variables that configure Perdure and the model. All others go to commands and tools, and are
   * not stored.
   */
  env?: Record<string, string | undefined>;
  settings?: string | Settings;
  managedSettings?: Settings;
  settingSources?: SettingSource[];
  /** Receives notices for a person, one line each. Without it they go to standard error. */
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

export type Options = ModelOptions & ToolOptions & SessionOptions & PlaceOptions;

export type ResolvedSettingSource = SettingSource | 'managed' | 'flag';
export type PolicySettingsOrigin = 'helper' | 'remote' | 'plist' | 'hklm' | 'file' | 'parent' | 'hkcu';
export type ProvenanceEntry = { source: ResolvedSettingSource; path?: string; policyOrigin?: PolicySettingsOrigin };

export type ResolveSettingsOptions = {
  cwd?: string;
  settingSources?: SettingSource[];
  managedSettings?: Settings;
  serverManagedSettings?: Settings;
  registryPolicyFingerprint?: () => unknown;
};

export type ResolvedSettings = {
  effective: Settings;
  provenance: Partial<Record<keyof Settings, ProvenanceEntry>>;
  /** Sources of lower rank come first. */
  sources: (ProvenanceEntry & { settings: Settings })[];
  machinePolicy?: {
    didNotLoad: false | ('profile' | 'registry' | 'file')[];
    registryPolicyDifferedFromFingerprint?: true;
  };
};

/**
 * A type of agent. `model` takes a full or a short name; `inherit`, like an absent field, means the
 * session's model.
 */
export type AgentDefinition = {
  description: string;
  prompt: string;
  tools?: string[];
  disallowedTools?: string[];
  model?: string;
  maxTurns?: number;
  effort?: EffortLevel | number;
  permissionMode?: PermissionMode;
  mcpServers?: AgentMcpServerSpec[];
  skills?: string[];
  memory?: 'user' | 'project' | 'local';
  background?: boolean;
  initialPrompt?: string;
  omitClaudeMd?: boolean;
  autoCompactWindow?: number;
  observer?: string;
  observerMessage?: string;
  criticalSystemReminder_EXPERIMENTAL?: string;
  /** Only here: the agent works in a git worktree of its own, on a new branch. */
  isolation?: 'worktree';
};
