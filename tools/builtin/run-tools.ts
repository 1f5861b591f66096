// The registry of a run: the worker's tools, some of them in the form that the run chose (G51).
import {
  type RegistryOfRun,
  type ToolDefinition,
  type ToolForms,
  type ToolRegistry,
  buildDefinition,
  deriveRegistry,
} from '../registry.ts';
import type { Tool } from '../tool.ts';
import { createBashTool } from './bash.ts';
import { addOutsideTools } from '../outside-tools.ts';
import { addFindTools } from '../find-tools.ts';
import type { RunServers } from '../mcp/run-servers-port.ts';
import { AGENT_TOOL } from '../../workflows/contract/delegation.ts';
import type { RosterAgent } from '../../workflows/contract/roster.ts';
import { agentDefaults } from '../agent-types.ts';
import { createRosterTool } from './agent.ts';
import type { RunMount } from '../../workflows/contract/mounts.ts';
import { findMounts } from './files/mounts.ts';
import type { BuiltinOptions } from './files/options.ts';
import { createToolset } from './toolset.ts';
import { createWebFetchTool } from './web-fetch.ts';

/** The tools that replace the worker's own, by name. Null: the run has no tool of that name. */
type Replacements = ReadonlyMap<string, Tool | null>;

/**
 * Returns the registry of a run: the same one for runs that chose the same. `base` has no
 * `find_tools` yet, which finds those of the run's servers, too.
 */
export function createRunRegistries(
  base: ToolRegistry,
  options: BuiltinOptions,
  servers?: Pick<RunServers, 'registryOf'>,
): RegistryOfRun {
  const formOf = chooseForms(base, options);
  const finding = new WeakMap<ToolRegistry, ToolRegistry>();
  const found: RegistryOfRun = (run) => {
    const all = servers?.registryOf(formOf(run), run.mcpServers) ?? formOf(run);
    const registry = finding.get(all) ?? addFindTools(all);
    finding.set(all, registry);
    return registry;
  };
  const { limits } = options.agents ?? agentDefaults;
  const addRoster = (of: ToolRegistry, roster: readonly RosterAgent[]): ToolRegistry =>
    replaceTools(of, new Map<string, Tool | null>([...NO_BACKGROUND, [AGENT_TOOL, createRosterTool(roster, limits)]]));
  return withOwn(
    withOwn(found, ({ roster }) => roster, addRoster),
    ({ outsideTools }) => outsideTools,
    addOutsideTools,
  );
}

function chooseForms(base: ToolRegistry, options: BuiltinOptions): RegistryOfRun {
  const known = new Map<string, ToolRegistry>();
  const withMounts = new WeakMap<readonly RunMount[], ToolRegistry>();
  return ({ toolset, offline = false, mounts, cwd }) => {
    if (toolset === undefined && !offline) return base;
    const key = `${toolset} ${offline}`;
    const parts = { ...options, offline };
    if (toolset !== undefined && mounts && cwd !== undefined) {
      const own = { ...parts, mounts: findMounts(cwd, mounts) };
      const registry = withMounts.get(mounts) ?? replaceTools(base, createToolset(own));
      withMounts.set(mounts, registry);
      return registry;
    }
    const registry = known.get(key) ?? replaceTools(base, toolset ? createToolset(parts) : offlineTools(parts));
    known.set(key, registry);
    return registry;
  };
}

/** No agent of a roster works in the background. */
const NO_BACKGROUND = ['agent_output', 'agent_send', 'agent_stop'].map((name) => [name, null] as const);

/** A run that brings something for its tools has a registry with it, made once. */
function withOwn<Own extends object>(
  registryOf: RegistryOfRun,
  ownOf: (run: ToolForms) => Own | undefined,
  add: (base: ToolRegistry, own: Own) => ToolRegistry,
): RegistryOfRun {
  const known = new WeakMap<Own, Map<ToolRegistry, ToolRegistry>>();
  return (run) => {
    const own = ownOf(run);
    const base = registryOf(run);
    if (own === undefined) return base;
    const ofBases = known.get(own) ?? new Map<ToolRegistry, ToolRegistry>();
    const registry = ofBases.get(base) ?? add(base, own);
    known.set(own, ofBases.set(base, registry));
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
