// The names of the built-in tools, apart from the tools, which a reader of names need not load.

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

export type BuiltinName = (typeof builtinNames)[number];
