// The registry of a run: the worker's tools, some of them in the form that the run chose (G51).
import {
  type RegistryOfRun,
  type ToolDefinition,
  type ToolRegistry,
  buildDefinition,
  deriveRegistry,
} from '../registry.ts';
import type { Tool } from '../tool.ts';
import { createBashTool } from './bash.ts';
import { addOutsideTools } from '../outside-tools.ts';
import type { OutsideTool } from '../../workflows/contract/waits.ts';
import type { BuiltinOptions } from './files/options.ts';
import { createToolset } from './toolset.ts';
import { createWebFetchTool } from './web-fetch.ts';

/** By name, the tools that take the place of the worker's own. Null: the run has none of the name. */
type Replacements = ReadonlyMap<string, Tool | null>;

/** Returns the registry of a run: the same one for runs that chose the same. */
export function createRunRegistries(base: ToolRegistry, options: BuiltinOptions): RegistryOfRun {
  const known = new Map<string, ToolRegistry>();
  return withOutsideTools(({ toolset, offline = false }) => {
    if (toolset === undefined && !offline) return base;
    const key = `${toolset} ${offline}`;
    const parts = { ...options, offline };
    const registry = known.get(key) ?? replaceTools(base, toolset ? createToolset(parts) : offlineTools(parts));
    known.set(key, registry);
    return registry;
  });
}

/** A run that brings tools has a registry with these, made once. */
function withOutsideTools(registryOf: RegistryOfRun): RegistryOfRun {
  const known = new WeakMap<readonly OutsideTool[], Map<ToolRegistry, ToolRegistry>>();
  return (run) => {
    const { outsideTools } = run;
    const base = registryOf(run);
    if (outsideTools === undefined) return base;
    const ofTools = known.get(outsideTools) ?? new Map<ToolRegistry, ToolRegistry>();
    const registry = ofTools.get(base) ?? addOutsideTools(base, outsideTools);
    known.set(outsideTools, ofTools.set(base, registry));
    return registry;
  };
}

const offlineTools = (options: BuiltinOptions): Replacements =>
  new Map([createBashTool(options), createWebFetchTool(options.web ?? {}, options)].map((tool) => [tool.name, tool]));

function replaceTools(base: ToolRegistry, replacements: Replacements): ToolRegistry {
  return deriveRegistry(
    base,
    (name) => (replacements.has(name) ? (replacements.get(name) ?? undefined) : base.get(name)),
    (all) => all.flatMap((one) => replaceDefinition(one, replacements)),
  );
}

function replaceDefinition(definition: ToolDefinition, replacements: Replacements): readonly ToolDefinition[] {
  const tool = replacements.get(definition.name);
  if (tool === undefined) return [definition];
  return tool === null ? [] : [buildDefinition(tool)];
}
