// The names of the built-in tools, apart from the tools: who only asks for a name need not load them.

export const builtinNames = ['bash', 'edit', 'glob', 'grep', 'read', 'write'] as const;

export type BuiltinName = (typeof builtinNames)[number];
