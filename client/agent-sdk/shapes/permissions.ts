// Who decides about a call, and what they may answer.

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

type Decided = { toolUseID?: string; decisionClassification?: PermissionDecisionClassification };

export type PermissionResult =
  | ({
      behavior: 'allow';
      updatedInput?: Record<string, unknown>;
      updatedPermissions?: PermissionUpdate[];
    } & Decided)
  | ({ behavior: 'deny'; message: string; interrupt?: boolean } & Decided);

export type CanUseTool = (
  toolName: string,
  input: Record<string, unknown>,
  options: {
    /**
     * Aborted when nobody waits for the answer any more: someone else decided, or the time is up.
     */
    signal: AbortSignal;
    toolUseID: string;
    /** The call's key: it names the request. */
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

/** A call that was denied, in a result. */
export type SDKPermissionDenial = { tool_name: string; tool_use_id: string; tool_input: Record<string, unknown> };

/**
 * What a server asks in the middle of a call: for the fields of a form, or that a page is opened.
 */
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

type Asking = { signal: AbortSignal; requestId: string };

/** Null: nobody answers. */
export type OnElicitation = (request: ElicitationRequest, options: Asking) => Promise<ElicitationResult | null>;

export type UserDialogRequest = { dialogKind: string; payload: Record<string, unknown>; toolUseID?: string };
export type UserDialogResult = { behavior: 'completed'; result: unknown } | { behavior: 'cancelled' };
export type OnUserDialog = (request: UserDialogRequest, options: Asking) => Promise<UserDialogResult | null>;
