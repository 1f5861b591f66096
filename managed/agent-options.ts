// What an agent of the API is as options of a run. The worker's own rules, hooks and budgets hold
// besides: an agent can only narrow what a worker allows (G24).
import type { BetaManagedAgentsSessionAgent } from '@anthropic-ai/sdk/resources/beta/sessions';
import type { RunOptions } from '../client/index.ts';
import { sandboxTools } from './work/tools.ts';

/** `environment`: where workers of somebody's own run the tools; absent for the workers here. */
type Place = { readonly cwd: string; readonly environment?: string | undefined };

/** `cwd` is the session's own folder. Tools that are enabled run without asking, and no others are offered. */
export function optionsOfAgent(
  { model, system, tools }: BetaManagedAgentsSessionAgent,
  { cwd, environment }: Place,
): RunOptions {
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
    recordWaits: true,
    ...(environment !== undefined && sandboxOptions(environment, enabled)),
  };
}

/** The session's folder here stays empty, so that nothing of it is captured or read. */
function sandboxOptions(environment: string, enabled: readonly string[]): Partial<RunOptions> {
  return {
    environment,
    outsideTools: sandboxTools(enabled),
    instructions: false,
    snapshots: false,
    systemContext: {
      sandbox: 'Your tools work in a sandbox on another machine: the workspace and the platform above are not its.',
    },
  };
}
