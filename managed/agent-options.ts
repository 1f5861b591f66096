// What an agent of the API is as options of a run. The worker's own rules, hooks and budgets hold
// besides: an agent can only narrow what a worker allows (G24).
import type { BetaEnvironment } from '@anthropic-ai/sdk/resources/beta/environments';
import type { BetaManagedAgentsSessionAgent } from '@anthropic-ai/sdk/resources/beta/sessions';
import type { RunOptions } from '../client/index.ts';
import { outsideTools } from './agents.ts';
import { isOffline } from './environments.ts';
import { rulesOfToolset } from './policies.ts';

/** `cwd` is the session's own folder. No other tools are offered than those of the agent. */
export function optionsOfAgent(
  { model, system, tools }: BetaManagedAgentsSessionAgent,
  { config }: Pick<BetaEnvironment, 'config'>,
  cwd: string,
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
    ...(offline && { offline }),
    ...own,
    tools: [...own.tools, ...custom.map(({ name }) => name)],
    recordWaits: true,
    ...(custom.length > 0 && { outsideTools: outsideTools(custom) }),
  };
}
