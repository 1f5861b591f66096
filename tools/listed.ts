// Lists of tools by name, where `mcp__server` stands for all the tools of that MCP server, which
// come and go (L74).

import { SERVER_PREFIX } from '../store/transcript/found-tools.ts';

export { SERVER_PREFIX } from '../store/transcript/found-tools.ts';

/** The tool that lists and reads what servers have in addition to tools. */
export const RESOURCES = 'mcp_resources';

/** The tool that finds tools of servers, where requests leave their definitions out. */
export const FIND_TOOLS = 'find_tools';

/** Returns the server whose tool this would be; undefined for any other name. */
export function findServerName(name: string): string | undefined {
  return /^mcp__((?:(?!__).)+)__./s.exec(name)?.[1];
}

/**
 * Tells whether a name in a list of tools, or in a rule, means the tool: it is its own, or its
 * server's.
 */
export function isListedAs(listed: string, tool: string): boolean {
  if (listed === tool) return true;
  const server = findServerName(tool);
  return server !== undefined && (listed === `${SERVER_PREFIX}${server}` || listed === `${SERVER_PREFIX}${server}__*`);
}

/**
 * Tells whether a list has a tool; an absent list has all. The tools for work in the background
 * come with the one that begins it (L71, L84), and the one that finds tools of servers with these.
 */
export function isListed(list: readonly string[] | undefined, tool: string): boolean {
  const wanted = /^(agent|bash)_(?:output|send|stop)$/.exec(tool)?.[1] ?? tool;
  if (tool === FIND_TOOLS && list?.some((name) => name.startsWith(SERVER_PREFIX))) return true;
  return list === undefined || list.some((name) => isListedAs(name, wanted));
}
