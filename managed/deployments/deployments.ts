// Deployments as resources (G71): the log holds their schedules and why some are paused; the config
// of their sessions is a stored value.
import type { z } from 'zod';
import type { BetaManagedAgentsDeployment } from '@anthropic-ai/sdk/resources/beta/deployments';
import type { Agents } from '../agents.ts';
import { conflict, invalid, type ManagedError, notFound } from '../errors.ts';
import type { FileResources } from '../files/file-resources.ts';
import { type DeploymentConfig, type DeploymentItem, LIST_AGE_MS, type ManagedStore } from '../log/stored.ts';
import { sortByCreation } from '../pages.ts';
import { checkOpening } from '../send.ts';
import type { NewSession } from '../new-session.ts';
import type { Sessions } from '../sessions.ts';
import type { deploymentCreate, deploymentList, deploymentUpdate } from '../shapes/deployments.ts';
import { patchMetadata } from '../shapes/parse.ts';
import { isWithin, type SentEvent } from '../shapes/sessions.ts';
import { checkSchedule } from './schedule.ts';

type CreateBody = z.output<typeof deploymentCreate>;
type UpdateBody = z.output<typeof deploymentUpdate>;

/** Bytes of JSON of what sessions are made of: pages of deployments are in memory at once. */
const LARGEST_CONFIG = 256 * 1024;
const MOST_SCHEDULED = 1_000;

type DeploymentParts = {
  readonly stored: ManagedStore;
  readonly agents: Agents;
  readonly sessions: Sessions;
  readonly files: FileResources;
  readonly now: () => number;
};

/** A deployment with its id. */
export type NamedDeployment = readonly [id: string, item: DeploymentItem];

export class Deployments {
  readonly #parts: DeploymentParts;

  constructor(parts: DeploymentParts) {
    this.#parts = parts;
  }

  /** A repeated request with the same `id` creates nothing new. Throws ManagedError. */
  async create(id: string, by: string, body: CreateBody): Promise<NamedDeployment> {
    const { stored, now } = this.#parts;
    const { agent, environment_id, initial_events, resources = [], budget = null, vault_ids = [] } = body;
    const pinned = await this.#pin(agent);
    const parts = { environment_id, initial_events, resources, budget, vault_ids };
    const config = await this.#store({ agent: pinned, ...parts } as Sent);
    const at = now();
    const item: DeploymentItem = {
      createdAt: at,
      updatedAt: at,
      archivedAt: null,
      name: body.name,
      description: body.description || null,
      metadata: body.metadata ?? {},
      agentId: pinned.id,
      config,
      schedule: scheduleOf(body.schedule),
      paused: null,
      firedUntil: at,
      lastRunAt: null,
    };
    await stored.deployments.append(by, (all) => {
      if (all.has(id)) return null;
      refuseMore(all, id, item);
      return { id, item };
    });
    return this.retrieve(id);
  }

  async update(id: string, by: string, body: UpdateBody): Promise<NamedDeployment> {
    const { config: before } = await this.item(id);
    const current = await this.#parts.stored.deployment(before);
    const { agent, environment_id, initial_events, resources, budget, vault_ids } = body;
    const pinned = agent === undefined ? current.agent : await this.#pin(agent);
    const next = {
      agent: pinned,
      environment_id: environment_id ?? current.environment_id,
      initial_events: initial_events ?? current.initial_events,
      resources: resources === undefined ? current.resources : (resources ?? []),
      budget: budget === undefined ? (current.budget ?? null) : budget,
      vault_ids: vault_ids === undefined ? current.vault_ids : (vault_ids ?? []),
    };
    const sent = [agent, environment_id, initial_events, resources, budget, vault_ids];
    const isSame = sent.every((part) => part === undefined);
    const config = isSame ? before : await this.#store(next as Sent);
    const schedule = body.schedule === undefined ? undefined : scheduleOf(body.schedule);
    await this.change(id, by, (item, now) => {
      refuseArchived(id, item);
      if (!isSame && item.config !== before) throw conflict('deployment_conflict', 'another update came first');
      return {
        ...item,
        updatedAt: now,
        ...(!isSame && { config, agentId: pinned.id }),
        ...(body.name !== undefined && { name: body.name }),
        ...(body.description !== undefined && { description: body.description || null }),
        ...(schedule !== undefined && { schedule, firedUntil: now }),
        metadata: patchMetadata(item.metadata, body.metadata),
      };
    });
    return this.retrieve(id);
  }

  /** Its schedule does not fire until it is unpaused; manual runs do. */
  async pause(id: string, by: string): Promise<NamedDeployment> {
    await this.change(id, by, (item, now) => {
      refuseArchived(id, item);
      return item.paused === null ? { ...item, paused: 'manual', updatedAt: now } : item;
    });
    return this.retrieve(id);
  }

  /** Goes on with the next firing: what was due meanwhile is left out. */
  async unpause(id: string, by: string): Promise<NamedDeployment> {
    await this.change(id, by, (item, now) => {
      refuseArchived(id, item);
      return item.paused === null ? item : { ...item, paused: null, firedUntil: now, updatedAt: now };
    });
    return this.retrieve(id);
  }

  /** Ends its firings for good; its sessions stay. */
  async archive(id: string, by: string): Promise<NamedDeployment> {
    await this.change(id, by, (item, now) =>
      item.archivedAt === null ? { ...item, paused: null, archivedAt: now, updatedAt: now } : item,
    );
    return this.retrieve(id);
  }

  async item(id: string): Promise<DeploymentItem> {
    const item = (await this.#parts.stored.deployments.read()).get(id);
    if (!item) throw notThere(id);
    return item;
  }

  /** Returns what may run. Throws ManagedError. */
  async requireOpen(id: string): Promise<DeploymentItem> {
    const item = await this.item(id);
    refuseArchived(id, item);
    return item;
  }

  /** Throws ManagedError 404. */
  async retrieve(id: string): Promise<NamedDeployment> {
    return [id, await this.item(id)];
  }

  /** Lists deployments that a query chooses, newest first. */
  async list(query: z.output<typeof deploymentList>): Promise<readonly NamedDeployment[]> {
    const { agent_id, status, include_archived } = query;
    if (status !== undefined && include_archived !== undefined)
      throw invalid('status: give it without include_archived', 'status');
    const isChosen = ([, item]: NamedDeployment): boolean =>
      (include_archived === true || item.archivedAt === null) &&
      (agent_id === undefined || agent_id === item.agentId) &&
      (status === undefined || status === statusOfDeployment(item)) &&
      isWithin(item.createdAt * 1000, query);
    return sortByCreation([...(await this.#parts.stored.deployments.read(LIST_AGE_MS))].filter(isChosen));
  }

  /** Changes a deployment of the log; the same item changes nothing. Throws ManagedError. */
  change(id: string, by: string, change: (item: DeploymentItem, now: number) => DeploymentItem): Promise<void> {
    return this.#parts.stored.deployments.append(by, (all) => {
      const item = all.get(id);
      if (!item) throw notThere(id);
      const next = change(item, this.#parts.now());
      if (next !== item) refuseMore(all, id, next);
      return next === item ? null : { id, item: next };
    });
  }

  async #pin(chosen: CreateBody['agent']): Promise<DeploymentConfig['agent']> {
    const [named, wanted] = typeof chosen === 'string' ? [chosen] : [chosen.id, chosen.version];
    const { id, version } = await this.#parts.agents.retrieve(named, wanted);
    return { type: 'agent', id, version };
  }

  /** Keeps what sessions are made of once such a session could be created. Throws ManagedError. */
  async #store(config: Sent): Promise<DeploymentItem['config']> {
    const { sessions, stored } = this.#parts;
    if (Buffer.byteLength(JSON.stringify(config)) > LARGEST_CONFIG)
      throw invalid(`initial_events: with resources at most ${LARGEST_CONFIG / 1024} KB of JSON`, 'initial_events');
    const { model } = await sessions.check(newSessionOf(config));
    await checkOpening(this.#parts, model.id, config.initial_events);
    return stored.putDeployment(config);
  }
}

/** A config as requests send it: JSON has no undefined, so that it has the SDK's type besides. */
type Sent = DeploymentConfig & {
  readonly initial_events: readonly SentEvent[];
  readonly resources: NonNullable<NewSession['resources']>;
  readonly budget: NewSession['budget'] | null;
};

/** Returns what a session is created of, and its first events. */
export function partsOfSession(config: DeploymentConfig): {
  readonly body: NewSession;
  readonly events: readonly SentEvent[];
} {
  const sent = config as Sent;
  return { body: newSessionOf(sent), events: sent.initial_events };
}

const newSessionOf = ({ agent, environment_id, resources, budget, vault_ids }: Sent): NewSession => ({
  agent,
  environment_id,
  resources,
  vault_ids,
  ...(budget && { budget }),
});

function scheduleOf(schedule: CreateBody['schedule']): DeploymentItem['schedule'] {
  if (!schedule) return null;
  const { expression, timezone } = schedule;
  checkSchedule({ expression, timezone });
  return { expression, timezone };
}

const isScheduled = ({ schedule, archivedAt }: DeploymentItem): boolean => schedule !== null && archivedAt === null;

/** Throws ManagedError where one more deployment would have a schedule than servers look at. */
function refuseMore(all: ReadonlyMap<string, DeploymentItem>, id: string, next: DeploymentItem): void {
  const before = all.get(id);
  if (!isScheduled(next) || (before && isScheduled(before))) return;
  if ([...all.values()].filter(isScheduled).length >= MOST_SCHEDULED)
    throw invalid(`schedule: at most ${MOST_SCHEDULED} deployments have one: archive another`, 'schedule');
}

export const statusOfDeployment = ({ paused }: DeploymentItem): BetaManagedAgentsDeployment['status'] =>
  paused === null ? 'active' : 'paused';

const notThere = (id: string): ManagedError => notFound('Deployment', id, 'deployment_not_found');

function refuseArchived(id: string, { archivedAt }: DeploymentItem): void {
  if (archivedAt !== null) throw invalid(`Deployment ${id} is archived`, undefined, 'deployment_archived');
}
