// The parts of a session that is about to be created, and what is refused of them (G4, G20).
import type { z } from 'zod';
import type { BetaEnvironment } from '@anthropic-ai/sdk/resources/beta/environments';
import type { BetaManagedAgentsSessionAgent } from '@anthropic-ai/sdk/resources/beta/sessions';
import { optionsProblem } from '../client/faces/options.ts';
import type { RunOptions } from '../client/faces/types.ts';
import { optionsOfAgent } from './agent-options.ts';
import type { Agents } from './agents.ts';
import { requirePrice } from './budgets.ts';
import { type Environments, refuseWithoutServers } from './environments.ts';
import { invalid } from './errors.ts';
import type { Timelines } from './events/timelines.ts';
import type { FileResources } from './files/file-resources.ts';
import type { ManagedStore } from './log/stored.ts';
import type { MemoryStores } from './memory/stores.ts';
import type { ManagedPorts } from './ports.ts';
import type { SkillResources } from './skills/skill-resources.ts';
import { attachMemoryStores } from './memory/attach.ts';
import { refuseRoster, rosterOf } from './rosters.ts';
import type { ResourceParams } from './shapes/files.ts';
import type { sessionCreate } from './shapes/sessions.ts';
import { chooseSkills, readSkills } from './skills/attach.ts';
import { requireVaults, type VaultResources } from './vaults/vaults.ts';

export type SessionParts = {
  readonly ports: ManagedPorts;
  readonly stored: ManagedStore;
  readonly agents: Agents;
  readonly environments: Environments;
  readonly memoryStores: MemoryStores;
  readonly skills: SkillResources;
  readonly vaults: VaultResources;
  readonly files: FileResources;
  readonly timelines: Timelines;
};

/** The body of a creation without the first events. */
export type NewSession = Omit<z.output<typeof sessionCreate>, 'initial_events'>;

export const FILES_ELSEWHERE =
  'resources: files are attached to sessions of "cloud" environments that were created by this version of Perdure';

/** Returns what the session is made of. Throws ManagedError. */
export async function chooseSession(parts: SessionParts, id: string, body: NewSession) {
  const { environments, memoryStores } = parts;
  const environment = await environments.requireOpen(body.environment_id);
  const agent = await parts.agents.choose(body.agent);
  if (rosterOf(agent).length > 0) refuseRoster(agent, environment);
  if (body.budget) for (const { model } of [agent, ...rosterOf(agent)]) requirePrice(model.id);
  const requested = body.resources ?? [];
  const resources = await attachMemoryStores(memoryStores, requested);
  const { vault_ids: vaults = [] } = body;
  await requireVaults(parts.vaults, vaults);
  await refuseWrongAgent(parts, agent, environment, { session: id, resources, vaults });
  const isCloud = environment.config.type === 'cloud';
  if (requested.some(({ type }) => type !== 'memory_store') && !isCloud)
    throw invalid(FILES_ELSEWHERE, 'resources', 'self_hosted_resources_unsupported');
  return { agent, environment, resources, vaults };
}

/** Throws ManagedError for an agent whose runs could not open in the environment. */
export async function refuseWrongAgent(
  { stored, ports }: Pick<SessionParts, 'stored' | 'ports'>,
  agent: BetaManagedAgentsSessionAgent,
  environment: BetaEnvironment,
  place: Pick<Parameters<typeof optionsOfAgent>[2], 'session' | 'resources' | 'vaults'>,
): Promise<void> {
  if (agent.mcp_servers.length > 0) refuseWithoutServers(environment);
  const skills = await readSkills(stored.skills, agent.skills);
  const { workerTools } = ports;
  const options = optionsOfAgent(agent, environment, { ...place, cwd: '/', skills, workerTools });
  if (skills.length > 0) requireReader(options);
  const problem = optionsProblem(options);
  if (problem !== undefined) throw invalid(`agent: ${problem}`, 'agent');
}

type Attaching = {
  readonly id: string;
  readonly by: string;
  readonly agent: BetaManagedAgentsSessionAgent;
  readonly resources: readonly ResourceParams[];
};

/** Attaches files and skills to a session that is about to be created. Throws ManagedError. */
export async function attachToSession(
  { files, skills, stored }: SessionParts,
  { id, by, agent, resources }: Attaching,
): Promise<void> {
  await files.attachAll(id, by, resources);
  const { skills: chosen } = agent;
  const versions = chosen.map(({ version }) => version);
  await skills.hold(id, by, versions);
  // One that was deleted before it was held may be gone at any time.
  await chooseSkills(stored.skills, chosen, 'agent.skills');
}

/** A model reads its skills by a tool. Throws ManagedError. */
function requireReader({ tools = [] }: RunOptions): void {
  if (tools.some((name) => name === 'read' || name === 'bash')) return;
  throw invalid('agent: its skills are read by the tool read or bash: enable one of them', 'agent');
}
