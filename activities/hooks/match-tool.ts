// Whether a hook is about a tool: by name, `*` standing for any text.

/** Absent names match every tool. */
export function matchesTool(names: readonly string[] | undefined, tool: string): boolean {
  return names === undefined || names.some((name) => pattern(name).test(tool));
}

function pattern(name: string): RegExp {
  const parts = name.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
