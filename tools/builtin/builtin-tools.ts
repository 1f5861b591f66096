// The tools every run has: files and a shell in the workspace.
import type { Tool } from '../tool.ts';
import { agentDefaults } from '../agent-types.ts';
import { agentTool } from './agent.ts';
import { askUserTool } from './ask-user.ts';
import { agentOutputTool, agentSendTool, agentStopTool } from './background-agents.ts';
import { bashTool } from './bash.ts';
import { bashOutputTool, bashStopTool } from './background-commands.ts';
import { editTool } from './edit.ts';
import { globTool } from './glob.ts';
import { grepTool } from './grep.ts';
import type { BuiltinOptions } from './files/options.ts';
import { readTool } from './read.ts';
import { skillTool } from './skill.ts';
import { todoTool } from './todo.ts';
import { waitTool } from './wait.ts';
import { webFetchTool } from './web-fetch.ts';
import { writeTool } from './write.ts';

/** Null: a run is not offered it by these options. */
const makers: Readonly<Record<BuiltinName, (options: BuiltinOptions) => Tool | null>> = {
  agent: ({ agents = agentDefaults }) => agentTool(agents),
  agent_output: () => agentOutputTool(),
  agent_send: () => agentSendTool(),
  agent_stop: () => agentStopTool(),
  ask_user: () => askUserTool(),
  bash: bashTool,
  bash_output: bashOutputTool,
  bash_stop: bashStopTool,
  edit: editTool,
  glob: globTool,
  grep: grepTool,
  read: readTool,
  skill: ({ skills, dataDir }) => (skills ? skillTool(skills, dataDir) : null),
  todo: () => todoTool(),
  wait: () => waitTool(),
  web_fetch: ({ web = {}, network }) => webFetchTool(web, { network }),
  write: writeTool,
};

export function builtinTools(options: BuiltinOptions): readonly Tool[] {
  return builtinNames.map((name) => makers[name](options)).filter((tool) => tool !== null);
}

// The names of the built-in tools, apart from the tools: who only asks for a name need not load
// them.

export const builtinNames = [
  'agent',
  'agent_output',
  'agent_send',
  'agent_stop',
  'ask_user',
  'bash',
  'bash_output',
  'bash_stop',
  'edit',
  'glob',
  'grep',
  'read',
  'skill',
  'todo',
  'wait',
  'web_fetch',
  'write',
] as const;

type BuiltinName = (typeof builtinNames)[number];
