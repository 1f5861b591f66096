// What an agent of the API is as options of a run. The worker's own rules, hooks and budgets hold
// besides: an agent can only narrow what a worker allows (G24).
import type { BetaEnvironment } from '@anthropic-ai/sdk/resources/beta/environments';
import type { BetaManagedAgentsSessionAgent } from '@anthropic-ai/sdk/resources/beta/sessions';
import type { RunOptions } from '../client/index.ts';
import { outsideTools } from './agents.ts';
import { usdOf } from './budgets.ts';
import { isOffline } from './environments.ts';
import { rulesOfToolset } from './policies.ts';
import type { OutsideTool } from '../workflows/contract/waits.ts';
import { sandboxTools } from './work/tools.ts';

type AgentPlace = {
  readonly cwd: string;
  readonly budget?: string | undefined;
  readonly workerTools: readonly string[];
};

/**
 * `cwd` is the session's own folder, `budget` in cents. No other tools are offered than those of the
 * agent. `workerTools`: custom tools that workers of self-hosted environments own.
 */
export function optionsOfAgent(
  { model, system, tools }: BetaManagedAgentsSessionAgent,
  { id, config }: Pick<BetaEnvironment, 'id' | 'config'>,
  { cwd, budget, workerTools }: AgentPlace,
): RunOptions {
  const custom = tools.flatMap((one) => (one.type === 'custom' ? [one] : []));
  const configs = tools.flatMap((one) => (one.type === 'agent_toolset_20260401' ? one.configs : []));
  const offline = isOffline(config);
  const offered = offline ? configs.filter(({ name }) => name !== 'web_fetch') : configs;
  const own = rulesOfToolset(offered);
  return {
    cwd,
    model: model.id,
    ...(model.effort && { effort: model.effort.type }),
    ...(system !== null && { systemPrompt: system }),
    toolset: 'agent_toolset_20260401',
    // Policies say what runs unasked: a worker's looser mode is no policy.
    permissionMode: 'default',
    ...(offline && { offline }),
    ...own,
    tools: [...own.tools, ...custom.map(({ name }) => name)],
    recordWaits: true,
    ...(budget !== undefined && { sessionBudgetUsd: usdOf(budget) }),
    ...outsideOptions(
      id,
      config,
      config.type === 'self_hosted'
        ? [...outsideTools(custom, workerTools), ...sandboxTools(own.tools)]
        : outsideTools(custom),
    ),
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
    ...(type === 'self_hosted' && { environment, instructions: false, snapshots: false, systemContext: ELSEWHERE }),
  };
}

const ELSEWHERE = {
  sandbox: 'Your tools work in a sandbox on another machine: the workspace and the platform above are not its.',
};
