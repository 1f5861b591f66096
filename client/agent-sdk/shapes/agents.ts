// Types of agents, as a program gives them.
import type { EffortLevel } from './facts.ts';
import type { AgentMcpServerSpec } from './mcp.ts';
import type { PermissionMode } from './permissions.ts';

/**
 * A type of agent. `model`: a whole name or a short one; `inherit`, or none: as the session has it.
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
  /** Ours: it works in a git worktree of its own, on a new branch. */
  isolation?: 'worktree';
};
