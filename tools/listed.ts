// Lists of tools by name, where `mcp__server` stands for all the tools of that MCP server, which
// come and go (L74).

/** The tools of a server are named `mcp__server__tool`; a server's name holds no `__`. */
export const OF_SERVER = 'mcp__';

/** The tool that lists and reads what servers have beside tools. */
export const RESOURCES = 'mcp_resources';

/** The server whose tool this would be; undefined for any other name. */
export function serverOf(name: string): string | undefined {
  return /^mcp__((?:(?!__).)+)__./s.exec(name)?.[1];
}

/**
 * Whether a name in a list of tools, or in a rule, means the tool: it is its own, or its server's.
 */
export function meansTool(listed: string, tool: string): boolean {
  if (listed === tool) return true;
  const server = serverOf(tool);
  return server !== undefined && (listed === `${OF_SERVER}${server}` || listed === `${OF_SERVER}${server}__*`);
}

/**
 * An absent list is one of all tools. The tools for what is in the background come with the one
 * that begins it (L71, L84).
 */
export function isListed(list: readonly string[] | undefined, tool: string): boolean {
  const wanted = /^(agent|bash)_(?:output|send|stop)$/.exec(tool)?.[1] ?? tool;
  return list === undefined || list.some((name) => meansTool(name, wanted));
}
