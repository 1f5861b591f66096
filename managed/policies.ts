// Maps the policies of an agent's toolset to tools and rules of a run (G52). The worker's own rules
// also apply, and those that deny or ask take precedence over what is allowed here.
import type { BetaManagedAgentsAgentToolset20260401 } from '@anthropic-ai/sdk/resources/beta/agents';
import type { PermissionRules, RunOptions } from '../client/faces/types.ts';

type ToolConfig = BetaManagedAgentsAgentToolset20260401['configs'][number];
type Policy = ToolConfig['permission_policy']['type'];

/** `auto` makes no rule: reads run, and so does what a rule of the worker allows; the rest asks. */
const LISTS: Readonly<Record<Policy, readonly (keyof PermissionRules)[]>> = {
  always_allow: ['allow'],
  always_ask: ['ask'],
  auto: [],
};

/** Tools that are not enabled are not offered, and a call of one is refused. */
export function rulesOfToolset(configs: readonly ToolConfig[]): Required<Pick<RunOptions, 'tools' | 'permissions'>> {
  const enabled = configs.filter((tool) => tool.enabled);
  const namesIn = (list: keyof PermissionRules): readonly string[] =>
    enabled.filter(({ permission_policy: { type } }) => LISTS[type].includes(list)).map(({ name }) => name);
  const ask = namesIn('ask');
  return {
    tools: enabled.map(({ name }) => name),
    permissions: { allow: namesIn('allow'), ...(ask.length > 0 && { ask }) },
  };
}
