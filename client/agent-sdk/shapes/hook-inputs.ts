// What hooks are told. Those that are called here are listed in docs/from-the-agent-sdk.md.
import type { McpServerProvenance } from './mcp.ts';
import type { SDKAssistantMessageError } from './facts.ts';
import type { PermissionUpdate } from './permissions.ts';

export type BaseHookInput = {
  session_id: string;
  /** Empty: a transcript is no file here. */
  transcript_path: string;
  cwd: string;
  prompt_id?: string;
  permission_mode?: string;
  agent_id?: string;
  agent_type?: string;
  effort?: { level: string };
};

type Told<Event extends string, Facts> = BaseHookInput & { hook_event_name: Event } & Facts;

type OfCall = { tool_name: string; tool_input: unknown; tool_use_id: string; mcp_server?: McpServerProvenance };

export type PreToolUseHookInput = Told<'PreToolUse', OfCall>;
export type PostToolUseHookInput = Told<'PostToolUse', OfCall & { tool_response: unknown; duration_ms?: number }>;
export type PostToolUseFailureHookInput = Told<
  'PostToolUseFailure',
  OfCall & { error: string; is_interrupt?: boolean; duration_ms?: number }
>;
export type PostToolBatchToolCall = {
  tool_name: string;
  tool_input: unknown;
  tool_use_id: string;
  tool_response?: unknown;
};
export type PostToolBatchHookInput = Told<'PostToolBatch', { tool_calls: PostToolBatchToolCall[] }>;
export type PermissionDeniedHookInput = Told<'PermissionDenied', OfCall & { reason: string }>;
export type PermissionRequestHookInput = Told<
  'PermissionRequest',
  Omit<OfCall, 'tool_use_id'> & { permission_suggestions?: PermissionUpdate[] }
>;

type PromptSource = 'user' | 'sdk' | 'system' | 'loop_wakeup' | 'schedule_wakeup' | 'poll_event';

export type UserPromptSubmitHookInput = Told<
  'UserPromptSubmit',
  { prompt: string; source?: PromptSource; session_title?: string }
>;
export type UserPromptExpansionHookInput = Told<
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

export type SessionStartHookInput = Told<
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
export type SessionEndHookInput = Told<'SessionEnd', { reason: ExitReason }>;
export type SetupHookInput = Told<'Setup', { trigger: 'init' | 'maintenance' }>;

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

type AtItsEnd = {
  stop_hook_active: boolean;
  last_assistant_message?: string;
  background_tasks?: BackgroundTaskSummary[];
  session_crons?: SessionCronSummary[];
};

export type StopHookInput = Told<'Stop', AtItsEnd>;
export type StopFailureHookInput = Told<
  'StopFailure',
  { error: SDKAssistantMessageError; error_details?: string; last_assistant_message?: string }
>;
export type SubagentStartHookInput = Told<'SubagentStart', { agent_id: string; agent_type: string }>;
export type SubagentStopHookInput = Told<
  'SubagentStop',
  AtItsEnd & { agent_id: string; agent_type: string; agent_transcript_path: string }
>;

type Trigger = { trigger: 'manual' | 'auto' };

export type PreCompactHookInput = Told<'PreCompact', Trigger & { custom_instructions: string | null }>;
export type PostCompactHookInput = Told<'PostCompact', Trigger & { compact_summary: string }>;

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

export type PreModelSwitchHookInput = Told<'PreModelSwitch', ModelSwitch<'command' | 'picker' | 'sdk'>>;
export type PostModelSwitchHookInput = Told<
  'PostModelSwitch',
  ModelSwitch<'command' | 'picker' | 'sdk' | 'auto' | 'resume'>
>;

export type NotificationHookInput = Told<
  'Notification',
  { message: string; title?: string; notification_type: string }
>;

type OfTask = {
  task_id: string;
  task_subject: string;
  task_description?: string;
  teammate_name?: string;
  team_name?: string;
};

export type TaskCreatedHookInput = Told<'TaskCreated', OfTask>;
export type TaskCompletedHookInput = Told<'TaskCompleted', OfTask>;
export type TeammateIdleHookInput = Told<'TeammateIdle', { teammate_name: string; team_name: string }>;

type OfElicitation = { mcp_server_name: string; elicitation_id?: string; mode?: 'form' | 'url' };

export type ElicitationHookInput = Told<
  'Elicitation',
  OfElicitation & { message: string; url?: string; requested_schema?: Record<string, unknown> }
>;
export type ElicitationResultHookInput = Told<
  'ElicitationResult',
  OfElicitation & { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, unknown> }
>;
export type ConfigChangeHookInput = Told<
  'ConfigChange',
  {
    source: 'user_settings' | 'project_settings' | 'local_settings' | 'policy_settings' | 'skills';
    file_path?: string;
  }
>;
export type InstructionsLoadedHookInput = Told<
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
export type WorktreeCreateHookInput = Told<'WorktreeCreate', { name: string }>;
export type WorktreeRemoveHookInput = Told<'WorktreeRemove', { worktree_path: string }>;
export type CwdChangedHookInput = Told<'CwdChanged', { old_cwd: string; new_cwd: string }>;
export type FileChangedHookInput = Told<'FileChanged', { file_path: string; event: 'change' | 'add' | 'unlink' }>;
export type DirectoryAddedHookInput = Told<
  'DirectoryAdded',
  { directory: string; source: 'slash_command' | 'register_repo_root' }
>;
export type MessageDisplayHookInput = Told<
  'MessageDisplay',
  { turn_id: string; message_id: string; index: number; final: boolean; delta: string }
>;
export type PreSkillShellCommandHookInput = Told<
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
