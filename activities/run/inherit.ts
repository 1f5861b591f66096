// The run of an agent inherits what its parent's may do, and nothing that its type, its parent's
// limits or a person says to it widens that (L69, L70). Where it is isolated it works in a git work
// tree of its own (L72).
import { sep } from 'node:path';
import type { AgentOrigin, EndWorktree, WorktreeEnd } from '../../workflows/contract/delegation.ts';
import type { PermissionRules, RunOptions } from '../../workflows/contract/session.ts';
import type { Attempt } from '../attempt.ts';
import type { RunConfig, WebSearchSettings } from '../../store/configuration.ts';
import type { Deps } from '../deps.ts';
import { refuseScripted, refuseWithoutHooks } from '../guards.ts';
import { lowestLimits, narrowedRules, narrowestMode, narrowestTools, type AgentType } from '../../tools/agent-types.ts';
import { asRelative } from '../../tools/rules/match-rules.ts';

export type Inherited = {
  readonly options: RunOptions;
  readonly permissions: PermissionRules;
  /** Absent: its parent may not search the web. */
  readonly webSearch?: WebSearchSettings;
};

/**
 * `options`: those of its session. A sentence when this worker does not know its type, or there can
 * be no work tree. Throws StoreError, and what leaves the run to a worker that has its parent's
 * hooks and a model as real.
 */
export async function inherit(
  deps: Pick<Deps, 'config' | 'defaults' | 'hooks' | 'scripted' | 'worktrees'>,
  attempt: Attempt,
  { type: name, config: hash, grant, isolation, tools: left }: AgentOrigin,
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
  const tools = narrowestTools([parent.tools, type.tools, left, options.tools]);
  const { permissions: added, ...given } = options;
  const opened = isolation && (await openWorktree(deps, attempt, parent.cwd));
  if (opened?.kind === 'problem') return opened.detail;
  const permissions = narrowedRules(parent, mode, added);
  return {
    options: {
      ...ofParent(parent),
      ...ofType(type, parent, defaults.smallModel),
      ...given,
      ...(opened && { appendSystemPrompt: [options.appendSystemPrompt ?? [], OF_WORKTREE].flat().join('\n\n') }),
      cwd: opened?.path ?? parent.cwd,
      ...lowestLimits([type.limits, options, grant]),
      permissionMode: mode,
      ...(tools && { tools }),
      // A worker's own folders are not for an agent whose parent has none.
      additionalDirectories: parent.folders ?? [],
      toolEnv: parent.toolEnv ?? {},
      ...(parent.instructions === false && { instructions: false }),
    },
    permissions: opened ? rulesThere(permissions, parent.cwd, opened) : permissions,
    ...(parent.webSearch && { webSearch: parent.webSearch }),
  };
}

// L72.

const OF_WORKTREE =
  'The workspace is a git worktree of your own, on a new branch, with the files of the last commit. All that you change and that git does not ignore is ' +
  'committed to this branch when you have ended: you need not commit, and nothing outside the workspace is changed.';

async function openWorktree({ worktrees }: Pick<Deps, 'worktrees'>, attempt: Attempt, workspace: string) {
  if (!worktrees) return { kind: 'problem', detail: 'this worker makes no git work trees for agents' } as const;
  const opened = await worktrees.open(attempt, workspace);
  if (opened.kind !== 'problem') return opened;
  return { ...opened, detail: `no git work tree of ${workspace} can be made for the agent: ${opened.detail}` };
}

/**
 * What a rule keeps from the parent by its absolute path lies in the work tree as well, also where
 * it lies in the repository beside the workspace.
 */
function rulesThere(
  { deny = [], ask = [], ...rules }: PermissionRules,
  workspace: string,
  { path, prefix = '' }: { readonly path: string; readonly prefix?: string },
): PermissionRules {
  const above = (folder: string): string => folder.slice(0, -prefix.length - 1);
  // Whatever a folder's name holds stands for itself, or for any character.
  const tree = `/${above(path).replaceAll(/[^\p{L}\p{N}/._-]/gu, '?')}/`;
  const there = (rule: string): readonly string[] => [
    ...asRelative(rule, workspace),
    ...(prefix === '' ? [] : asRelative(rule, above(workspace) || sep, tree)),
  ];
  const both = (list: readonly string[]): readonly string[] => [...list, ...list.flatMap(there)];
  return { ...rules, deny: both(deny), ask: both(ask) };
}

/** Commands that it has begun in the background would write on. */
export function endWorktree({
  worktrees,
  background,
}: Pick<Deps, 'worktrees' | 'background'>): (attempt: Attempt, input: EndWorktree) => Promise<WorktreeEnd | null> {
  return async (attempt, input) => {
    await background?.endSession(attempt.session);
    return (await worktrees?.end(attempt, input)) ?? null;
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

/** Another model than its parent's may not have its parent's effort. */
function ofType({ model, ...type }: AgentType, parent: RunConfig, small: string): Partial<RunOptions> {
  const { systemPrompt, outputSchema } = type;
  const isParents = model === undefined || model === 'inherit';
  const effort = type.effort ?? (isParents ? parent.effort : undefined);
  return {
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(effort && { effort }),
    ...(isParents ? {} : { model: model === 'small' ? small : model, fallbackModels: [] }),
    ...(outputSchema && { outputSchema }),
  };
}
