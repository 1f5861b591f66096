// Declares messages that programs look for. Sessions here yield `conversation_reset` alone.
import type { UUID } from 'node:crypto';
import type { Identified } from './facts.ts';
import type {
  SDKAPIRetryMessage,
  SDKCommandsChangedMessage,
  SDKCompactBoundaryMessage,
  SDKElicitationCompleteMessage,
  SDKHookProgressMessage,
  SDKHookResponseMessage,
  SDKHookStartedMessage,
  SDKInformationalMessage,
  SDKLocalCommandOutputMessage,
  SDKNotificationMessage,
  SDKPermissionDeniedMessage,
  SDKSessionStateChangedMessage,
  SDKStatusMessage,
  SDKSystemMessage,
  SDKTaskNotificationMessage,
  SDKTaskProgressMessage,
  SDKTaskStartedMessage,
  SDKTaskUpdatedMessage,
  SDKThinkingTokensMessage,
  SDKWorkerShuttingDownMessage,
} from './system-messages.ts';

type System<Subtype extends string, Facts> = Identified & { type: 'system'; subtype: Subtype } & Facts;

type Refusal = {
  original_model: string;
  request_id: string | null;
  content: string;
  api_refusal_category?: string | null;
  api_refusal_explanation?: string | null;
  refused_user_message_uuid?: string | null;
};

export type SDKModelRefusalFallbackMessage = System<
  'model_refusal_fallback',
  Refusal & {
    trigger: 'refusal';
    direction: 'retry' | 'revert' | 'sticky';
    fallback_model: string;
    scope?: 'session' | 'local';
    retracted_message_uuids?: string[];
  }
>;
export type SDKModelRefusalNoFallbackMessage = System<'model_refusal_no_fallback', Refusal>;

export type SDKPluginInstallMessage = System<
  'plugin_install',
  { status: 'started' | 'installed' | 'failed' | 'completed'; name?: string; error?: string }
>;
export type SDKBackgroundTasksChangedMessage = System<
  'background_tasks_changed',
  {
    tasks: {
      task_id: string;
      task_type: string;
      description: string;
      run_id?: string;
      subagent_type?: string;
      parent_task_id?: string;
      ambient?: boolean;
    }[];
  }
>;
export type SDKFilesPersistedEvent = System<
  'files_persisted',
  {
    files: { filename: string; file_id: string }[];
    failed: { filename: string; error: string }[];
    processed_at: string;
  }
>;
export type SDKMemoryRecallMessage = System<
  'memory_recall',
  {
    mode: 'select' | 'synthesize';
    memories: { path: string; scope: 'personal' | 'team' | 'organization'; content?: string }[];
  }
>;
export type SDKMirrorErrorMessage = System<
  'mirror_error',
  { error: string; key: { projectKey: string; sessionId: string; subpath?: string } }
>;
export type SDKSessionWritesLostMessage = System<
  'session_writes_lost',
  { error_code: 'ENOSPC' | 'EDQUOT'; lost: ('transcript' | 'global_config')[]; transcript_session_ids?: string[] }
>;
export type SDKControlRequestProgressMessage = System<
  'control_request_progress',
  {
    request_id: string;
    status: 'started' | 'api_retry';
    attempt?: number;
    max_retries?: number;
    retry_delay_ms?: number;
    error_status?: number | null;
  }
>;

export type SDKAuthStatusMessage = Identified & {
  type: 'auth_status';
  isAuthenticating: boolean;
  output: string[];
  error?: string;
};
export type SDKPromptSuggestionMessage = Identified & { type: 'prompt_suggestion'; suggestion: string };

type LimitStatus = 'allowed' | 'allowed_warning' | 'rejected';

export type SDKRateLimitInfo = {
  status: LimitStatus;
  resetsAt?: number;
  rateLimitType?:
    'five_hour' | 'seven_day' | 'seven_day_opus' | 'seven_day_sonnet' | 'seven_day_overage_included' | 'overage';
  utilization?: number;
  overageStatus?: LimitStatus;
  overageResetsAt?: number;
  overageDisabledReason?: string;
  isUsingOverage?: boolean;
  overageInUse?: boolean;
  overageEnabled?: boolean;
  surpassedThreshold?: number;
  limitScope?: 'service' | 'channel' | 'group_pool';
  errorCode?: 'credits_required';
  canUserPurchaseCredits?: boolean;
  hasChargeableSavedPaymentMethod?: boolean;
};
export type SDKRateLimitEvent = Identified & { type: 'rate_limit_event'; rate_limit_info: SDKRateLimitInfo };

export type SDKConversationResetMessage = Identified & {
  type: 'conversation_reset';
  new_conversation_id: UUID;
  trigger?: 'clear' | 'plan_mode_exit' | 'fresh_session' | 'onboarding';
  user_message_uuid?: string;
  timestamp?: string;
};

/** All messages that are not part of the conversation itself. */
export type OtherMessage =
  | SDKSystemMessage
  | SDKStatusMessage
  | SDKCompactBoundaryMessage
  | SDKAPIRetryMessage
  | SDKSessionStateChangedMessage
  | SDKPermissionDeniedMessage
  | SDKTaskStartedMessage
  | SDKTaskProgressMessage
  | SDKTaskUpdatedMessage
  | SDKTaskNotificationMessage
  | SDKHookStartedMessage
  | SDKHookProgressMessage
  | SDKHookResponseMessage
  | SDKCommandsChangedMessage
  | SDKLocalCommandOutputMessage
  | SDKElicitationCompleteMessage
  | SDKInformationalMessage
  | SDKNotificationMessage
  | SDKThinkingTokensMessage
  | SDKWorkerShuttingDownMessage
  | SDKModelRefusalFallbackMessage
  | SDKModelRefusalNoFallbackMessage
  | SDKPluginInstallMessage
  | SDKBackgroundTasksChangedMessage
  | SDKFilesPersistedEvent
  | SDKMemoryRecallMessage
  | SDKMirrorErrorMessage
  | SDKSessionWritesLostMessage
  | SDKControlRequestProgressMessage
  | SDKAuthStatusMessage
  | SDKPromptSuggestionMessage
  | SDKRateLimitEvent
  | SDKConversationResetMessage;
