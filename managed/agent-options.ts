// Maps an agent of the API to options of a run. The worker's own rules, hooks and budgets also
// apply: an agent can only narrow what a worker allows (G24).
import type { BetaEnvironment } from '@anthropic-ai/sdk/resources/beta/environments';
import type { BetaManagedAgentsSessionAgent } from '@anthropic-ai/sdk/resources/beta/sessions';
import type {
  BetaManagedAgentsSessionThreadAgent,
  BetaManagedAgentsAgentToolset20260401,
} from '@anthropic-ai/sdk/resources/beta/agents';
import { present } from '../client/faces/basics.ts';
import { AGENT_TOOL } from '../client/faces/contract.ts';
import { SERVER_PREFIX } from '../client/faces/outside.ts';
import type { OptionChanges, OutsideTool, RosterAgent, RunOptions, PermissionRules } from '../client/faces/types.ts';
import { outsideToolsOf } from './agents.ts';
import { OUTPUTS, UPLOADS } from '../client/faces/stored.ts';
import type { SessionItem } from './log/stored.ts';
import { describeMemoryStores, mountsOfStores } from './memory/attach.ts';
import { usdOf } from './budgets.ts';
import { isOffline, reachesServers } from './environments.ts';
import { runServers } from './mcp-servers.ts';
import { rosterOf } from './rosters.ts';
import { describeSkills, mountsOfSkills, type SessionSkill } from './skills/attach.ts';
import { sandboxTools } from './work/tools.ts';

type AgentDefinition = Pick<BetaManagedAgentsSessionAgent, 'model' | 'system' | 'tools'>;

type AgentPlace = {
  readonly session: string;
  readonly cwd: string;
  readonly resources?: SessionItem['resources'];
  readonly skills: readonly SessionSkill[];
  readonly vaults?: SessionItem['vaults'];
  readonly budget?: string | undefined;
  /** Whether runs show files that are attached to the session (G66). */
  readonly hasFiles?: boolean | undefined;
  readonly workerTools: readonly string[];
};

/**
 * `cwd` is the session's own folder, `budget` in cents. Only the agent's own tools are offered.
 * `workerTools`: custom tools that workers of self-hosted environments own.
 */
export function optionsOfAgent(
  agent: BetaManagedAgentsSessionAgent,
  { id, config }: Pick<BetaEnvironment, 'id' | 'config'>,
  { session, cwd, budget, hasFiles, workerTools, ...context }: AgentPlace,
): RunOptions {
  const offline = isOffline(config);
  const isBoxed = config.type === 'self_hosted';
  const enabled = enabledTools(agent, offline);
  const { outsideTools: custom = [], tools, ...own } = ownOptions(agent, enabled, isBoxed ? workerTools : []);
  const servers = reachesServers(config) ? runServers(agent.mcp_servers, agent.tools, context.vaults) : [];
  const roster = rosterOf(agent).map((one) => memberOf(one, offline));
  return {
    cwd,
    toolset: 'agent_toolset_20260401',
    // Only policies let a call run unasked; a worker's looser mode doesn't.
    permissionMode: 'default',
    ...(offline && { offline }),
    ...(hasFiles && { sessionFiles: true }),
    ...own,
    tools: [
      ...tools,
      ...(roster.length > 0 ? [AGENT_TOOL] : []),
      ...servers.map(({ name }) => `${SERVER_PREFIX}${name}`),
    ],
    ...(servers.length > 0 && { mcpServers: servers }),
    ...(roster.length > 0 && { roster }),
    recordWaits: true,
    ...(budget !== undefined && { sessionBudgetUsd: usdOf(budget) }),
    ...outsideOptions(id, config, [...custom, ...(isBoxed ? sandboxTools(enabled.tools) : [])]),
    ...contextOptions(isBoxed, { session, hasFiles, ...context }),
  };
}

/** Returns the options that give an open session the tools and servers of its agent (G27). */
export const changesOfAgent = ({ tools, permissions, outsideTools, mcpServers }: RunOptions): OptionChanges => ({
  ...present({ tools, permissions }),
  outsideTools: outsideTools ?? null,
  mcpServers: mcpServers ?? null,
});

/** Returns an agent's own options, the same for its session and for a thread of another's. */
function ownOptions(
  { model, system, tools }: AgentDefinition,
  enabled: EnabledTools,
  workerTools: readonly string[] = [],
) {
  const custom = tools.flatMap((one) => (one.type === 'custom' ? [one] : []));
  return {
    model: model.id,
    ...(model.effort && { effort: model.effort.type }),
    ...(system !== null && { systemPrompt: system }),
    permissions: enabled.permissions,
    tools: [...enabled.tools, ...custom.map(({ name }) => name)],
    ...(custom.length > 0 && { outsideTools: outsideToolsOf(custom, workerTools) }),
  } satisfies Partial<RunOptions>;
}

type EnabledTools = ReturnType<typeof rulesOfToolset>;

function enabledTools({ tools }: AgentDefinition, offline: boolean): EnabledTools {
  const configs = tools.flatMap((one) => (one.type === 'agent_toolset_20260401' ? one.configs : []));
  return rulesOfToolset(offline ? configs.filter(({ name }) => name !== 'web_fetch') : configs);
}

const memberOf = (agent: BetaManagedAgentsSessionThreadAgent, offline: boolean): RosterAgent => ({
  name: agent.name,
  description: agent.description ?? '',
  ...ownOptions(agent, enabledTools(agent, offline)),
});

/** A worker elsewhere lays the folders of memory stores and skills into its own sandbox. */
function contextOptions(
  isBoxed: boolean,
  {
    session,
    hasFiles,
    resources: stores = [],
    skills,
  }: Pick<AgentPlace, 'session' | 'hasFiles' | 'resources' | 'skills'>,
): Partial<RunOptions> {
  const facts = {
    ...(isBoxed && ELSEWHERE),
    ...(hasFiles && FILES),
    ...describeMemoryStores(stores),
    ...describeSkills(skills, isBoxed),
  };
  const mounts = [...mountsOfStores(session, stores), ...mountsOfSkills(skills)];
  return {
    ...(Object.keys(facts).length > 0 && { systemContext: facts }),
    ...(!isBoxed && mounts.length > 0 && { mounts }),
  };
}

/** The folder here of a session whose tools work elsewhere stays empty: nothing of it is read. */
function outsideOptions(
  environment: string,
  { type }: BetaEnvironment['config'],
  tools: readonly OutsideTool[],
): Partial<RunOptions> {
  return {
    ...(tools.length > 0 && { outsideTools: tools }),
    ...(type === 'self_hosted' && { environment, instructions: false, snapshots: false }),
  };
}

const FILES = {
  files: `Files that were attached to the session are in ${UPLOADS}, which is read-only. What the user is to have, write to ${OUTPUTS}.`,
};

const ELSEWHERE = {
  sandbox: 'Your tools work in a sandbox on another machine: the workspace and the platform above are not its.',
};

type ToolConfig = BetaManagedAgentsAgentToolset20260401['configs'][number];
type Policy = ToolConfig['permission_policy']['type'];

/** `auto` makes no rule: reads run, and so does what a rule of the worker allows; the rest asks. */
const LISTS: Readonly<Record<Policy, readonly (keyof PermissionRules)[]>> = {
  always_allow: ['allow'],
  always_ask: ['ask'],
  auto: [],
};

/**
 * Maps the policies of an agent's toolset to tools and rules of a run (G52). Tools that are not
 * enabled are not offered, and a call of one is refused.
 */
function rulesOfToolset(configs: readonly ToolConfig[]): Required<Pick<RunOptions, 'tools' | 'permissions'>> {
  const enabled = configs.filter((tool) => tool.enabled);
  const namesIn = (list: keyof PermissionRules): readonly string[] =>
    enabled.filter(({ permission_policy: { type } }) => LISTS[type].includes(list)).map(({ name }) => name);
  const ask = namesIn('ask');
  return {
    tools: enabled.map(({ name }) => name),
    permissions: { allow: namesIn('allow'), ...(ask.length > 0 && { ask }) },
  };
}
