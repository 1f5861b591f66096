// Types of agents of such programs, as a configuration has them.
import { isListedAs } from '../../tools/listed.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { modelProblem } from '../../models/find-model.ts';
import { ClientProblem } from '../problem.ts';
import { inwardName } from './names.ts';
import { modeOf } from './permission-modes.ts';
import type { AgentDefinition } from './shapes/agents.ts';

/** Those that each agent may have, whatever the program adds. */
const OFFERED = ['agent', 'bash', 'edit', 'glob', 'grep', 'read', 'todo', 'web_fetch', 'write'];
const KNOWN = [...OFFERED, 'agent_output', 'agent_send', 'agent_stop', 'ask_user', 'bash_output', 'bash_stop', 'wait'];

const INSTEAD: Readonly<Partial<Record<keyof AgentDefinition, string>>> = {
  skills: 'put what they say into its prompt',
  memory: 'put what it is to know into its prompt',
  mcpServers: 'give the servers to the query, and name them in its tools, as mcp__shop',
  initialPrompt: 'put it into its prompt',
};

type Types = NonNullable<PerdureConfig['agents']>;

/**
 * `own`: the names of the program's tools and servers. Throws ClientProblem `refused`: a part of
 * one that is not there would have guarded, or made another agent of it.
 */
export function agentTypes(
  agents: Readonly<Record<string, AgentDefinition>>,
  own: readonly string[],
  say: (line: string) => void,
): Types {
  const types = Object.entries(agents).map(([name, definition]) => {
    const shown = `the agent ${JSON.stringify(name)} of query()`;
    const tell = (line: string): void => say(`${shown} ${line}`);
    try {
      return [name, agentType(definition, own, tell)] as const;
    } catch (error) {
      if (!(error instanceof ClientProblem)) throw error;
      throw new ClientProblem('refused', `${shown} ${error.message}`, { cause: error });
    }
  });
  return Object.fromEntries(types);
}

function agentType(definition: AgentDefinition, own: readonly string[], say: (line: string) => void): Types[string] {
  const { description, prompt, tools, disallowedTools, model, maxTurns, permissionMode, background, ...more } =
    definition;
  const { isolation, effort, ...unknown } = more;
  const [other] = Object.keys({
    ...(isolation !== undefined && isolation !== 'worktree' && { isolation }),
    ...(typeof effort === 'number' && { effort }),
    ...unknown,
  });
  if (other !== undefined) {
    const instead = INSTEAD[other as keyof AgentDefinition] ?? 'leave it out';
    throw new ClientProblem('refused', `has ${JSON.stringify(other)}, which is not known here: ${instead}`);
  }
  const why = modelProblem({ model: model ?? 'inherit' });
  if (why !== undefined) throw new ClientProblem('refused', `has no model: ${why}`);
  if (background) say('runs in the background only where the call of the model asks for it');
  const listed = listOf(tools, disallowedTools, own, say);
  return {
    description,
    systemPrompt: prompt,
    ...(listed && { tools: listed }),
    ...(model !== undefined && model !== 'inherit' && { model }),
    ...(maxTurns !== undefined && { limits: { maxTurns } }),
    ...(permissionMode !== undefined && { permissionMode: modeOf(permissionMode, true) }),
    ...(isolation && { isolation }),
    ...(typeof effort === 'string' && { effort }),
  };
}

/** Of those that are there, without those that are not allowed; undefined: all. */
function listOf(
  tools: readonly string[] | undefined,
  disallowed: readonly string[] = [],
  own: readonly string[],
  say: (line: string) => void,
): readonly string[] | undefined {
  const ofRule = disallowed.find((name) => name.includes('('));
  if (ofRule !== undefined)
    throw new ClientProblem(
      'refused',
      `disallows ${JSON.stringify(ofRule)}: a rule with a pattern is for disallowedTools of the query`,
    );
  if (tools === undefined && disallowed.length === 0) return undefined;
  const wanted = (tools ?? [...OFFERED, ...own]).map(inwardName);
  const isThere = (name: string): boolean =>
    KNOWN.includes(name) || own.some((each) => isListedAs(each, name) || isListedAs(name, each));
  const missing = wanted.filter((name) => !isThere(name));
  if (missing.length > 0) say(`has no ${missing.join(', ')}: there is no such tool here`);
  const denied = disallowed.map(inwardName);
  return wanted.filter((name) => isThere(name) && !denied.some((each) => isListedAs(each, name)));
}
