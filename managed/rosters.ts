// Rosters (G68): the agents that an agent may start in threads of its session, resolved to versions
// when it is saved, and to whole definitions when a session is created.
import type { z } from 'zod';
import type {
  BetaManagedAgentsAgent,
  BetaManagedAgentsAgentReference,
  BetaManagedAgentsMultiagentSubagentsEnabled,
  BetaManagedAgentsSessionThreadAgent,
} from '@anthropic-ai/sdk/resources/beta/agents';
import type {
  BetaManagedAgentsMultiagent,
  BetaManagedAgentsSessionAgent,
  BetaManagedAgentsSessionMultiagent,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import type { BetaEnvironment } from '@anthropic-ai/sdk/resources/beta/environments';
import { findRepeated } from '../client/faces/outside.ts';
import { invalid, ManagedError, unsupported } from './errors.ts';
import type { multiagent } from './shapes/agents.ts';

export type Multiagent = z.output<typeof multiagent>;
export type ResolvedMultiagent = BetaManagedAgentsMultiagent;
type ThreeMembers = Extract<Multiagent, { type: 'multiagent_20261001' }>;
type Entry = Extract<Multiagent, { type: 'coordinator' }>['agents'][number];
type Reference = BetaManagedAgentsAgentReference;
type Definition = BetaManagedAgentsSessionThreadAgent;

/** Returns an agent, in its newest version or the one that is named. Throws ManagedError. */
type ReadAgent = (id: string, version?: number) => Promise<BetaManagedAgentsAgent>;

const off = { type: 'disabled' } as const;

/** `self` stands for the agent that owns the roster. Throws ManagedError. */
export async function resolveMultiagent(
  sent: Multiagent,
  self: { readonly id: string; readonly version: number },
  read: ReadAgent,
): Promise<ResolvedMultiagent> {
  if (sent.type === 'coordinator') {
    const agents = await resolveEntries(sent.agents, 'multiagent.agents', self, read);
    return { type: 'coordinator', agents };
  }
  const entries = requirePredefined(sent);
  if (entries === null) return { type: sent.type, advisor: off, subagents: off, workflows: off };
  const predefined_agents = await resolveEntries(entries, 'multiagent.subagents.predefined_agents', self, read);
  const subagents = { type: 'enabled', inline_agents: off, predefined_agents } as const;
  return { type: sent.type, advisor: off, subagents, workflows: off };
}

/**
 * Returns the predefined agents, null where none may be started. What is left out has the API's
 * defaults, which are not all served: such a request is refused, not narrowed.
 */
function requirePredefined({ advisor, subagents, workflows }: ThreeMembers): readonly Entry[] | null {
  const defaultOn = 'it is enabled unless sent as { "type": "disabled" }, and not served';
  if (advisor?.type === 'enabled') throw unsupported('multiagent.advisor', 'advisors are not served');
  if (workflows?.type !== 'disabled') throw unsupported('multiagent.workflows', defaultOn);
  if (subagents?.type === 'disabled') return null;
  if (subagents?.inline_agents?.type !== 'disabled') throw unsupported('multiagent.subagents.inline_agents', defaultOn);
  const path = 'multiagent.subagents.predefined_agents';
  if (!subagents.predefined_agents?.length)
    throw invalid(`${path}: name at least one agent while inline_agents is disabled`, path);
  return subagents.predefined_agents;
}

async function resolveEntries(
  entries: readonly Entry[],
  path: string,
  self: { readonly id: string; readonly version: number },
  read: ReadAgent,
): Promise<Reference[]> {
  const found: { readonly reference: Reference; readonly name: string | null }[] = [];
  for (const [at, entry] of entries.entries()) {
    const where = `${path}.${at}`;
    if (typeof entry === 'object' && entry.type === 'advisor') throw unsupported(where, 'advisors are not served');
    if (typeof entry === 'object' && entry.type === 'self') {
      found.push({ reference: { type: 'agent', ...self }, name: null });
      continue;
    }
    const { id, version, name } = await readMember(entry, where, self.id, read);
    found.push({ reference: { type: 'agent', id, version }, name });
  }
  refuseTwice(found, path);
  return found.map(({ reference }) => reference);
}

async function readMember(
  entry: Exclude<Entry, { type: 'self' | 'advisor' }>,
  where: string,
  own: string,
  read: ReadAgent,
): Promise<BetaManagedAgentsAgent> {
  const { id, version } = typeof entry === 'string' ? { id: entry, version: undefined } : entry;
  if (id === own) throw invalid(`${where}: name the agent itself as { "type": "self" }`, where);
  const agent = await read(id, version).catch((error: unknown) => {
    if (error instanceof ManagedError && error.status === 404) throw invalid(`${where}: ${error.message}`, where);
    throw error;
  });
  if (agent.archived_at !== null) throw invalid(`${where}: agent ${id} is archived`, where);
  if (agent.multiagent !== null) throw invalid(`${where}: agent ${id} has a roster of its own`, where);
  return agent;
}

/** The model tells agents apart by their names. */
function refuseTwice(found: readonly { readonly reference: Reference; readonly name: string | null }[], path: string) {
  for (const [at, { reference, name }] of found.entries())
    for (const before of found.slice(0, at)) {
      if (before.reference.id === reference.id)
        throw invalid(`${path}.${at}: agent ${reference.id} is listed twice`, `${path}.${at}`);
      if (name !== null && before.name === name)
        throw invalid(`${path}.${at}: another agent of the roster is named ${JSON.stringify(name)}`, `${path}.${at}`);
    }
}

/**
 * Merges what an update sends into what is stored, level by level, where both have three members:
 * what is left out stays, and a null takes its default.
 */
export function mergeMultiagent(stored: ResolvedMultiagent | null, sent: Multiagent): Multiagent {
  if (sent.type === 'coordinator' || stored?.type !== 'multiagent_20261001') return sent;
  return {
    ...sent,
    advisor: sent.advisor === undefined ? stored.advisor : sent.advisor,
    workflows: sent.workflows === undefined ? off : sent.workflows,
    subagents: mergeSubagents(stored.subagents, sent.subagents),
  };
}

function mergeSubagents(
  stored: BetaManagedAgentsMultiagentSubagentsEnabled | { readonly type: 'disabled' },
  sent: ThreeMembers['subagents'],
): ThreeMembers['subagents'] {
  if (sent === null || (sent && sent.type !== stored.type)) return sent;
  return stored.type === 'disabled' ? stored : { ...stored, ...sent, type: 'enabled' };
}

/** The agent itself is in its roster as its newest version. */
export function moveSelf(resolved: ResolvedMultiagent, id: string, version: number): ResolvedMultiagent {
  return mapReferences(resolved, (one) => (one.type === 'agent' && one.id === id ? { ...one, version } : one));
}

function mapReferences(resolved: ResolvedMultiagent, map: (one: Reference) => Reference): ResolvedMultiagent {
  if (resolved.type === 'coordinator')
    return { ...resolved, agents: resolved.agents.map((one) => (one.type === 'agent' ? map(one) : one)) };
  const { subagents } = resolved;
  if (subagents.type === 'disabled') return resolved;
  return { ...resolved, subagents: { ...subagents, predefined_agents: subagents.predefined_agents.map(map) } };
}

/** Writes a roster out in whole for a session that begins with `own`. Throws ManagedError. */
export async function defineRoster(
  resolved: ResolvedMultiagent | null,
  own: BetaManagedAgentsSessionAgent,
  read: ReadAgent,
): Promise<BetaManagedAgentsSessionMultiagent | null> {
  if (resolved === null) return null;
  const define = async ({ id, version }: Reference): Promise<Definition> =>
    definitionOf(id === own.id ? own : await read(id, version));
  if (resolved.type === 'coordinator') {
    const references = resolved.agents.flatMap((one) => (one.type === 'agent' ? [one] : []));
    return { type: resolved.type, agents: refuseSameName(await Promise.all(references.map(define))) };
  }
  const { type, advisor, subagents } = resolved;
  if (subagents.type === 'disabled') return { type, advisor, subagents, workflows: off };
  const predefined_agents = refuseSameName(await Promise.all(subagents.predefined_agents.map(define)));
  return { type, advisor, subagents: { ...subagents, predefined_agents }, workflows: off };
}

function definitionOf(agent: BetaManagedAgentsAgent | BetaManagedAgentsSessionAgent): Definition {
  const { id, description, execution_identity, mcp_servers, model, name, skills, system, tools, type, version } = agent;
  return { id, description, execution_identity, mcp_servers, model, name, skills, system, tools, type, version };
}

/** A name may have come with a later version of the agent itself. */
function refuseSameName(roster: Definition[]): Definition[] {
  const twice = findRepeated(roster.map(({ name }) => name));
  if (twice !== undefined) throw invalid(`agent: two agents of its roster are named ${JSON.stringify(twice)}`, 'agent');
  return roster;
}

/** Returns the agents that a session's agent may start. */
export function rosterOf({ multiagent }: Pick<BetaManagedAgentsSessionAgent, 'multiagent'>): readonly Definition[] {
  if (multiagent === null) return [];
  if (multiagent.type === 'coordinator') return multiagent.agents.flatMap((one) => (one.type === 'agent' ? [one] : []));
  return multiagent.subagents.type === 'enabled' ? multiagent.subagents.predefined_agents : [];
}

/** Threads work on the workers of this deployment alone (G68). */
export function refuseRoster(agent: BetaManagedAgentsSessionAgent, { config }: BetaEnvironment): void {
  if (config.type === 'self_hosted')
    throw unsupported('environment_id', 'an agent with a roster works in a "cloud" environment alone');
  const served = rosterOf(agent).find(
    ({ id, mcp_servers, skills }) => mcp_servers.length > 0 || (skills.length > 0 && id !== agent.id),
  );
  if (served) throw unsupported('agent', `agent ${served.id} of the roster has MCP servers or skills`);
}
