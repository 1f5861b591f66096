// What an agent of the API is as options of a run. The worker's own rules, hooks and budgets hold
// besides: an agent can only narrow what a worker allows (G24).
import type { BetaEnvironment } from '@anthropic-ai/sdk/resources/beta/environments';
import type { BetaManagedAgentsSessionAgent } from '@anthropic-ai/sdk/resources/beta/sessions';
import type { BetaManagedAgentsSessionThreadAgent } from '@anthropic-ai/sdk/resources/beta/agents';
import type { RunOptions } from '../client/index.ts';
import { AGENT_TOOL } from '../workflows/contract/delegation.ts';
import type { RosterAgent } from '../workflows/contract/roster.ts';
import { outsideTools } from './agents.ts';
import { OUTPUTS, UPLOADS } from '../store/files.ts';
import type { SessionItem } from './log/stored.ts';
import { describeMemoryStores, mountsOfStores } from './memory/attach.ts';
import { SERVER_PREFIX } from '../store/transcript/found-tools.ts';
import { usdOf } from './budgets.ts';
import { isOffline, reachesServers } from './environments.ts';
import { runServers } from './mcp-servers.ts';
import { rulesOfToolset } from './policies.ts';
import { rosterOf } from './rosters.ts';
import type { OutsideTool } from '../workflows/contract/waits.ts';
import { sandboxTools } from './work/tools.ts';

type AgentDefinition = Pick<BetaManagedAgentsSessionAgent, 'model' | 'system' | 'tools'>;

type AgentPlace = {
  readonly session: string;
  readonly cwd: string;
  readonly resources?: SessionItem['resources'];
  readonly budget?: string | undefined;
  /** Whether runs show files that are attached to the session (G66). */
  readonly hasFiles?: boolean | undefined;
  readonly workerTools: readonly string[];
};

/**
 * `cwd` is the session's own folder, `budget` in cents. No other tools are offered than those of the
 * agent. `workerTools`: custom tools that workers of self-hosted environments own.
 */
export function optionsOfAgent(
  agent: BetaManagedAgentsSessionAgent,
  { id, config }: Pick<BetaEnvironment, 'id' | 'config'>,
  { session, cwd, budget, hasFiles, workerTools, resources }: AgentPlace,
): RunOptions {
  const offline = isOffline(config);
  const isBoxed = config.type === 'self_hosted';
  const enabled = enabledTools(agent, offline);
  const { outsideTools: custom = [], tools, ...own } = ownOptions(agent, enabled, isBoxed ? workerTools : []);
  const servers = reachesServers(config) ? runServers(agent.mcp_servers, agent.tools) : [];
  const roster = rosterOf(agent).map((one) => memberOf(one, offline));
  return {
    cwd,
    toolset: 'agent_toolset_20260401',
    // Policies say what runs unasked: a worker's looser mode is no policy.
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
    ...contextOptions(isBoxed, { session, hasFiles, resources }),
  };
}

/** What an agent brings itself, in a session of its own or in a thread of another's. */
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
    ...(custom.length > 0 && { outsideTools: outsideTools(custom, workerTools) }),
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

/** A worker elsewhere lays the folders of memory stores into its own sandbox. */
function contextOptions(
  isBoxed: boolean,
  { session, hasFiles, resources: stores = [] }: Pick<AgentPlace, 'session' | 'hasFiles' | 'resources'>,
): Partial<RunOptions> {
  const facts = { ...(isBoxed && ELSEWHERE), ...(hasFiles && FILES), ...describeMemoryStores(stores) };
  return {
    ...(Object.keys(facts).length > 0 && { systemContext: facts }),
    ...(!isBoxed && stores.length > 0 && { mounts: mountsOfStores(session, stores) }),
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
