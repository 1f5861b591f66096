// Declares the hooks of a program, by event.
// Declares the answers of hooks.
import type {
  ConfigChangeHookInput,
  CwdChangedHookInput,
  DirectoryAddedHookInput,
  ElicitationHookInput,
  ElicitationResultHookInput,
  FileChangedHookInput,
  InstructionsLoadedHookInput,
  MessageDisplayHookInput,
  NotificationHookInput,
  PermissionDeniedHookInput,
  PermissionRequestHookInput,
  PostCompactHookInput,
  PostModelSwitchHookInput,
  PostToolBatchHookInput,
  PostToolUseFailureHookInput,
  PostToolUseHookInput,
  PreCompactHookInput,
  PreModelSwitchHookInput,
  PreSkillShellCommandHookInput,
  PreToolUseHookInput,
  SessionEndHookInput,
  SessionStartHookInput,
  SetupHookInput,
  StopFailureHookInput,
  StopHookInput,
  SubagentStartHookInput,
  SubagentStopHookInput,
  TaskCompletedHookInput,
  TaskCreatedHookInput,
  TeammateIdleHookInput,
  UserPromptExpansionHookInput,
  UserPromptSubmitHookInput,
  WorktreeCreateHookInput,
  WorktreeRemoveHookInput,
} from './hook-inputs.ts';
import type { PermissionUpdate } from './facts.ts';

export type HookInput =
  | PreToolUseHookInput
  | PostToolUseHookInput
  | PostToolUseFailureHookInput
  | PostToolBatchHookInput
  | PermissionDeniedHookInput
  | PermissionRequestHookInput
  | UserPromptSubmitHookInput
  | UserPromptExpansionHookInput
  | SessionStartHookInput
  | SessionEndHookInput
  | SetupHookInput
  | StopHookInput
  | StopFailureHookInput
  | SubagentStartHookInput
  | SubagentStopHookInput
  | PreCompactHookInput
  | PostCompactHookInput
  | PreModelSwitchHookInput
  | PostModelSwitchHookInput
  | NotificationHookInput
  | TaskCreatedHookInput
  | TaskCompletedHookInput
  | TeammateIdleHookInput
  | ElicitationHookInput
  | ElicitationResultHookInput
  | ConfigChangeHookInput
  | InstructionsLoadedHookInput
  | WorktreeCreateHookInput
  | WorktreeRemoveHookInput
  | CwdChangedHookInput
  | FileChangedHookInput
  | DirectoryAddedHookInput
  | MessageDisplayHookInput
  | PreSkillShellCommandHookInput;

export type HookEvent = HookInput['hook_event_name'];

export type HookCallback = (
  input: HookInput,
  toolUseID: string | undefined,
  options: { signal: AbortSignal },
) => Promise<HookJSONOutput>;

/** `timeout` is in seconds. */
export type HookCallbackMatcher = {
  matcher?: string;
  hooks: HookCallback[];
  timeout?: number;
  onFailure?: 'continue' | 'block';
};

export type Hooks = Partial<Record<HookEvent, HookCallbackMatcher[]>>;

export type HookPermissionDecision = 'allow' | 'deny' | 'ask' | 'defer';

type Context<Event extends string> = { hookEventName: Event; additionalContext?: string };
type Decision = { permissionDecisionReason?: string };
type FormAnswer = { action?: 'accept' | 'decline' | 'cancel'; content?: Record<string, unknown> };

export type PreToolUseHookSpecificOutput = Context<'PreToolUse'> &
  Decision & { permissionDecision?: HookPermissionDecision; updatedInput?: Record<string, unknown> };
export type PostToolUseHookSpecificOutput = Context<'PostToolUse'> & {
  classifierContext?: string;
  updatedToolOutput?: unknown;
  updatedMCPToolOutput?: unknown;
};
export type PostToolUseFailureHookSpecificOutput = Context<'PostToolUseFailure'>;
export type PostToolBatchHookSpecificOutput = Context<'PostToolBatch'>;
export type UserPromptSubmitHookSpecificOutput = Context<'UserPromptSubmit'> & {
  sessionTitle?: string;
  suppressOriginalPrompt?: boolean;
};
export type UserPromptExpansionHookSpecificOutput = Context<'UserPromptExpansion'> & {
  suppressOriginalPrompt?: boolean;
};
export type SessionStartHookSpecificOutput = Context<'SessionStart'> & {
  initialUserMessage?: string;
  sessionTitle?: string;
  watchPaths?: string[];
  reloadSkills?: boolean;
};
export type SetupHookSpecificOutput = Context<'Setup'>;
export type StopHookSpecificOutput = Context<'Stop'>;
export type SubagentStartHookSpecificOutput = Context<'SubagentStart'>;
export type SubagentStopHookSpecificOutput = Context<'SubagentStop'>;
export type NotificationHookSpecificOutput = Context<'Notification'>;
export type PostModelSwitchHookSpecificOutput = Context<'PostModelSwitch'>;
export type PreModelSwitchHookSpecificOutput = { hookEventName: 'PreModelSwitch' } & Decision & {
    permissionDecision?: 'allow' | 'deny' | 'ask';
  };
export type PreSkillShellCommandHookSpecificOutput = { hookEventName: 'PreSkillShellCommand' } & Decision & {
    permissionDecision?: HookPermissionDecision;
    updatedInput?: Record<string, unknown>;
  };
export type PermissionDeniedHookSpecificOutput = { hookEventName: 'PermissionDenied'; retry?: boolean };
export type PermissionRequestHookSpecificOutput = {
  hookEventName: 'PermissionRequest';
  decision:
    | { behavior: 'allow'; updatedInput?: Record<string, unknown>; updatedPermissions?: PermissionUpdate[] }
    | { behavior: 'deny'; message?: string; interrupt?: boolean };
};
export type ElicitationHookSpecificOutput = { hookEventName: 'Elicitation' } & FormAnswer;
export type ElicitationResultHookSpecificOutput = { hookEventName: 'ElicitationResult' } & FormAnswer;
export type CwdChangedHookSpecificOutput = { hookEventName: 'CwdChanged'; watchPaths?: string[] };
export type FileChangedHookSpecificOutput = { hookEventName: 'FileChanged'; watchPaths?: string[] };
export type WorktreeCreateHookSpecificOutput = { hookEventName: 'WorktreeCreate'; worktreePath: string };
export type MessageDisplayHookSpecificOutput = { hookEventName: 'MessageDisplay'; displayContent?: string };

export type AsyncHookJSONOutput = { async: true; asyncTimeout?: number };

export type SyncHookJSONOutput = {
  continue?: boolean;
  stopReason?: string;
  decision?: 'approve' | 'block';
  reason?: string;
  systemMessage?: string;
  suppressOutput?: boolean;
  terminalSequence?: string;
  hookSpecificOutput?:
    | PreToolUseHookSpecificOutput
    | PostToolUseHookSpecificOutput
    | PostToolUseFailureHookSpecificOutput
    | PostToolBatchHookSpecificOutput
    | UserPromptSubmitHookSpecificOutput
    | UserPromptExpansionHookSpecificOutput
    | SessionStartHookSpecificOutput
    | SetupHookSpecificOutput
    | StopHookSpecificOutput
    | SubagentStartHookSpecificOutput
    | SubagentStopHookSpecificOutput
    | NotificationHookSpecificOutput
    | PreModelSwitchHookSpecificOutput
    | PostModelSwitchHookSpecificOutput
    | PreSkillShellCommandHookSpecificOutput
    | PermissionDeniedHookSpecificOutput
    | PermissionRequestHookSpecificOutput
    | ElicitationHookSpecificOutput
    | ElicitationResultHookSpecificOutput
    | CwdChangedHookSpecificOutput
    | FileChangedHookSpecificOutput
    | WorktreeCreateHookSpecificOutput
    | MessageDisplayHookSpecificOutput;
};

export type HookJSONOutput = AsyncHookJSONOutput | SyncHookJSONOutput;
