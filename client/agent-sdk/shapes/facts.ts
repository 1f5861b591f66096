// Declares the types that messages, hooks and answers of a query share.
// Declares how a program decides about calls and answers questions of servers.
// Declares the agent SDK's types for listing, reading and storing sessions, with its field names.
import type { UUID } from 'node:crypto';

export type Identified = { uuid: UUID; session_id: string };
export type SDKAssistantMessageError =
  | 'authentication_failed'
  | 'oauth_org_not_allowed'
  | 'account_on_hold'
  | 'verification_required'
  | 'billing_error'
  | 'rate_limit'
  | 'overloaded'
  | 'invalid_request'
  | 'model_not_found'
  | 'server_error'
  | 'unknown'
  | 'max_output_tokens'
  | 'cloud_credential_error';

export type EffortLevel = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export type SlashCommand = {
  name: string;
  description: string;
  argumentHint: string;
  aliases?: string[];
  builtin?: boolean;
};

export type ModelInfo = {
  /** The name that `model` and `setModel()` take. */
  value: string;
  displayName: string;
  description: string;
  resolvedModel?: string;
  supportsEffort?: boolean;
  supportedEffortLevels?: EffortLevel[];
  supportsAdaptiveThinking?: boolean;
  supportsFastMode?: boolean;
  supportsAutoMode?: boolean;
};

export type AgentInfo = { name: string; description: string; model?: string };

export type AccountInfo = {
  email?: string;
  organization?: string;
  subscriptionType?: string;
  tokenSource?: string;
  apiKeySource?: string;
  apiProvider?:
    'firstParty' | 'bedrock' | 'vertex' | 'foundry' | 'anthropicAws' | 'anthropicGoogleCloud' | 'mantle' | 'gateway';
};

export type PermissionMode = 'default' | 'acceptEdits' | 'bypassPermissions' | 'plan' | 'dontAsk' | 'auto';
export type PermissionBehavior = 'allow' | 'deny' | 'ask';
export type PermissionUpdateDestination = 'userSettings' | 'projectSettings' | 'localSettings' | 'session' | 'cliArg';
export type PermissionDecisionClassification = 'user_temporary' | 'user_permanent' | 'user_reject';

export type PermissionRuleValue = { toolName: string; ruleContent?: string };

export type PermissionUpdate = { destination: PermissionUpdateDestination } & (
  | { type: 'addRules' | 'replaceRules' | 'removeRules'; rules: PermissionRuleValue[]; behavior: PermissionBehavior }
  | { type: 'addDirectories' | 'removeDirectories'; directories: string[] }
  | { type: 'setMode'; mode: PermissionMode }
);

type DecisionFacts = { toolUseID?: string; decisionClassification?: PermissionDecisionClassification };

export type PermissionResult =
  | ({
      behavior: 'allow';
      updatedInput?: Record<string, unknown>;
      updatedPermissions?: PermissionUpdate[];
    } & DecisionFacts)
  | ({ behavior: 'deny'; message: string; interrupt?: boolean } & DecisionFacts);

export type CanUseTool = (
  toolName: string,
  input: Record<string, unknown>,
  options: {
    /** Aborted when another person has decided, or the time is up. */
    signal: AbortSignal;
    toolUseID: string;
    /** Names the request: the key of the call. */
    requestId: string;
    suggestions?: PermissionUpdate[];
    decisionReason?: string;
    title?: string;
    displayName?: string;
    description?: string;
    agentID?: string;
    blockedPath?: string;
    mcpServer?: { name: string; source: string };
    matchedAskRule?: { source: string; toolName: string; ruleContent?: string };
    defaultToNo?: boolean;
    suppressAlwaysAllowRule?: boolean;
  },
) => Promise<PermissionResult | null>;

/** A denied call in a result. */
export type SDKPermissionDenial = { tool_name: string; tool_use_id: string; tool_input: Record<string, unknown> };

/** A server's question in the middle of a call: to fill in a form, or to open a page. */
export type ElicitationRequest = {
  serverName: string;
  message: string;
  mode?: 'form' | 'url';
  url?: string;
  elicitationId?: string;
  requestedSchema?: Record<string, unknown>;
  title?: string;
  displayName?: string;
  description?: string;
};

export type ElicitationResult = {
  action: 'accept' | 'decline' | 'cancel';
  content?: Record<string, string | number | boolean | string[]>;
  [key: string]: unknown;
};

type RequestOptions = { signal: AbortSignal; requestId: string };

/** Resolves to null when the question stays unanswered. */
export type OnElicitation = (request: ElicitationRequest, options: RequestOptions) => Promise<ElicitationResult | null>;

export type UserDialogRequest = { dialogKind: string; payload: Record<string, unknown>; toolUseID?: string };
export type UserDialogResult = { behavior: 'completed'; result: unknown } | { behavior: 'cancelled' };
export type OnUserDialog = (request: UserDialogRequest, options: RequestOptions) => Promise<UserDialogResult | null>;

export type SDKSessionInfo = {
  sessionId: string;
  /** The title, or the beginning of the first prompt. */
  summary: string;
  /** Milliseconds since the epoch. */
  lastModified: number;
  createdAt?: number;
  customTitle?: string;
  firstPrompt?: string;
  cwd?: string;
  tag?: string;
  gitBranch?: string;
  fileSize?: number;
  archived?: boolean;
};

export type SessionMessage = {
  type: 'user' | 'assistant' | 'system';
  uuid: string;
  session_id: string;
  message: unknown;
  parent_tool_use_id: string | null;
  parent_agent_id: string | null;
};

export type SessionKey = { projectKey: string; sessionId: string; subpath?: string };
export type SessionStoreEntry = { type: string; uuid?: string; timestamp?: string; [key: string]: unknown };
export type SessionSummaryEntry = { sessionId: string; mtime: number; data: Record<string, unknown> };
export type SessionStoreFlush = 'batched' | 'eager';

export type SessionStore = {
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>;
  listSessions?(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  listSessionSummaries?(projectKey: string): Promise<SessionSummaryEntry[]>;
  listSubkeys?(key: { projectKey: string; sessionId: string }): Promise<string[]>;
  delete?(key: SessionKey): Promise<void>;
};

/** `dir` limits the sessions to one folder. */
type FolderScope = { dir?: string; sessionStore?: SessionStore };
type Page = { limit?: number; offset?: number };

export type SessionMutationOptions = FolderScope;
export type GetSessionInfoOptions = FolderScope;
export type ListSubagentsOptions = FolderScope;
export type GetSubagentMessagesOptions = FolderScope & Page;
export type GetSessionMessagesOptions = FolderScope & Page & { includeSystemMessages?: boolean };
export type ListSessionsOptions = FolderScope & Page & { includeWorktrees?: boolean; includeProgrammatic?: boolean };
export type ForkSessionOptions = FolderScope & { upToMessageId?: string; title?: string };
export type ForkSessionResult = { sessionId: string };
export type ImportSessionToStoreOptions = { dir?: string; includeSubagents?: boolean; batchSize?: number };
