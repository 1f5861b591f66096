// Tools of programs and of MCP servers, as a worker's configuration names them.
export { countSearches } from '../../activities/model/usage-counts.ts';
export { inwardInput, outwardFields, ownName } from '../../store/transcript/tool-names.ts';
export { endCommand } from '../../tools/builtin/background-commands.ts';
export {
  findSkills,
  parseSkill,
  readSkillBody,
  readSkillSettings,
  SKILL_FILE,
} from '../../tools/builtin/files/skills.ts';
export { describeCommand, readStartedId, sourceName } from '../../tools/builtin/shell/background-words.ts';
export { isListed, isListedAs, RESOURCES, SERVER_PREFIX, VALID_NAME } from '../../tools/registry.ts';
export { callAsTask } from '../../tools/mcp/call-task.ts';
export { McpError } from '../../tools/mcp/failures.ts';
export { FOR_EVER, linkInProcess } from '../../tools/mcp/link.ts';
export { listTools } from '../../tools/mcp/list-tools.ts';
export { callResult, toToolOutput } from '../../tools/mcp/results.ts';
export { IDEMPOTENCY_KEY } from '../../tools/mcp/server-tools.ts';
export { mcpBounds, nameServerTool, PROGRESS_CALL_MS } from '../../tools/mcp/servers.ts';
export { defineTool, ToolFailure } from '../../tools/tool.ts';
export { checkConfig } from '../../worker/config/config.ts';
export { runDefaults } from '../../worker/config/defaults.ts';
export { forWorkersOf } from '../../worker/config/queue.ts';
