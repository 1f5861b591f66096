// Turns the `agents` of a query into the agent types of a configuration.
import { isListedAs, SERVER_PREFIX } from '../faces/tools.ts';
import type { PerdureConfig } from '../faces/types.ts';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import { modelProblem } from '../../models/find-model.ts';
import { AUTO_IS_DEFAULT, inwardMode, inwardName } from './names.ts';
import type { AgentDefinition, Options } from './shapes/options.ts';
import type { AgentMcpServerSpec, McpServerConfig } from './shapes/mcp.ts';

/** Every agent may have these tools, whatever the program adds. */
const OFFERED = ['agent', 'bash', 'edit', 'glob', 'grep', 'read', 'todo', 'web_fetch', 'write'];
const KNOWN = [...OFFERED, 'agent_output', 'agent_send', 'agent_stop', 'ask_user', 'bash_output', 'bash_stop', 'wait'];

/** These fields guard nothing, so that an agent without them only knows less. */
const PASSED_OVER: Readonly<Partial<Record<keyof AgentDefinition, string>>> = {
  memory: 'it remembers nothing of earlier sessions: put what it is to know into its prompt, or into AGENTS.md',
  initialPrompt: 'it is for an agent that is the session itself, which there is none of',
};

type AgentTypes = NonNullable<PerdureConfig['agents']>;

/**
 * Adds the servers that agents bring themselves to those of the query: an agent may do no more than
 * the session that began it. Throws ClientProblem `refused` when two servers have one name.
 */
export function withAgentServers(options: Options, say: (line: string) => void): Options {
  const { agents = {}, mcpServers = {} } = options;
  const all = { ...mcpServers };
  for (const [agent, { mcpServers: specs = [] }] of Object.entries(agents))
    for (const [name, server] of specs.flatMap((spec) => (typeof spec === 'string' ? [] : Object.entries(spec)))) {
      const label = `the server ${JSON.stringify(name)} of the agent ${JSON.stringify(agent)}`;
      if (Object.hasOwn(all, name) && JSON.stringify(all[name]) !== JSON.stringify(server))
        throw new ClientProblem('refused', `${label} is another than the one of this name that the query has`);
      if (!Object.hasOwn(all, name)) say(`${label} is connected for the query: its tools are the session's, too`);
      all[name] = server as McpServerConfig;
    }
  return Object.keys(all).length === 0 ? options : { ...options, mcpServers: all };
}

/**
 * `own` names the tools and servers of the program, and `servers` maps the server names that the
 * program gave to ours. Throws ClientProblem `refused` for a field that is not supported, since the
 * agent would be less guarded, or another one, without it.
 */
export function toAgentTypes(
  agents: Readonly<Record<string, AgentDefinition>>,
  own: readonly string[],
  servers: ReadonlyMap<string, string>,
  say: (line: string) => void,
): AgentTypes {
  const types = Object.entries(agents).map(([name, definition]) => {
    const label = `the agent ${JSON.stringify(name)} of query()`;
    const tell = (line: string): void => say(`${label} ${line}`);
    try {
      return [name, toAgentType(definition, { own, servers }, tell)] as const;
    } catch (error) {
      if (!(error instanceof ClientProblem)) throw error;
      throw new ClientProblem('refused', `${label} ${error.message}`, { cause: error });
    }
  });
  return Object.fromEntries(types);
}

/** `own` has the query's tools and servers, and `servers` maps the given server names to ours. */
type QueryTools = { readonly own: readonly string[]; readonly servers: ReadonlyMap<string, string> };

function toAgentType(
  definition: AgentDefinition,
  offered: QueryTools,
  say: (line: string) => void,
): AgentTypes[string] {
  const { description, prompt, tools, disallowedTools, model, maxTurns, permissionMode, background, ...more } =
    definition;
  // `withAgentSkills` has added the skills to the prompt before.
  const { isolation, effort, mcpServers, skills: _, ...rare } = more;
  const unknown = Object.entries({
    ...rare,
    isolation: isolation === 'worktree' ? undefined : isolation,
    effort: typeof effort === 'number' ? effort : undefined,
  });
  for (const [field] of unknown.filter(([, value]) => value !== undefined)) {
    const why = PASSED_OVER[field as keyof AgentDefinition];
    if (why === undefined)
      throw new ClientProblem('refused', `has ${JSON.stringify(field)}, which is not known here: leave it out`);
    say(`has ${field}, which is passed over: ${why}`);
  }
  const why = modelProblem({ model: model ?? 'inherit' });
  if (why !== undefined) throw new ClientProblem('refused', `has no model: ${why}`);
  const agentServerNames = mcpServers && agentServers(mcpServers, offered.servers);
  if (permissionMode === 'auto') say(`has ${AUTO_IS_DEFAULT}`);
  const listed = agentToolList(tools, disallowedTools, { ...offered, agentServerNames }, say);
  return {
    description,
    systemPrompt: prompt,
    ...present({
      tools: listed,
      model: model === 'inherit' ? undefined : model,
      limits: maxTurns === undefined ? undefined : { maxTurns },
      permissionMode: permissionMode && inwardMode(permissionMode, true),
      isolation,
      background,
      effort: typeof effort === 'string' ? effort : undefined,
    }),
  };
}

/**
 * Returns our names of the servers. `withAgentServers` has added those that a definition brings to
 * the query before. Throws ClientProblem `refused` for a server that the query does not have.
 */
function agentServers(specs: readonly AgentMcpServerSpec[], servers: QueryTools['servers']): readonly string[] {
  return specs
    .flatMap((spec) => (typeof spec === 'string' ? [spec] : Object.keys(spec)))
    .map((name) => {
      const server = servers.get(name);
      if (server !== undefined) return server;
      const why = 'which is not in mcpServers of the query: give it there, or with its configuration';
      throw new ClientProblem('refused', `names the server ${JSON.stringify(name)}, ${why}`);
    });
}

/**
 * Returns the listed tools that exist here and are not disallowed, or undefined for all. Throws
 * ClientProblem `refused` for a disallowed rule with a pattern.
 */
function agentToolList(
  tools: readonly string[] | undefined,
  disallowed: readonly string[] = [],
  { own, agentServerNames }: QueryTools & { readonly agentServerNames: readonly string[] | undefined },
  say: (line: string) => void,
): readonly string[] | undefined {
  const ofRule = disallowed.find((name) => name.includes('('));
  if (ofRule !== undefined)
    throw new ClientProblem(
      'refused',
      `disallows ${JSON.stringify(ofRule)}: a rule with a pattern is for disallowedTools of the query`,
    );
  if (tools === undefined && disallowed.length === 0 && agentServerNames === undefined) return undefined;
  const ofServers = agentServerNames?.map((server) => `${SERVER_PREFIX}${server}`);
  const wanted = [...(tools ?? [...OFFERED, ...(agentServerNames ? [] : own)]).map(inwardName), ...(ofServers ?? [])];
  const isThere = (name: string): boolean =>
    KNOWN.includes(name) || own.some((each) => isListedAs(each, name) || isListedAs(name, each));
  const missing = wanted.filter((name) => !isThere(name));
  if (missing.length > 0) say(`has no ${missing.join(', ')}: there is no such tool here`);
  const denied = disallowed.map(inwardName);
  return wanted.filter((name) => isThere(name) && !denied.some((each) => isListedAs(each, name)));
}
