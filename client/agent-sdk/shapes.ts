// The shapes that programs for in-process agents use: messages that query() yields, what callbacks are told and answer.
import type { ContentBlockParam, Message, MessageParam } from '@anthropic-ai/sdk/resources/messages';

type Common = { readonly uuid: string; readonly session_id: string };

export type PermissionMode = 'default' | 'acceptEdits' | 'bypassPermissions' | 'plan' | 'dontAsk';

export type SDKSystemMessage = Common & {
  readonly type: 'system';
  readonly subtype: 'init';
  readonly apiKeySource: string;
  readonly cwd: string;
  readonly tools: readonly string[];
  readonly mcp_servers: readonly { readonly name: string; readonly status: string }[];
  readonly model: string;
  readonly permissionMode: PermissionMode;
  readonly slash_commands: readonly string[];
  readonly output_style: string;
  readonly skills: readonly string[];
  readonly plugins: readonly { readonly name: string; readonly path: string }[];
};

export type SDKAssistantMessage = Common & {
  readonly type: 'assistant';
  readonly message: Message;
  readonly parent_tool_use_id: null;
};

/** The results of calls. */
export type SDKToolResultMessage = Common & {
  readonly type: 'user';
  readonly message: { readonly role: 'user'; readonly content: readonly ContentBlockParam[] };
  readonly parent_tool_use_id: null;
  readonly tool_use_result: string;
};

/** What a program sends: texts, images and PDF documents. With a `uuid` it is the same message whenever it is sent again. */
export type SDKUserMessage = {
  readonly type: 'user';
  readonly message: MessageParam;
  readonly parent_tool_use_id: string | null;
  readonly uuid?: string;
  readonly session_id?: string;
  /** `now`: interrupts what runs for it. */
  readonly priority?: 'now' | 'next' | 'later';
};

/** `event`: as the Messages API streams it, without what only the stored message has: usage, signatures. */
export type SDKPartialAssistantMessage = Common & {
  readonly type: 'stream_event';
  readonly event: { readonly type: string; readonly [key: string]: unknown };
  readonly parent_tool_use_id: null;
};

export type SDKToolProgressMessage = Common & {
  readonly type: 'tool_progress';
  readonly tool_use_id: string;
  readonly tool_name: string;
  readonly parent_tool_use_id: null;
  readonly elapsed_time_seconds: number;
};

export type SDKCompactBoundaryMessage = Common & {
  readonly type: 'system';
  readonly subtype: 'compact_boundary';
  readonly compact_metadata: {
    readonly trigger: 'manual' | 'auto';
    readonly pre_tokens: number;
    readonly post_tokens: number;
  };
};

export type SDKAPIRetryMessage = Common & {
  readonly type: 'system';
  readonly subtype: 'api_retry';
  readonly attempt: number;
  readonly retry_delay_ms: number;
  /** Null where no answer came. */
  readonly error_status: number | null;
  readonly error: string;
};

type TokenCounts = {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
};

export type ModelUsage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  /** US dollars; 0 when its price is not known. */
  readonly costUSD: number;
};

export type SDKPermissionDenial = {
  readonly tool_name: string;
  readonly tool_use_id: string;
  readonly tool_input: Readonly<Record<string, unknown>>;
};

type ResultFacts = Common & {
  readonly type: 'result';
  readonly duration_ms: number;
  readonly is_error: boolean;
  readonly num_turns: number;
  readonly stop_reason: string | null;
  /** 0 when a price is not known. */
  readonly total_cost_usd: number;
  readonly usage: TokenCounts;
  readonly modelUsage: Readonly<Record<string, ModelUsage>>;
  readonly permission_denials: readonly SDKPermissionDenial[];
  /** Our own word for the end of a run. */
  readonly terminal_reason: string;
};

export type SDKResultMessage = ResultFacts &
  (
    | { readonly subtype: 'success'; readonly result: string; readonly structured_output?: unknown }
    | {
        readonly subtype:
          'error_during_execution' | 'error_max_turns' | 'error_max_budget_usd' | 'error_max_structured_output_retries';
        readonly errors: readonly string[];
      }
  );

export type SDKMessage =
  | SDKSystemMessage
  | SDKAssistantMessage
  | SDKToolResultMessage
  | SDKPartialAssistantMessage
  | SDKToolProgressMessage
  | SDKCompactBoundaryMessage
  | SDKAPIRetryMessage
  | SDKResultMessage;

export type PermissionResult =
  | {
      readonly behavior: 'allow';
      readonly updatedInput?: Record<string, unknown>;
      readonly updatedPermissions?: unknown;
    }
  | { readonly behavior: 'deny'; readonly message: string; readonly interrupt?: boolean };

/** A type of agent. `model`: a whole name; `inherit`, or none: as the session has it. */
export type AgentDefinition = {
  readonly description: string;
  readonly prompt: string;
  readonly tools?: readonly string[];
  readonly model?: string;
  readonly maxTurns?: number;
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  /** It works in a git worktree of its own, on a new branch. */
  readonly isolation?: 'worktree';
};

/** What a server asks in the middle of a call: for the fields of a form, or that a page is opened. */
export type ElicitationRequest = {
  readonly serverName: string;
  readonly message: string;
  readonly mode?: 'form' | 'url';
  readonly url?: string;
  readonly elicitationId?: string;
  readonly requestedSchema?: Readonly<Record<string, unknown>>;
};

export type ElicitationResult = {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, string | number | boolean | string[]>;
};

/** Null: nobody answers. */
export type OnElicitation = (
  request: ElicitationRequest,
  options: { readonly signal: AbortSignal; readonly requestId: string },
) => Promise<ElicitationResult | null>;

export type CanUseTool = (
  toolName: string,
  input: Record<string, unknown>,
  options: {
    /** Aborted when nobody waits for the answer any more: someone else decided, or the time is up. */
    readonly signal: AbortSignal;
    readonly toolUseID: string;
    readonly decisionReason: string;
    readonly suggestions: readonly [];
  },
) => Promise<PermissionResult>;

export type HookEvent =
  | 'PreToolUse'
  | 'PostToolUse'
  | 'PostToolUseFailure'
  | 'UserPromptSubmit'
  | 'SessionStart'
  | 'SessionEnd'
  | 'Stop'
  | 'PreCompact';

/** The fields beyond the common ones depend on `hook_event_name`. */
export type HookInput = {
  readonly hook_event_name: HookEvent;
  readonly session_id: string;
  readonly transcript_path: string;
  readonly cwd: string;
  readonly [key: string]: unknown;
};

export type HookJSONOutput = {
  readonly continue?: boolean;
  readonly stopReason?: string;
  readonly decision?: 'approve' | 'block';
  readonly reason?: string;
  readonly systemMessage?: string;
  readonly suppressOutput?: boolean;
  readonly hookSpecificOutput?: {
    readonly hookEventName?: string;
    readonly permissionDecision?: 'allow' | 'deny' | 'ask';
    readonly permissionDecisionReason?: string;
    readonly updatedInput?: Record<string, unknown>;
    readonly additionalContext?: string;
  };
};

export type HookCallback = (
  input: HookInput,
  toolUseID: string | undefined,
  options: { readonly signal: AbortSignal },
) => Promise<HookJSONOutput>;

/** `timeout` in seconds. */
export type HookCallbackMatcher = {
  readonly matcher?: string;
  readonly hooks: readonly HookCallback[];
  readonly timeout?: number;
};
