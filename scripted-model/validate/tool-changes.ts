// Checks changes of the tools in the middle of a conversation: blocks of system messages that add
// or remove a tool by its name, or bring its definition. Each is judged by what is declared or
// defined where it stands.
import { findLeadingBlock } from '../compaction/blocks.ts';
import { BETAS } from './betas.ts';
import { problemWithCode, firstProblem, isObject, type Json, type RequestProblem } from './shape.ts';
import { toolProblem } from './tools.ts';

const MOST_TOOLS = 10_000;
const MOST_BYTES = 4 * 1_024 * 1_024;

/** The tools known at one place of the conversation. */
type KnownTools = {
  /** Names, with the kind of tool. */
  readonly tools: Map<string, string>;
  readonly servers: Set<string>;
  /** Available tools that messages defined, with the bytes of their definitions. */
  readonly defined: Map<string, number>;
  readonly deferred: Set<string>;
};

type BlockPlace = { readonly path: string; readonly betas: readonly string[] };

export function toolChangesProblem(request: Json, betas: readonly string[]): RequestProblem | undefined {
  const known = readDeclared(request);
  const messages = request['messages'] as readonly Json[];
  const summarised = toList(findLeadingBlock(messages)?.['tool_changes']);
  for (const block of summarised)
    changeProblem(block, { path: '', betas: [BETAS.inlineTools, BETAS.mcpClient] }, known);
  return firstProblem(messages, ({ role, content }, index) => {
    if (role !== 'system' || !Array.isArray(content)) return undefined;
    const blocks = content as readonly Json[];
    return (
      firstProblem(blocks, (block, at) =>
        changeProblem(block, { path: `messages.${index}.content.${at}`, betas }, known),
      ) ?? limitProblem(known, `messages.${index}`)
    );
  });
}

function readDeclared(request: Json): KnownTools {
  const known: KnownTools = { tools: new Map(), servers: new Set(), defined: new Map(), deferred: new Set() };
  for (const tool of toList(request['tools'])) {
    known.tools.set(String(tool['name']), nameKind(tool));
    if (tool['defer_loading'] === true) known.deferred.add(String(tool['name']));
    if (tool['type'] === 'mcp_toolset') known.servers.add(String(tool['mcp_server_name']));
  }
  return known;
}

function changeProblem(block: Json, place: BlockPlace, known: KnownTools): RequestProblem | undefined {
  const { path, betas } = place;
  const type = String(block['type']);
  if (type !== 'tool_addition' && type !== 'tool_removal') return undefined;
  if (!betas.includes(BETAS.inlineTools) && !betas.includes(BETAS.toolChanges)) {
    return `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: 'text'`;
  }
  const { tool } = block;
  if (!isObject(tool)) return `${path}.${type}.tool: Field required`;
  const kind = String(tool['type']);
  if (kind === 'tool_definition' && type === 'tool_addition' && betas.includes(BETAS.inlineTools)) {
    return definitionProblem(
      tool['definition'],
      { path: `${path}.tool_addition.tool.tool_definition.definition`, betas },
      known,
    );
  }
  if (kind === 'tool_reference') {
    if (!known.tools.has(String(tool['name']))) return referenceProblem(path, `tool '${String(tool['name'])}'`);
    if (type === 'tool_removal') known.defined.delete(String(tool['name']));
    return undefined;
  }
  if (kind === 'mcp_tool_reference' || kind === 'mcp_toolset_reference') {
    const server = String(tool['server_name']);
    return known.servers.has(server) ? undefined : referenceProblem(path, `MCP server '${server}'`);
  }
  const tags = "'tool_reference', 'mcp_tool_reference', 'mcp_toolset_reference'";
  return `${path}.${type}.tool: Input tag '${kind}' found using 'type' does not match any of the expected tags: ${tags}`;
}

function definitionProblem(
  definition: unknown,
  { path, betas }: BlockPlace,
  known: KnownTools,
): RequestProblem | undefined {
  if (!isObject(definition)) return `${path}: Field required`;
  if (definition['type'] === 'mcp_toolset') {
    if (!betas.includes(BETAS.mcpClient))
      return `${path}.type: mcp_toolset requires anthropic-beta: ${BETAS.mcpClient}`;
    known.servers.add(String(definition['mcp_server_name']));
    return undefined;
  }
  const malformed = toolProblem(definition, path);
  if (malformed !== undefined) return malformed;
  const name = String(definition['name']);
  const current = known.tools.get(name);
  if (current !== undefined && current !== nameKind(definition)) {
    return problemWithCode(
      `${path}.name: '${name}' is already the name of a tool of another type`,
      'tool_name_conflict',
    );
  }
  known.tools.set(name, nameKind(definition));
  known.defined.set(name, Buffer.byteLength(JSON.stringify(definition)));
  if (definition['defer_loading'] === true) known.deferred.add(name);
  return undefined;
}

function referenceProblem(path: string, what: string): RequestProblem {
  return problemWithCode(
    `${path}: ${what} is not defined at this position in the conversation`,
    'tool_reference_unresolved',
  );
}

function limitProblem({ defined, deferred }: KnownTools, path: string): RequestProblem | undefined {
  const bytes = [...defined.values()].reduce((sum, size) => sum + size, 0);
  if (defined.size <= MOST_TOOLS && deferred.size <= MOST_TOOLS && bytes <= MOST_BYTES) return undefined;
  return problemWithCode(
    `${path}: the tools available after this message exceed a limit`,
    'available_tools_limit_exceeded',
  );
}

/**
 * Lists the changes that lead from the request's `tools` to those in effect at its end, as a
 * compaction's block records them.
 */
export function listNetToolChanges(request: Json): readonly object[] {
  const last = new Map<string, Json>();
  const messages = request['messages'] as readonly Json[];
  const blocks = [
    ...toList(findLeadingBlock(messages)?.['tool_changes']),
    ...messages.flatMap(({ content }) => toList(content)),
  ];
  for (const block of blocks) {
    const { type, tool } = block;
    if ((type !== 'tool_addition' && type !== 'tool_removal') || !isObject(tool)) continue;
    const definition = isObject(tool['definition']) ? tool['definition'] : tool;
    const before = last.get(String(definition['name']));
    const brought = isObject(before?.['tool']) && before['tool']['type'] === 'tool_definition';
    if (type === 'tool_removal' && brought) last.delete(String(definition['name']));
    else last.set(String(definition['name'] ?? definition['server_name']), { type, tool });
  }
  return [...last.values()];
}

/** Names the kind of a tool; a newer version of the same tool is the same kind. */
function nameKind({ type }: Json): string {
  return typeof type === 'string' ? type.replace(/_\d{8}$/, '') : 'custom';
}

function toList(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isObject) : [];
}
