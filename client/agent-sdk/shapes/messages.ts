// Declares the messages that a query yields, and those that a program sends.
import type { UUID } from 'node:crypto';
import type {
  BetaMessage,
  BetaRawMessageStreamEvent,
  BetaUsage,
} from '@anthropic-ai/sdk/resources/beta/messages/messages';
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { Identified, SDKAssistantMessageError, SDKPermissionDenial } from './facts.ts';
import type { OtherMessage } from './rare-messages.ts';

/** The user messages that caused this message. */
export type Caused = { user_message_uuid?: string; user_message_uuids?: string[]; resume_reason?: string };
type AgentFacts = { agent_id?: string; subagent_type?: string; task_description?: string };

export type SDKAssistantMessage = Identified &
  Caused &
  AgentFacts & {
    type: 'assistant';
    message: BetaMessage;
    parent_tool_use_id: string | null;
    error?: SDKAssistantMessageError;
    request_id?: string;
    supersedes?: UUID[];
    aborted?: true;
    timestamp?: string;
    resumed_from_incomplete_thinking?: true;
  };

export type SDKMessageOrigin =
  | { kind: 'human' | 'coordinator' | 'unclassified' | 'auto-continuation' | 'observer-activity' }
  | { kind: 'channel'; server: string }
  | { kind: 'observer'; from: string; senderTaskId: string }
  | {
      kind: 'task-notification';
      subkind?: 'scheduled-trigger' | 'peer-send-message' | 'projects-relay' | 'session-inbox' | 'external-event';
      fireReason?: string;
      runId?: string;
    }
  | {
      kind: 'peer';
      from: string;
      fromMode?: 'bypass' | 'prompting';
      name?: string;
      fromSession?: string;
      senderTaskId?: string;
      body?: string;
      verifiedPeerPid?: number;
    };

type UserFacts = {
  type: 'user';
  message: MessageParam;
  parent_tool_use_id: string | null;
  isSynthetic?: boolean;
  tool_use_result?: unknown;
  /** With `now` the message interrupts the current run. */
  priority?: 'now' | 'next' | 'later';
  origin?: SDKMessageOrigin;
  shouldQuery?: boolean;
  timestamp?: string;
  client_composed?: true;
};

/**
 * A message that a program sends, with texts, images and PDF documents, or one with the results of
 * calls. A message with a `uuid` stays the same when it is sent again.
 */
export type SDKUserMessage = UserFacts &
  AgentFacts & {
    uuid?: UUID;
    session_id?: string;
    pasted_content?: MessageParam['content'][];
    inline_pastes?: string[];
  };

export type SDKUserMessageReplay = UserFacts & Identified & { isReplay: true; file_attachments?: unknown[] };

/**
 * A part of a reply. `event` has the form of the Messages API's stream, without the usage and the
 * signatures that only the stored message has.
 */
export type SDKPartialAssistantMessage = Identified &
  Caused & {
    type: 'stream_event';
    event: BetaRawMessageStreamEvent;
    parent_tool_use_id: string | null;
    ttft_ms?: number;
  };

export type SDKToolProgressMessage = Identified & {
  type: 'tool_progress';
  tool_use_id: string;
  tool_name: string;
  parent_tool_use_id: string | null;
  elapsed_time_seconds: number;
  task_id?: string;
  heartbeat?: boolean;
  subagent_type?: string;
};

export type SDKToolUseSummaryMessage = Identified & {
  type: 'tool_use_summary';
  summary: string;
  preceding_tool_use_ids: string[];
};

export type NonNullableUsage = {
  [Count in keyof BetaUsage]: Count extends 'fallback_credit' ? BetaUsage[Count] : NonNullable<BetaUsage[Count]>;
};

export type ModelUsage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadInputTokens: number;
  cacheCreationInputTokens: number;
  webSearchRequests: number;
  /** US dollars; 0 when the price is unknown. */
  costUSD: number;
  /** Tokens; 0 where the model is not in the catalogue. */
  contextWindow: number;
  maxOutputTokens: number;
  thinkingTokens?: number;
  cacheCreationEphemeral5mInputTokens?: number;
  cacheCreationEphemeral1hInputTokens?: number;
  canonicalModel?: string;
  provider?: string;
  costBasis?: 'list' | 'managed' | 'unknown';
};

export type TerminalReason =
  | 'completed'
  | 'max_turns'
  | 'budget_exhausted'
  | 'structured_output_retry_exhausted'
  | 'aborted_streaming'
  | 'aborted_tools'
  | 'stop_hook_prevented'
  | 'hook_stopped'
  | 'blocking_limit'
  | 'rapid_refill_breaker'
  | 'prompt_too_long'
  | 'image_error'
  | 'model_error'
  | 'api_error'
  | 'malformed_tool_use_exhausted'
  | 'tool_deferred'
  | 'tool_deferred_unavailable'
  | 'background_requested'
  | 'turn_setup_failed'
  // The reasons below occur only here.
  | 'max_output_tokens'
  | 'timeout'
  | 'permission_denied'
  | 'fatal_tool_error';

export type SDKDeferredToolUse = { id: string; name: string; input: Record<string, unknown> };

type ResultFacts = Identified &
  Caused & {
    type: 'result';
    is_error: boolean;
    duration_ms: number;
    duration_api_ms: number;
    num_turns: number;
    stop_reason: string | null;
    /** US dollars; 0 when a price is unknown. */
    total_cost_usd: number;
    usage: NonNullableUsage;
    modelUsage: Record<string, ModelUsage>;
    permission_denials: SDKPermissionDenial[];
    terminal_reason?: TerminalReason;
    queued_turn_count?: number;
    result_index?: number;
    origin?: SDKMessageOrigin;
    credential_expires_at?: string;
  };

export type SDKResultSuccess = ResultFacts & {
  subtype: 'success';
  result: string;
  structured_output?: unknown;
  deferred_tool_use?: SDKDeferredToolUse;
  api_error_status?: number | null;
  local_command?: string;
  ttft_ms?: number;
  ttft_stream_ms?: number;
  time_to_request_ms?: number;
  warm_spare_claimed?: boolean;
};

export type SDKResultError = ResultFacts & {
  subtype:
    'error_during_execution' | 'error_max_turns' | 'error_max_budget_usd' | 'error_max_structured_output_retries';
  errors: string[];
};

export type SDKResultMessage = SDKResultSuccess | SDKResultError;

export type SDKMessage =
  | OtherMessage
  | SDKAssistantMessage
  | SDKUserMessage
  | SDKUserMessageReplay
  | SDKPartialAssistantMessage
  | SDKToolProgressMessage
  | SDKToolUseSummaryMessage
  | SDKResultMessage;
