// Declares the messages about a conversation: its start and state, its tasks, hooks and settings.
import type { UUID } from 'node:crypto';
import type { SDKMcpResourceLink } from './mcp.ts';
import type { Identified, PermissionMode, SDKAssistantMessageError, SlashCommand } from './facts.ts';

type System<Subtype extends string, Facts> = Identified & { type: 'system'; subtype: Subtype } & Facts;

export type ApiKeySource =
  | 'ANTHROPIC_API_KEY'
  | 'apiKeyHelper'
  | '/login managed key'
  | 'none'
  | 'user'
  | 'project'
  | 'org'
  | 'temporary'
  | 'oauth';

/** The first message of each start. */
export type SDKSystemMessage = System<
  'init',
  {
    apiKeySource: ApiKeySource;
    /** The version of Perdure. */
    claude_code_version: string;
    cwd: string;
    model: string;
    permissionMode: PermissionMode;
    tools: string[];
    mcp_servers: { name: string; status: string; source?: string }[];
    slash_commands: string[];
    skills: string[];
    plugins: { name: string; path: string; version?: string }[];
    output_style: string;
    agents?: string[];
    betas?: string[];
    capabilities?: string[];
    effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null;
    terminal_slash_commands?: string[];
  }
>;

export type SDKStatus = 'compacting' | 'requesting' | null;

export type SDKStatusMessage = System<
  'status',
  {
    status: SDKStatus;
    permissionMode?: PermissionMode;
    compact_result?: 'success' | 'failed';
    compact_error?: string;
  }
>;

export type SDKCompactBoundaryMessage = System<
  'compact_boundary',
  {
    compact_metadata: {
      trigger: 'manual' | 'auto';
      pre_tokens: number;
      post_tokens?: number;
      duration_ms?: number;
      preserved_segment?: { head_uuid: UUID; anchor_uuid: UUID; tail_uuid: UUID };
      preserved_messages?: { anchor_uuid: UUID; uuids: UUID[] };
    };
  }
>;

export type SDKAPIRetryMessage = System<
  'api_retry',
  {
    attempt: number;
    max_retries: number;
    retry_delay_ms: number;
    /** The HTTP status, or null when no answer came. */
    error_status: number | null;
    error: SDKAssistantMessageError;
    no_response?: { waited_ms: number; retry_wait_ms: number };
  }
>;

export type SDKSessionStateChangedMessage = System<
  'session_state_changed',
  { state: 'idle' | 'running' | 'requires_action' }
>;

export type SDKPermissionDeniedMessage = System<
  'permission_denied',
  {
    tool_name: string;
    tool_use_id: string;
    message: string;
    agent_id?: string;
    decision_reason?: string;
    decision_reason_type?: string;
  }
>;

type TaskFacts = { task_id: string; run_id?: string };
type CalledTaskFacts = TaskFacts & { tool_use_id?: string };
type TaskUsage = { total_tokens: number; tool_uses: number; duration_ms: number };
type Hidden = { skip_transcript?: boolean; ambient?: boolean };

export type SDKTaskStartedMessage = System<
  'task_started',
  CalledTaskFacts &
    Hidden & {
      description: string;
      subagent_type?: string;
      prompt?: string;
      is_backgrounded?: boolean;
      spawn_depth?: number;
      parent_task_id?: string;
      task_type?: string;
      workflow_name?: string;
    }
>;

export type SDKTaskProgressMessage = System<
  'task_progress',
  CalledTaskFacts & {
    description: string;
    usage: TaskUsage;
    subagent_type?: string;
    last_tool_name?: string;
    summary?: string;
  }
>;

export type SDKTaskUpdatedMessage = System<
  'task_updated',
  TaskFacts & {
    patch: {
      status?: 'pending' | 'running' | 'completed' | 'failed' | 'killed' | 'paused';
      description?: string;
      error?: string;
      end_time?: number;
      total_paused_ms?: number;
      is_backgrounded?: boolean;
    };
  }
>;

export type SDKTaskNotificationMessage = System<
  'task_notification',
  CalledTaskFacts &
    Hidden & {
      status: 'completed' | 'failed' | 'stopped';
      summary: string;
      output_file: string;
      reason?: 'worker_restart';
      usage?: TaskUsage;
      resource_links?: SDKMcpResourceLink[];
    }
>;

type HookFacts = { hook_id: string; hook_name: string; hook_event: string };
type HookOutput = { output: string; stdout: string; stderr: string };

export type SDKHookStartedMessage = System<'hook_started', HookFacts>;
export type SDKHookProgressMessage = System<'hook_progress', HookFacts & HookOutput>;
export type SDKHookResponseMessage = System<
  'hook_response',
  HookFacts & HookOutput & { outcome: 'success' | 'error' | 'cancelled'; exit_code?: number }
>;

export type SDKCommandsChangedMessage = System<'commands_changed', { commands: SlashCommand[] }>;
export type SDKLocalCommandOutputMessage = System<'local_command_output', { content: string }>;
export type SDKElicitationCompleteMessage = System<
  'elicitation_complete',
  { mcp_server_name: string; elicitation_id: string }
>;
export type SDKInformationalMessage = System<
  'informational',
  {
    content: string;
    level: 'info' | 'notice' | 'suggestion' | 'warning';
    tool_use_id?: string;
    prevent_continuation?: boolean;
    tag?: string;
  }
>;
export type SDKNotificationMessage = System<
  'notification',
  {
    key: string;
    text: string;
    priority: 'low' | 'medium' | 'high' | 'immediate';
    color?: string;
    timeout_ms?: number;
  }
>;
export type SDKThinkingTokensMessage = System<
  'thinking_tokens',
  { estimated_tokens: number; estimated_tokens_delta: number; user_message_uuid?: string }
>;
export type SDKWorkerShuttingDownMessage = System<'worker_shutting_down', { reason: string }>;
