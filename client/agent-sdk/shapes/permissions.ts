// Declares how a program decides about calls and answers questions of servers.

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
