// The run of an agent inherits what its parent's may do, and nothing that its type, its parent's limits or a person says to it widens that
// (L69, L70).
import type { AgentOrigin } from '../../workflows/contract/delegation.ts';
import type { PermissionRules, RunOptions } from '../../workflows/contract/session.ts';
import type { RunConfig } from '../configuration.ts';
import type { Deps } from '../deps.ts';
import { refuseScripted, refuseWithoutHooks } from '../guards.ts';
import { lowestLimits, narrowedRules, narrowestMode, narrowestTools, type AgentType } from '../tools/agent-types.ts';

export type Inherited = { readonly options: RunOptions; readonly permissions: PermissionRules };

/**
 * `options`: those of its session. A sentence when this worker does not know its type. Throws StoreError, and what leaves the run to a worker
 * that has its parent's hooks and a model as real.
 */
export async function inherit(
  deps: Pick<Deps, 'config' | 'defaults' | 'hooks' | 'scripted'>,
  { type: name, config: hash, grant }: AgentOrigin,
  options: RunOptions,
): Promise<Inherited | string> {
  const { config, defaults } = deps;
  const { types } = defaults.agents;
  const type = Object.hasOwn(types, name) ? types[name] : undefined;
  if (!type) return `this worker has no agent type ${JSON.stringify(name)}: it has ${Object.keys(types).join(', ')}`;
  const parent = await config(hash);
  refuseWithoutHooks(deps, parent);
  refuseScripted(deps, parent);
  const mode = narrowestMode([parent.mode, type.permissionMode, options.permissionMode]);
  const tools = narrowestTools([parent.tools, type.tools, options.tools]);
  const { permissions: added, ...given } = options;
  return {
    options: {
      ...ofParent(parent),
      ...ofType(type, defaults.smallModel),
      ...given,
      cwd: parent.cwd,
      ...lowestLimits([type.limits, options, grant]),
      permissionMode: mode,
      ...(tools && { tools }),
      // A worker's own folders are not for an agent whose parent has none.
      additionalDirectories: parent.folders ?? [],
      toolEnv: parent.toolEnv ?? {},
      ...(parent.instructions === false && { instructions: false }),
    },
    permissions: narrowedRules(parent, mode, added),
  };
}

function ofParent({ models: [primary, ...fallbacks], rules }: RunConfig): Partial<RunOptions> {
  return {
    model: primary.name,
    fallbackModels: fallbacks.map(({ name }) => name),
    wrapUp: rules.wrapUp,
    approvalTimeoutMs: rules.approvalMs,
  };
}

function ofType({ systemPrompt, model, outputSchema }: AgentType, small: string): Partial<RunOptions> {
  return {
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(model === undefined ? {} : { model: model === 'small' ? small : model, fallbackModels: [] }),
    ...(outputSchema && { outputSchema }),
  };
}
