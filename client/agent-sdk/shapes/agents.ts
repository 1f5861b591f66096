// Declares the agent types of a program.
import type { EffortLevel } from './facts.ts';
import type { AgentMcpServerSpec } from './mcp.ts';
import type { PermissionMode } from './permissions.ts';

/**
 * A type of agent. `model` takes a full or a short name; `inherit`, like an absent field, means the
 * session's model.
 */
export type AgentDefinition = {
  description: string;
  prompt: string;
  tools?: string[];
  disallowedTools?: string[];
  model?: string;
  maxTurns?: number;
  effort?: EffortLevel | number;
  permissionMode?: PermissionMode;
  mcpServers?: AgentMcpServerSpec[];
  skills?: string[];
  memory?: 'user' | 'project' | 'local';
  background?: boolean;
  initialPrompt?: string;
  omitClaudeMd?: boolean;
  autoCompactWindow?: number;
  observer?: string;
  observerMessage?: string;
  criticalSystemReminder_EXPERIMENTAL?: string;
  /** Only here: the agent works in a git worktree of its own, on a new branch. */
  isolation?: 'worktree';
};
