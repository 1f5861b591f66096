// Declares the inputs of hooks. docs/api/agent-sdk-rows.md lists the hooks that are called here.
import type { McpServerProvenance } from './mcp.ts';
import type { PermissionUpdate, SDKAssistantMessageError } from './facts.ts';

export type BaseHookInput = {
  session_id: string;
  /** Always empty, since a transcript is not a file here. */
  transcript_path: string;
  cwd: string;
  prompt_id?: string;
  permission_mode?: string;
  agent_id?: string;
  agent_type?: string;
  effort?: { level: string };
};

type HookInputOf<Event extends string, Facts> = BaseHookInput & { hook_event_name: Event } & Facts;

type CallFacts = { tool_name: string; tool_input: unknown; tool_use_id: string; mcp_server?: McpServerProvenance };

export type PreToolUseHookInput = HookInputOf<'PreToolUse', CallFacts>;
export type PostToolUseHookInput = HookInputOf<
  'PostToolUse',
  CallFacts & { tool_response: unknown; duration_ms?: number }
>;
export type PostToolUseFailureHookInput = HookInputOf<
  'PostToolUseFailure',
  CallFacts & { error: string; is_interrupt?: boolean; duration_ms?: number }
>;
export type PostToolBatchToolCall = {
  tool_name: string;
  tool_input: unknown;
  tool_use_id: string;
  tool_response?: unknown;
};
export type PostToolBatchHookInput = HookInputOf<'PostToolBatch', { tool_calls: PostToolBatchToolCall[] }>;
export type PermissionDeniedHookInput = HookInputOf<'PermissionDenied', CallFacts & { reason: string }>;
export type PermissionRequestHookInput = HookInputOf<
  'PermissionRequest',
  Omit<CallFacts, 'tool_use_id'> & { permission_suggestions?: PermissionUpdate[] }
>;

type PromptSource = 'user' | 'sdk' | 'system' | 'loop_wakeup' | 'schedule_wakeup' | 'poll_event';

export type UserPromptSubmitHookInput = HookInputOf<
  'UserPromptSubmit',
  { prompt: string; source?: PromptSource; session_title?: string }
>;
export type UserPromptExpansionHookInput = HookInputOf<
  'UserPromptExpansion',
  {
    expansion_type: 'slash_command' | 'mcp_prompt';
    command_name: string;
    command_args: string;
    command_source?: string;
    prompt: string;
  }
>;

export type ExitReason = 'clear' | 'resume' | 'logout' | 'prompt_input_exit' | 'other';

export type SessionStartHookInput = HookInputOf<
  'SessionStart',
  {
    source: 'startup' | 'resume' | 'clear' | 'compact' | 'fork';
    agent_type?: string;
    model?: string;
    session_title?: string;
    seconds_since_last_response?: number;
    context_tokens?: number;
    prompt_cache_likely_expired?: boolean;
    estimated_cache_write_usd?: number;
  }
>;
export type SessionEndHookInput = HookInputOf<'SessionEnd', { reason: ExitReason }>;
export type SetupHookInput = HookInputOf<'Setup', { trigger: 'init' | 'maintenance' }>;

export type BackgroundTaskSummary = {
  id: string;
  type: string;
  status: string;
  description: string;
  command?: string;
  agent_type?: string;
  server?: string;
  tool?: string;
  name?: string;
};
export type SessionCronSummary = { id: string; schedule: string; recurring: boolean; prompt: string };

type EndFacts = {
  stop_hook_active: boolean;
  last_assistant_message?: string;
  background_tasks?: BackgroundTaskSummary[];
  session_crons?: SessionCronSummary[];
};

export type StopHookInput = HookInputOf<'Stop', EndFacts>;
export type StopFailureHookInput = HookInputOf<
  'StopFailure',
  { error: SDKAssistantMessageError; error_details?: string; last_assistant_message?: string }
>;
export type SubagentStartHookInput = HookInputOf<'SubagentStart', { agent_id: string; agent_type: string }>;
export type SubagentStopHookInput = HookInputOf<
  'SubagentStop',
  EndFacts & { agent_id: string; agent_type: string; agent_transcript_path: string }
>;

type Trigger = { trigger: 'manual' | 'auto' };

export type PreCompactHookInput = HookInputOf<'PreCompact', Trigger & { custom_instructions: string | null }>;
export type PostCompactHookInput = HookInputOf<'PostCompact', Trigger & { compact_summary: string }>;

type ModelSwitch<Source extends string> = {
  from_model: string;
  to_model: string;
  requested_model: string | null;
  source: Source;
  context_tokens: number;
  prompt_cache_warm: boolean;
  cache_ttl: '5m' | '1h';
  estimated_cache_write_usd: number;
  pricing: 'configured' | 'catalog' | 'default';
};

export type PreModelSwitchHookInput = HookInputOf<'PreModelSwitch', ModelSwitch<'command' | 'picker' | 'sdk'>>;
export type PostModelSwitchHookInput = HookInputOf<
  'PostModelSwitch',
  ModelSwitch<'command' | 'picker' | 'sdk' | 'auto' | 'resume'>
>;

export type NotificationHookInput = HookInputOf<
  'Notification',
  { message: string; title?: string; notification_type: string }
>;

type TaskFacts = {
  task_id: string;
  task_subject: string;
  task_description?: string;
  teammate_name?: string;
  team_name?: string;
};

export type TaskCreatedHookInput = HookInputOf<'TaskCreated', TaskFacts>;
export type TaskCompletedHookInput = HookInputOf<'TaskCompleted', TaskFacts>;
export type TeammateIdleHookInput = HookInputOf<'TeammateIdle', { teammate_name: string; team_name: string }>;

type ElicitationFacts = { mcp_server_name: string; elicitation_id?: string; mode?: 'form' | 'url' };

export type ElicitationHookInput = HookInputOf<
  'Elicitation',
  ElicitationFacts & { message: string; url?: string; requested_schema?: Record<string, unknown> }
>;
export type ElicitationResultHookInput = HookInputOf<
  'ElicitationResult',
  ElicitationFacts & { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, unknown> }
>;
export type ConfigChangeHookInput = HookInputOf<
  'ConfigChange',
  {
    source: 'user_settings' | 'project_settings' | 'local_settings' | 'policy_settings' | 'skills';
    file_path?: string;
  }
>;
export type InstructionsLoadedHookInput = HookInputOf<
  'InstructionsLoaded',
  {
    file_path: string;
    memory_type: 'User' | 'Project' | 'Local' | 'Managed';
    load_reason: 'session_start' | 'nested_traversal' | 'path_glob_match' | 'include' | 'compact';
    globs?: string[];
    trigger_file_path?: string;
    parent_file_path?: string;
  }
>;
export type WorktreeCreateHookInput = HookInputOf<'WorktreeCreate', { name: string }>;
export type WorktreeRemoveHookInput = HookInputOf<'WorktreeRemove', { worktree_path: string }>;
export type CwdChangedHookInput = HookInputOf<'CwdChanged', { old_cwd: string; new_cwd: string }>;
export type FileChangedHookInput = HookInputOf<
  'FileChanged',
  { file_path: string; event: 'change' | 'add' | 'unlink' }
>;
export type DirectoryAddedHookInput = HookInputOf<
  'DirectoryAdded',
  { directory: string; source: 'slash_command' | 'register_repo_root' }
>;
export type MessageDisplayHookInput = HookInputOf<
  'MessageDisplay',
  { turn_id: string; message_id: string; index: number; final: boolean; delta: string }
>;
export type PreSkillShellCommandHookInput = HookInputOf<
  'PreSkillShellCommand',
  {
    tool_name: string;
    tool_input: { command: string };
    tool_use_id: string;
    command_name: string;
    command_source?: string;
    invoked_by: 'user' | 'claude' | 'other';
  }
>;
