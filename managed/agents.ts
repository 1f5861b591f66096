// Agents and their versions (G12, G23): creating, updating and archiving are records of the log; a
// version is an immutable stored value.
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type {
  BetaManagedAgentsAgent,
  BetaManagedAgentsAgentToolConfig,
  BetaManagedAgentsAgentToolset20260401,
  BetaManagedAgentsCustomTool,
  BetaManagedAgentsModelConfig,
} from '@anthropic-ai/sdk/resources/beta/agents';
import type { BetaManagedAgentsSessionAgent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { schemaProblem } from '../system/schema/json-schema.ts';
import { RUN_OPTIONS } from '../client/faces/options.ts';
import { builtinNames } from '../client/faces/rules.ts';
import type { OutsideTool } from '../client/faces/types.ts';
import { refuseWrongServers, resolveMcpToolset } from './mcp-servers.ts';
import { conflict, invalid, notFound, unsupported } from './errors.ts';
import {
  defineRoster,
  mergeMultiagent,
  moveSelf,
  type Multiagent,
  type ResolvedMultiagent,
  resolveMultiagent,
} from './rosters.ts';
import { formatTime } from './ids.ts';
import { sortByCreation } from './pages.ts';
import { type AgentItem, type AgentVersion, LIST_AGE_MS, type ManagedStore } from './log/stored.ts';
import type { agentCreate, agentList, agentUpdate, model, toolset, tools } from './shapes/agents.ts';
import { patchMetadata } from './shapes/parse.ts';
import type { AgentChoice } from './shapes/sessions.ts';
import { chooseSkills, pinSkills } from './skills/attach.ts';

type Tools = z.output<typeof tools>;
type Model = z.output<typeof model>;
type Toolset = z.output<typeof toolset>;
type Custom = Pick<BetaManagedAgentsCustomTool, 'name' | 'description'> & {
  readonly input_schema: Readonly<Record<string, unknown>>;
};
type ToolName = BetaManagedAgentsAgentToolConfig['name'];

/** The parts of an agent that a request may set, and that sessions may override. */
type AgentParts = {
  readonly model?: Model | undefined;
  readonly tools?: Tools | null | undefined;
  readonly execution_identity?: { readonly type: string } | null | undefined;
};

/** Refuses by name what sessions of this server would not do (G4). Throws ManagedError. */
function refuseUnserved(parts: AgentParts, path = ''): void {
  const { model: chosen, execution_identity, tools: offered } = parts;
  const at = (name: string): string => `${path}${name}`;
  if (typeof chosen === 'object') {
    if (chosen.inference_geo) throw unsupported(at('model.inference_geo'), 'no model is bound to a place here');
    if (chosen.speed === 'fast') throw unsupported(at('model.speed'), 'only "standard" is served');
  }
  if (execution_identity?.type === 'aws_role') throw unsupported(at('execution_identity'), 'only "service_account"');
  refuseTools(offered ?? [], at('tools'));
}

function refuseTools(offered: Tools, path: string): void {
  if (offered.filter(({ type }) => type === 'agent_toolset_20260401').length > 1)
    throw invalid(`${path}: the agent toolset is given twice`, path);
  for (const [at, one] of offered.entries()) {
    const where = `${path}.${at}`;
    if (one.type === 'custom') refuseCustom(one, where);
    if (one.type !== 'agent_toolset_20260401') continue;
    for (const [index, config] of (one.configs ?? []).entries()) refuseConfig(config, `${where}.configs.${index}`);
  }
  const custom = offered.flatMap((one) => (one.type === 'custom' ? [one] : []));
  const problem = RUN_OPTIONS.outsideTools.problemOf(outsideToolsOf(custom));
  if (problem !== undefined) throw invalid(`${path}: ${problem}`, path);
}

/** Tools of the toolset keep their names, and so do built-in tools and those of MCP servers. */
function refuseCustom({ name, description, input_schema }: Custom, path: string): void {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(name))
    throw invalid(`${path}.name: give 1 to 128 letters, digits, "_" or "-"`, `${path}.name`);
  if ([...TOOL_NAMES, ...builtinNames].some((known) => known === name) || name.startsWith('mcp__'))
    throw invalid(`${path}.name: ${JSON.stringify(name)} is the name of another tool`, `${path}.name`);
  if (description === '' || description.length > LONGEST_DESCRIPTION)
    throw invalid(`${path}.description: give 1 to ${LONGEST_DESCRIPTION} characters`, `${path}.description`);
  const problem = schemaProblem(withoutNulls(input_schema), 'input schema');
  if (problem !== undefined) throw invalid(`${path}.input_schema: ${problem}`, `${path}.input_schema`);
}

const LONGEST_DESCRIPTION = 4_096;

/** Returns custom tools as a run has them. `workerTools`: names of those that workers own (G57). */
export const outsideToolsOf = (
  custom: readonly Custom[],
  workerTools: readonly string[] = [],
): readonly OutsideTool[] =>
  custom.map(({ name, description, input_schema }) => ({
    by: workerTools.includes(name) ? 'worker' : 'custom',
    name,
    description,
    input_schema: withoutNulls(input_schema),
  }));

/** A null stands for a keyword that is left out. */
const withoutNulls = (schema: Custom['input_schema']): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== null));

function refuseConfig(config: NonNullable<Toolset['configs']>[number], path: string): void {
  if (config.name === 'web_search' && config.enabled === true)
    throw unsupported(path, 'searches of the web are not served yet');
  if (config.name === 'web_fetch')
    for (const name of ['allowed_domains', 'blocked_domains', 'max_content_tokens', 'url_sources'] as const)
      if (config[name] !== undefined && config[name] !== null)
        throw unsupported(`${path}.${name}`, 'rules for hosts come from the worker’s configuration');
}

const TOOL_NAMES: readonly ToolName[] = ['bash', 'edit', 'read', 'write', 'glob', 'grep', 'web_fetch', 'web_search'];
const allow = { type: 'always_allow' } as const;

/** Returns a toolset with every tool written out. */
function resolveToolset({ configs = [], default_config }: Toolset): BetaManagedAgentsAgentToolset20260401 {
  const enabled = default_config?.enabled ?? true;
  const policy = default_config?.permission_policy ?? allow;
  const resolved = TOOL_NAMES.map((name): BetaManagedAgentsAgentToolConfig => {
    const chosen = configs.find((one) => one.name === name);
    const rules = {
      enabled: name !== 'web_search' && (chosen?.enabled ?? enabled),
      permission_policy: chosen?.permission_policy ?? policy,
    };
    if (name === 'web_fetch') return { name, type: name, ...rules, url_sources: null };
    return { name, type: name, ...rules } as BetaManagedAgentsAgentToolConfig;
  });
  return { type: 'agent_toolset_20260401', configs: resolved, default_config: { enabled, permission_policy: policy } };
}

const resolveTools = (offered: Tools): AgentVersion['tools'] =>
  offered.flatMap((one): AgentVersion['tools'] => {
    if (one.type === 'custom') return [one as BetaManagedAgentsCustomTool];
    return [one.type === 'mcp_toolset' ? resolveMcpToolset(one) : resolveToolset(one)];
  });

function resolveModel(chosen: Model): BetaManagedAgentsModelConfig {
  if (typeof chosen === 'string') return { id: chosen };
  const { id, effort, speed } = chosen;
  const level = typeof effort === 'string' ? effort : effort?.type;
  return { id, ...(level && { effort: { type: level } }), ...(speed && { speed }) };
}

export class Agents {
  readonly #stored: ManagedStore;
  readonly #now: () => number;

  constructor(stored: ManagedStore, now: () => number) {
    this.#stored = stored;
    this.#now = now;
  }

  /** A repeated request with the same `id` creates nothing new. */
  async create(id: string, by: string, body: z.output<typeof agentCreate>): Promise<BetaManagedAgentsAgent> {
    refuseUnserved(body);
    const at = this.#now();
    const version: AgentVersion = {
      id,
      type: 'agent',
      name: body.name,
      description: body.description ?? null,
      execution_identity: { type: 'service_account' },
      mcp_servers: body.mcp_servers ?? [],
      metadata: body.metadata ?? {},
      model: resolveModel(body.model),
      multiagent: body.multiagent ? await this.#resolveRoster(id, body.multiagent, 1) : null,
      skills: await this.#chooseSkills(body.skills),
      system: body.system ?? null,
      tools: resolveTools(body.tools ?? []),
      created_at: formatTime(at),
      updated_at: formatTime(at),
      version: 1,
    };
    refuseWrongServers(version.mcp_servers, version.tools);
    const hash = await this.#stored.putVersion(version);
    await this.#stored.agents.append(by, (all) =>
      all.has(id) ? null : { id, item: { createdAt: at, archivedAt: null, versions: [hash] } },
    );
    return this.retrieve(id);
  }

  /** Returns the newest version, or the one that is named. Throws ManagedError. */
  async retrieve(id: string, version?: number): Promise<BetaManagedAgentsAgent> {
    return this.#version(id, await this.item(id), version);
  }

  async item(id: string): Promise<AgentItem> {
    const item = (await this.#stored.agents.read()).get(id);
    if (!item) throw notFound('Agent', id);
    return item;
  }

  async #version(id: string, item: AgentItem, version = item.versions.length): Promise<BetaManagedAgentsAgent> {
    const hash = item.versions[version - 1];
    if (hash === undefined) throw notFound(`Version ${version} of agent`, id);
    return withArchived(await this.#stored.version(hash), item);
  }

  async update(id: string, by: string, body: z.output<typeof agentUpdate>): Promise<BetaManagedAgentsAgent> {
    refuseUnserved(body);
    for (;;) {
      const item = await this.item(id);
      refuseArchived(item, id);
      refuseStale(item, body.version);
      const current = await this.#stored.version(item.versions.at(-1)!);
      const sent = body.multiagent && mergeMultiagent(current.multiagent, body.multiagent);
      const multiagent = sent ? await this.#resolveRoster(id, sent, current.version) : sent;
      const skills = body.skills === undefined ? current.skills : await this.#chooseSkills(body.skills);
      const next = changeAgent(current, { ...body, skills, multiagent }, formatTime(this.#now()));
      if (next === null) return withArchived(current, item);
      const hash = await this.#stored.putVersion(next);
      let isApplied = false;
      await this.#stored.agents.append(by, (all) => {
        // Another writer came between: the change is made of the newest version once more.
        if (all.get(id)?.versions.length !== item.versions.length || all.get(id)?.archivedAt !== null) return null;
        isApplied = true;
        return { id, item: { ...item, versions: [...item.versions, hash] } };
      });
      if (isApplied) return withArchived(next, item);
    }
  }

  /** Throws ManagedError. */
  #chooseSkills(sent: z.output<typeof agentUpdate>['skills']): Promise<AgentVersion['skills']> {
    return chooseSkills(this.#stored.skills, sent ?? [], 'skills');
  }

  /** Resolves the agents of a roster to versions (G68). Throws ManagedError. */
  #resolveRoster(id: string, sent: Multiagent, version: number): Promise<ResolvedMultiagent> {
    return resolveMultiagent(sent, { id, version }, (other, chosen) => this.retrieve(other, chosen));
  }

  /** Returns the agent as a new session has it: a version, with what the request overrides. */
  async choose(choice: AgentChoice): Promise<BetaManagedAgentsSessionAgent> {
    const { id, version } = typeof choice === 'string' ? { id: choice, version: undefined } : choice;
    const {
      archived_at,
      created_at: _,
      updated_at: __,
      metadata: ___,
      multiagent,
      ...agent
    } = await this.retrieve(id, version);
    if (archived_at !== null) throw invalid(`agent: agent ${id} is archived`, 'agent', 'agent_archived');
    const { skills } = this.#stored;
    const overrides: Overrides = typeof choice === 'object' && choice.type === 'agent_with_overrides' ? choice : {};
    const own = overrides.skills ? await chooseSkills(skills, overrides.skills, 'agent.skills') : agent.skills;
    const changed = withOverrides({ ...agent, skills: await pinSkills(skills, own), multiagent: null }, overrides);
    const roster = await defineRoster(multiagent, changed, (other, chosen) => this.retrieve(other, chosen));
    return { ...changed, multiagent: roster };
  }

  async archive(id: string, by: string): Promise<BetaManagedAgentsAgent> {
    await this.#stored.agents.append(by, (all) => {
      const item = all.get(id);
      if (!item) throw notFound('Agent', id);
      return item.archivedAt === null ? { id, item: { ...item, archivedAt: this.#now() } } : null;
    });
    return this.retrieve(id);
  }

  /** Lists agents that a query chooses, newest first. */
  async list(query: z.output<typeof agentList>): Promise<readonly (readonly [string, AgentItem])[]> {
    const { 'created_at[gte]': from = -Infinity, 'created_at[lte]': to = Infinity, include_archived } = query;
    const all = [...(await this.#stored.agents.read(LIST_AGE_MS))];
    const chosen = all.filter(([, { createdAt, archivedAt }]) => {
      const isIn = createdAt * 1000 >= from && createdAt * 1000 <= to;
      return isIn && (include_archived === true || archivedAt === null);
    });
    return sortByCreation(chosen);
  }

  show(id: string, item: AgentItem): Promise<BetaManagedAgentsAgent> {
    return this.#version(id, item);
  }
}

/** What a session may change of its agent. */
export type Overrides = Omit<Extract<AgentChoice, { type: 'agent_with_overrides' }>, 'type' | 'id' | 'version'>;

/** Changes all but skills. Throws ManagedError. */
export function withOverrides(own: BetaManagedAgentsSessionAgent, choice: Overrides): BetaManagedAgentsSessionAgent {
  refuseUnserved(choice, 'agent.');
  const changed: BetaManagedAgentsSessionAgent = {
    ...own,
    ...(choice.model !== undefined && { model: resolveModel(choice.model) }),
    ...(choice.system !== undefined && { system: choice.system }),
    ...(choice.tools !== undefined && { tools: resolveTools(choice.tools) }),
    ...(choice.mcp_servers !== undefined && { mcp_servers: choice.mcp_servers }),
  };
  refuseWrongServers(changed.mcp_servers, changed.tools, 'agent.');
  return changed;
}

const withArchived = (version: AgentVersion, { archivedAt }: AgentItem): BetaManagedAgentsAgent => ({
  ...version,
  archived_at: archivedAt === null ? null : formatTime(archivedAt),
});

function refuseArchived({ archivedAt }: AgentItem, id: string): void {
  if (archivedAt !== null) throw invalid(`Agent ${id} is archived and cannot be changed`, undefined, 'agent_archived');
}

function refuseStale({ versions }: AgentItem, version: number | undefined): void {
  if (version === undefined || version === versions.length) return;
  throw conflict('version_conflict', `version ${version} is not the newest: the agent is at ${versions.length}`);
}

/** Returns the next version, or null when nothing would change. */
function changeAgent(
  current: AgentVersion,
  body: Omit<z.output<typeof agentUpdate>, 'multiagent' | 'skills'> & {
    readonly multiagent?: AgentVersion['multiagent'] | undefined;
    readonly skills: AgentVersion['skills'];
  },
  at: string,
): AgentVersion | null {
  const changed: AgentVersion = {
    ...current,
    ...(body.name !== undefined && { name: body.name }),
    ...(body.description !== undefined && { description: body.description }),
    ...(body.system !== undefined && { system: body.system }),
    ...(body.model !== undefined && { model: resolveModel(body.model) }),
    ...(body.tools !== undefined && { tools: resolveTools(body.tools ?? []) }),
    ...(body.mcp_servers !== undefined && { mcp_servers: body.mcp_servers ?? [] }),
    ...(body.multiagent !== undefined && { multiagent: body.multiagent }),
    skills: body.skills,
    metadata: patchMetadata(current.metadata, body.metadata),
  };
  refuseWrongServers(changed.mcp_servers, changed.tools);
  if (isDeepStrictEqual(changed, current)) return null;
  const version = current.version + 1;
  const { multiagent } = changed;
  return { ...changed, multiagent: multiagent && moveSelf(multiagent, current.id, version), updated_at: at, version };
}
