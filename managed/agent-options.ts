// What an agent of the API is as options of a run. The worker's own rules, hooks and budgets hold
// besides: an agent can only narrow what a worker allows (G24).
import type { BetaManagedAgentsSessionAgent } from '@anthropic-ai/sdk/resources/beta/sessions';
import type { RunOptions } from '../client/index.ts';

/** `cwd` is the session's own folder. Tools that are enabled run without asking, and no others are offered. */
export function optionsOfAgent({ model, system, tools }: BetaManagedAgentsSessionAgent, cwd: string): RunOptions {
  const enabled = tools.flatMap((one) =>
    one.type === 'agent_toolset_20260401' ? one.configs.filter((tool) => tool.enabled).map(({ name }) => name) : [],
  );
  return {
    cwd,
    model: model.id,
    ...(model.effort && { effort: model.effort.type }),
    ...(system !== null && { systemPrompt: system }),
    tools: enabled,
    permissions: { allow: enabled },
  };
}
