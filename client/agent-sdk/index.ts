// The exports of `perdure/agent-sdk`: a program for an in-process agent becomes durable by changing
// its import to it.
import '../../system/process/supported.ts';
export { query, startup } from './query.ts';
export {
  deleteSession,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  listSessions,
  listSubagents,
  renameSession,
  tagSession,
} from './sessions/sessions.ts';
export { foldSessionSummary, importSessionToStore, InMemorySessionStore } from './sessions/session-store.ts';
export { BUILTIN_TOOL_NAMES, LEGACY_TOOL_NAME_ALIASES } from './names.ts';
export {
  filterEscalatingDefaultMode,
  ORG_POLICY_LIMIT_PREFIXES,
  resolveSettings,
  USAGE_LIMIT_ERROR_PREFIXES,
  USAGE_TRANSITION_PREFIXES,
  USAGE_WARNING_PREFIXES,
} from './query-settings.ts';
export { createSdkMcpServer, tool } from './tools.ts';
export { AbortError, EXIT_REASONS, HOOK_EVENTS, SYSTEM_PROMPT_DYNAMIC_BOUNDARY } from './values.ts';
export type * from './shapes/options.ts';
export type * from './shapes/facts.ts';
export type * from './shapes/hooks.ts';
export type * from './shapes/hook-inputs.ts';
export type * from './shapes/mcp.ts';
export type * from './shapes/messages.ts';
export type * from './shapes/query.ts';
export type * from './shapes/rare-messages.ts';
export type * from './shapes/system-messages.ts';
