// Constants and the error class that programs import together with query(), and ids of messages
// that are the same at every reading.
import type { ExitReason } from './shapes/hook-inputs.ts';
import type { HookEvent } from './shapes/hooks.ts';
import { createHash, type UUID } from 'node:crypto';

/** Thrown by a query whose `abortController` was aborted. */
export class AbortError extends Error {
  override readonly name = 'AbortError';
}

/** Separates the constant texts from the changing ones in a list given as systemPrompt. */
export const SYSTEM_PROMPT_DYNAMIC_BOUNDARY = '__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__';

export const EXIT_REASONS = [
  'clear',
  'resume',
  'logout',
  'prompt_input_exit',
  'other',
] as const satisfies readonly ExitReason[];

/**
 * The events that hooks may be given for. docs/api/agent-sdk-rows.md lists those that are called.
 */
export const HOOK_EVENTS = [
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PostToolBatch',
  'Notification',
  'UserPromptSubmit',
  'UserPromptExpansion',
  'SessionStart',
  'SessionEnd',
  'Stop',
  'StopFailure',
  'SubagentStart',
  'SubagentStop',
  'PreCompact',
  'PostCompact',
  'PreModelSwitch',
  'PostModelSwitch',
  'PermissionRequest',
  'PermissionDenied',
  'Setup',
  'TeammateIdle',
  'TaskCreated',
  'TaskCompleted',
  'Elicitation',
  'ElicitationResult',
  'ConfigChange',
  'WorktreeCreate',
  'WorktreeRemove',
  'InstructionsLoaded',
  'CwdChanged',
  'FileChanged',
  'DirectoryAdded',
  'MessageDisplay',
  'PreSkillShellCommand',
] as const satisfies readonly HookEvent[];

/** Returns a version 8 UUID that is the hash of the parts. */
export function uuidOf(...parts: readonly (string | number)[]): UUID {
  const hex = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return groups.join('-') as UUID;
}
