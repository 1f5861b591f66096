// An agent's run inherits what its parent's may do; neither its type, its parent's limits nor a
// person's words ever widen that (L69, L70). An isolated agent works in a git work tree of its own
// (L72).
import { sep } from 'node:path';
import type { AgentOrigin, EndWorktree, WorktreeEnd } from '../../workflows/contract/delegation.ts';
import type { PermissionRules, RunOptions } from '../../workflows/contract/session.ts';
import type { Attempt } from '../attempt.ts';
import type { SessionFiles } from '../../store/values/files.ts';
import type { RunConfig, WebSearchSettings } from '../../store/configuration.ts';
import type { Deps } from '../deps.ts';
import { refuseScriptedModel, refuseWithoutHooks } from '../guards.ts';
import {
  type AgentType,
  ANSWER,
  intersectTools,
  narrowRules,
  pickLowestLimits,
  pickNarrowestMode,
} from '../../tools/agent-types.ts';
import { toRelativeRules } from '../../tools/rules/path-rules.ts';
import { present } from '../../workflows/contract/present.ts';
import { describeMissingInTree } from './folders.ts';

type InheritedOptions = {
  readonly options: RunOptions;
  readonly permissions: PermissionRules;
  /** Absent: its parent may not search the web. */
  readonly webSearch?: WebSearchSettings;
  readonly sessionFiles?: SessionFiles;
};

/**
 * Combines the options of an agent's session with its parent's. Returns a sentence when this worker
 * does not know the agent's type, or there can be no work tree. Throws StoreError, and a failure
 * that leaves the run to a worker with its parent's hooks and a model as real.
 */
export async function inherit(
  deps: Pick<Deps, 'config' | 'defaults' | 'hooks' | 'scripted' | 'worktrees'>,
  attempt: Attempt,
  { type: name, config: hash, grant, isolation, tools: left }: AgentOrigin,
  options: RunOptions,
): Promise<InheritedOptions | string> {
  const { config, defaults } = deps;
  const parent = await config(hash);
  if (parent.roster) {
    refuseUnlike(deps, parent);
    return inheritFromRoster(defaults, parent, name, { options, grant });
  }
  const { types } = defaults.agents;
  const type = Object.hasOwn(types, name) ? types[name] : undefined;
  if (!type) return `this worker has no agent type ${JSON.stringify(name)}: it has ${Object.keys(types).join(', ')}`;
  refuseUnlike(deps, parent);
  const mode = pickNarrowestMode([parent.mode, type.permissionMode, options.permissionMode]);
  const tools = intersectTools([parent.tools, type.tools, left, options.tools]);
  // A session has its parent's servers: messages to an agent add no others.
  const { permissions: added, mcpServers: _, ...ownOptions } = options;
  const opened = isolation && (await openWorktree(deps, attempt, parent.cwd));
  if (opened?.kind === 'problem') return opened.detail;
  const permissions = narrowRules(parent, mode, added);
  return {
    options: {
      ...parentOptions(parent),
      ...typeOptions(type, parent, defaults.smallModel),
      ...ownOptions,
      ...(opened && { appendSystemPrompt: treeNotes(options, parent.cwd, opened.path).join('\n\n') }),
      cwd: opened?.path ?? parent.cwd,
      ...pickLowestLimits([type.limits, options, grant]),
      permissionMode: mode,
      ...(tools && { tools }),
      ...sharedOptions(parent),
      ...present({ mcpServers: parent.mcpServers }),
    },
    permissions: opened ? addTreeRules(permissions, parent.cwd, opened) : permissions,
    ...present({ webSearch: parent.webSearch, sessionFiles: parent.sessionFiles }),
  };
}

/** Leaves the run to a worker with its parent's hooks and a model as real. */
function refuseUnlike(deps: Pick<Deps, 'hooks' | 'scripted'>, parent: RunConfig): void {
  refuseWithoutHooks(deps, parent);
  refuseScriptedModel(deps, parent);
}

/**
 * An agent of a roster has the tools and rules of its own entry, below those of the worker (G68);
 * what its parent was denied, and its parent's folders, mode and grant, bound it all the same.
 */
function inheritFromRoster(
  { permissions: workers = {} }: Deps['defaults'],
  parent: RunConfig,
  name: string,
  { options, grant }: { readonly options: RunOptions; readonly grant: AgentOrigin['grant'] },
): InheritedOptions | string {
  const agent = parent.roster?.find((each) => each.name === name);
  if (!agent) return `the roster of the session has no agent ${JSON.stringify(name)}`;
  const { name: _, description: __, permissions: own, ...agentOptions } = agent;
  const { permissions: added, tools, ...sent } = options;
  const mode = pickNarrowestMode([parent.mode, options.permissionMode]);
  const both = (list: 'allow' | 'ask'): readonly string[] => [...(workers[list] ?? []), ...(own[list] ?? [])];
  const deny = [...(workers.deny ?? []), ...(parent.permissions?.deny ?? []), ...(own.deny ?? [])];
  return {
    options: {
      ...parentOptions(parent),
      fallbackModels: [],
      appendSystemPrompt: ANSWER,
      ...omitOwn(sent),
      ...agentOptions,
      ...present({ tools: intersectTools([agent.tools, tools]) }),
      cwd: parent.cwd,
      ...pickLowestLimits([options, grant]),
      permissionMode: mode,
      ...(parent.rules.recordWaits && { recordWaits: true }),
      ...sharedOptions(parent),
    },
    permissions: narrowRules(
      { mode: parent.mode, permissions: { allow: both('allow'), ask: both('ask'), deny } },
      mode,
      added,
    ),
    ...present({ sessionFiles: parent.sessionFiles }),
  };
}

/** Drops the options that only an entry of the roster sets for its agent. */
function omitOwn(options: Partial<RunOptions>): Partial<RunOptions> {
  const { mcpServers: _, outsideTools: __, roster: ___, environment: ____, toolset: _____, ...rest } = options;
  return rest;
}

/** An agent whose parent has no extra folders gets none from the worker. */
const sharedOptions = (parent: RunConfig): Partial<RunOptions> => ({
  additionalDirectories: parent.folders ?? [],
  toolEnv: parent.toolEnv ?? {},
  ...(parent.instructions === false && { instructions: false }),
  ...(parent.offline && { offline: true }),
});

const WORKTREE_NOTE =
  'The workspace is a git worktree of your own, on a new branch, with the files of the last commit. All that you change and that git does not ignore is ' +
  'committed to this branch when you have ended: you need not commit, and nothing outside the workspace is changed.';

function treeNotes({ appendSystemPrompt }: RunOptions, workspace: string, tree: string): readonly string[] {
  const missing = describeMissingInTree(workspace, tree);
  const note = missing === '' ? WORKTREE_NOTE : `${WORKTREE_NOTE} ${missing}`;
  return appendSystemPrompt === undefined ? [note] : [appendSystemPrompt, note];
}

async function openWorktree({ worktrees }: Pick<Deps, 'worktrees'>, attempt: Attempt, workspace: string) {
  if (!worktrees) return { kind: 'problem', detail: 'this worker makes no git work trees for agents' } as const;
  const opened = await worktrees.open(attempt, workspace);
  if (opened.kind !== 'problem') return opened;
  return { ...opened, detail: `no git work tree of ${workspace} can be made for the agent: ${opened.detail}` };
}

/**
 * Repeats rules about absolute paths for the work tree: a file that a rule keeps from the parent
 * lies there as well, also where it lies in the repository outside the workspace.
 */
function addTreeRules(
  { deny = [], ask = [], ...rules }: PermissionRules,
  workspace: string,
  { path, prefix = '' }: { readonly path: string; readonly prefix?: string },
): PermissionRules {
  const above = (folder: string): string => folder.slice(0, -prefix.length - 1);
  // Each character of a folder's name stands for itself, or for any character.
  const tree = `/${above(path).replaceAll(/[^\p{L}\p{N}/._-]/gu, '?')}/`;
  const there = (rule: string): readonly string[] => [
    ...toRelativeRules(rule, workspace),
    ...(prefix === '' ? [] : toRelativeRules(rule, above(workspace) || sep, tree)),
  ];
  const both = (list: readonly string[]): readonly string[] => [...list, ...list.flatMap(there)];
  return { ...rules, deny: both(deny), ask: both(ask) };
}

/**
 * Ends the work tree. Commands that the agent has begun in the background end first: they would
 * write on.
 */
export function endWorktree({
  worktrees,
  background,
}: Pick<Deps, 'worktrees' | 'background'>): (attempt: Attempt, input: EndWorktree) => Promise<WorktreeEnd | null> {
  return async (attempt, input) => {
    await background?.endSession(attempt.session);
    return (await worktrees?.end(attempt, input)) ?? null;
  };
}

function parentOptions(parent: RunConfig): Partial<RunOptions> {
  const { models, rules, snapshots, systemContext, userContext, toolset, mounts } = parent;
  const [primary, ...fallbacks] = models;
  return {
    ...present({ snapshots, systemContext, userContext, toolset, mounts }),
    model: primary.name,
    fallbackModels: fallbacks.map(({ name }) => name),
    wrapUp: rules.wrapUp,
    approvalTimeoutMs: rules.approvalMs,
  };
}

/** A model other than the parent's may not have the parent's effort. */
function typeOptions({ model, ...type }: AgentType, parent: RunConfig, small: string): Partial<RunOptions> {
  const { systemPrompt, outputSchema } = type;
  const isParents = model === undefined || model === 'inherit';
  const effort = type.effort ?? (isParents ? parent.effort : undefined);
  return {
    ...present({ systemPrompt }),
    ...(effort && { effort }),
    ...(isParents ? {} : { model: model === 'small' ? small : model, fallbackModels: [] }),
    ...(outputSchema && { outputSchema }),
  };
}
