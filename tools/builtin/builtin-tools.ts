// The tools that every run has: files and a shell in the workspace.
import type { Tool } from '../tool.ts';
import { agentDefaults } from '../agent-types.ts';
import { createAgentTool, createAgentOutputTool, createAgentSendTool, createAgentStopTool } from './agent.ts';
import { createAskUserTool } from './ask-user.ts';
import { createBashTool } from './bash.ts';
import { createBashOutputTool, createBashStopTool } from './background-commands.ts';
import { createEditTool } from './edit.ts';
import { createGlobTool } from './glob.ts';
import { createGrepTool } from './grep.ts';
import type { BuiltinOptions } from './files/options.ts';
import { createReadTool } from './read.ts';
import { createSkillTool } from './skill.ts';
import { createTodoTool } from './todo.ts';
import { createWaitTool } from './wait.ts';
import { createWebFetchTool } from './web-fetch.ts';
import { createWriteTool } from './write.ts';
import { type BuiltinName, builtinNames } from './builtin-names.ts';

/** Makes each tool. Null: a run is not offered it with these options. */
const MAKERS: Readonly<Record<BuiltinName, (options: BuiltinOptions) => Tool | null>> = {
  agent: ({ agents = agentDefaults }) => createAgentTool(agents),
  agent_output: () => createAgentOutputTool(),
  agent_send: () => createAgentSendTool(),
  agent_stop: () => createAgentStopTool(),
  ask_user: () => createAskUserTool(),
  bash: createBashTool,
  bash_output: createBashOutputTool,
  bash_stop: createBashStopTool,
  edit: createEditTool,
  glob: createGlobTool,
  grep: createGrepTool,
  read: createReadTool,
  skill: ({ skills, dataDir }) => (skills ? createSkillTool(skills, dataDir) : null),
  todo: () => createTodoTool(),
  wait: () => createWaitTool(),
  web_fetch: ({ web = {}, network }) => createWebFetchTool(web, { network }),
  write: createWriteTool,
};

export function createBuiltinTools(options: BuiltinOptions): readonly Tool[] {
  return builtinNames.map((name) => MAKERS[name](options)).filter((tool) => tool !== null);
}
