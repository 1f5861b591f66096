// Tools of one run whose calls somebody outside carries out (G53). A call is checked like any other
// and then handed to the workflow, which waits for its result.
// Marks tools of ours whose outcome, when the workflow has carried out a call, is words alone
// (L62): a wait, a question.
import type { OutsideKind } from '../workflows/contract/delegation.ts';
import type { OutsideTool } from '../workflows/contract/waits.ts';
import { buildDefinition, deriveRegistry, type ToolDefinition, type ToolRegistry } from './registry.ts';
import { defineDelegatedTool, type Tool } from './tool.ts';

/** The mark is no field of the tool, because others could set a field. */
const kinds = new WeakMap<Tool, OutsideKind>();

/** Tells who carries out the calls of a tool; undefined for one that Perdure runs. */
export const outsideKind = (tool: Tool): OutsideKind | undefined => kinds.get(tool);

/** Adds tools to a registry; one of them takes the place of a tool of the same name. */
export function addOutsideTools(base: ToolRegistry, added: readonly OutsideTool[]): ToolRegistry {
  const tools = new Map(added.map((each) => [each.name, createOutsideTool(each)]));
  const definitions = [...tools.values()].map(buildDefinition);
  return deriveRegistry(
    base,
    (name) => tools.get(name) ?? base.get(name),
    (all) => replaceByName(all, definitions),
  );
}

/** Keeps the order of names (L22). */
function replaceByName(all: readonly ToolDefinition[], added: readonly ToolDefinition[]): readonly ToolDefinition[] {
  const names = new Set(added.map(({ name }) => name));
  return [...all.filter(({ name }) => !names.has(name)), ...added].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The tools of a sandbox that only read, which may run together (L35). */
const READERS: ReadonlySet<string> = new Set(['read', 'glob', 'grep']);

/**
 * Custom tools have no policy: rules of the worker hold, and nothing else keeps a call back. Those
 * of a sandbox have one, as the worker's own; a rule with a pattern holds for all their calls, since
 * paths of a sandbox cannot be resolved here.
 */
function createOutsideTool({ by, name, description, input_schema }: OutsideTool): Tool {
  const isSandboxed = by === 'sandbox';
  const tool = defineDelegatedTool({
    name,
    description,
    inputSchema: input_schema,
    risk: !isSandboxed ? 'external' : READERS.has(name) ? 'read' : 'execute',
    ...(!isSandboxed && { canUse: () => ({ kind: 'allow' as const }) }),
    delegate: () => ({ kind: 'outside', by }),
  });
  kinds.set(tool, by);
  return tool;
}

/** The mark is no field of the tool, because others could set a field. */
const markedTools = new WeakSet<Tool>();

/** Marks a tool whose `conclude` gives `content` and nothing else, and does not throw. */
export function markPlainEnd(tool: Tool): Tool {
  markedTools.add(tool);
  return tool;
}

export const hasPlainEnd = (tool: Tool): boolean => markedTools.has(tool);
