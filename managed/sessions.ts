// Session resources (G20–G28). The log holds what requests set; status and usage come from the
// workflow and the transcript. A session without messages has no workflow (G3).
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { BetaEnvironment } from '@anthropic-ai/sdk/resources/beta/environments';
import type {
  BetaManagedAgentsSession,
  BetaManagedAgentsSessionAgent,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { present } from '../client/faces/basics.ts';
import { ClientProblem } from '../client/faces/start.ts';
import type { Hash, SessionId } from '../client/faces/types.ts';
import { createLimit } from '../system/async.ts';
import { type Overrides, withOverrides } from './agents.ts';
import { budgetOf, createOnly, notRaised, requirePrice, usdOf } from './budgets.ts';
import { conflict, invalid, ManagedError, notFound, unsupported } from './errors.ts';
import { formatTime, newId } from './ids.ts';
import type { SessionItem } from './log/stored.ts';
import { outcomeProblem, showOutcome } from './events/outcome-parts.ts';
import type { EventFact } from './events/parts.ts';
import { spentSoFar, usageOf } from './events/run-end.ts';
import type { Timeline } from './events/timelines.ts';
import { diffLabels, earlyUpdates, noteUpdate, withNewAgents } from './events/updates.ts';
import { sortByCreation } from './pages.ts';
import {
  attachToSession,
  chooseSession,
  FILES_ELSEWHERE,
  type NewSession,
  refuseWrongAgent,
  type SessionParts,
} from './new-session.ts';
import {
  endOutside,
  type Extension,
  type FoundSession,
  isAtBudget,
  isTakingUpLabels,
  isWaiting,
  outcomesOf,
  perdureFacts,
  statusOf,
} from './session-status.ts';
import { isWithin, type sessionList, type sessionUpdate } from './shapes/sessions.ts';

/** Sessions that a list looks at side by side. */
const LOOKS = 16;

/** The source of a stream: a session or one of its threads. `session`: has the live channel. */
export type EventSource = {
  readonly session: string;
  /** The last event that it has, unless it is deleted. */
  readonly end: EventFact['type'];
  /** Throws ManagedError 404 when it was deleted. */
  find(): Promise<FoundSession>;
  timeline(found: FoundSession): Promise<Timeline>;
};

export class Sessions {
  readonly #parts: SessionParts;
  readonly #few = createLimit(LOOKS);

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /**
   * A repeated request with the same `id` creates nothing new. `deployment`: the one that creates
   * the session. Throws 404 once it was deleted.
   */
  async create(id: string, by: string, body: NewSession, deployment?: string): Promise<void> {
    const { stored, ports } = this.#parts;
    if ((await stored.sessionLog(id).read()).has(id)) return;
    const { agent, environment, resources, vaults } = await chooseSession(this.#parts, id, body);
    const isCloud = environment.config.type === 'cloud';
    const budget = body.budget?.max_list_cost.amount;
    const hash = await stored.putSessionAgent(agent);
    await attachToSession(this.#parts, { id, by, agent, resources: body.resources ?? [] });
    const at = ports.now();
    const item: SessionItem = {
      createdAt: at,
      updatedAt: at,
      archivedAt: null,
      title: body.title ?? null,
      metadata: body.metadata ?? {},
      environment: environment.id,
      agentId: agent.id,
      agentVersion: agent.version,
      agent: hash,
      ...(resources.length > 0 && { resources }),
      ...(vaults.length > 0 && { vaults }),
      ...(budget !== undefined && { budget }),
      ...(isCloud && { hasFiles: true }),
      ...(deployment !== undefined && { deployment }),
      isStarted: false,
    };
    await stored.sessionLog(id).append(by, (all, deleted) => {
      if (deleted.has(id)) throw notFound('Session', id);
      return all.has(id) ? null : { id, item };
    });
  }

  /** Checks what sessions are to be created of, and creates none. Throws ManagedError. */
  async check(body: NewSession): Promise<BetaManagedAgentsSessionAgent> {
    const { agent } = await chooseSession(this.#parts, newId('sesn'), body);
    await this.#parts.files.check(body.resources ?? []);
    return agent;
  }

  /** Throws ManagedError unless files can be attached to the session. */
  async requireFiles(id: string): Promise<void> {
    const item = await this.item(id);
    refuseArchived(id, item);
    if (item.hasFiles !== true) throw invalid(FILES_ELSEWHERE);
  }

  /** Throws ManagedError 404. */
  async item(id: string): Promise<SessionItem> {
    const item = (await this.#parts.stored.sessionLog(id).read()).get(id);
    if (!item) throw notFound('Session', id);
    return item;
  }

  environmentOf({ environment }: SessionItem): Promise<BetaEnvironment> {
    return this.#parts.environments.retrieve(environment);
  }

  async find(id: string): Promise<FoundSession> {
    return this.look(id, await this.item(id));
  }

  /** Looks at the workflow of a session, or of one that an agent of it works in. */
  async look(id: string, item: SessionItem): Promise<FoundSession> {
    if (!item.isStarted && !item.isStarting) return { id, item, description: null };
    try {
      return { id, item, description: await this.#parts.ports.describe(id) };
    } catch (error) {
      if (error instanceof ClientProblem && error.kind === 'no_session') return { id, item, description: null };
      throw error;
    }
  }

  /** `maxAgeMs`: of what is known of its files. */
  async show(found: FoundSession, maxAgeMs = 0): Promise<BetaManagedAgentsSession> {
    const { id, item, description } = found;
    const { timelines } = this.#parts;
    const isNewer = isAtBudget(found) || (item.outcome !== undefined && statusOf(found) !== 'idle');
    const { projection } = isNewer ? await timelines.newest(id) : await timelines.upTo(id, description?.head ?? null);
    const spending = spentSoFar(projection);
    const outcomes = outcomesOf(found, projection);
    const bodies = await timelines.bodies(outcomes.map(({ description: text }) => text));
    return {
      id,
      type: 'session',
      agent: await this.#parts.stored.sessionAgent(item.agent),
      archived_at: item.archivedAt === null ? null : formatTime(item.archivedAt),
      budget: item.budget === undefined ? null : budgetOf(item.budget),
      created_at: formatTime(item.createdAt),
      deployment_id: item.deployment ?? null,
      environment_id: item.environment,
      metadata: { ...item.metadata },
      outcome_evaluations: outcomes.map((one) => showOutcome(one, bodies)),
      resources: [...(await this.#parts.files.resources(id, maxAgeMs)), ...(item.resources ?? [])],
      stats: { active_seconds: spending.ms / 1000 },
      status: statusOf(found),
      title: item.title,
      updated_at: formatTime(item.updatedAt),
      usage: usageOf(spending),
      vault_ids: [...(item.vaults ?? [])],
      ...perdureFacts(description),
    } satisfies BetaManagedAgentsSession & Extension;
  }

  async update(id: string, by: string, body: z.output<typeof sessionUpdate>): Promise<BetaManagedAgentsSession> {
    refuseUnservedParts(body);
    const { budget } = body;
    const amount = budget?.max_list_cost.amount;
    const agent = body.agent && (await this.#changeAgent(id, body.agent));
    const hadWorkflow = budget === undefined || (await this.#changeBudget(id, by, amount));
    const changes = { ...body, agent: agent?.to };
    const before = await this.#tellLabels(id, by, changes);
    await this.change(id, by, (current) => {
      refuseArchived(id, current);
      if (agent && current.agent !== agent.from && current.agent !== agent.to)
        throw conflict('session_conflict', `another change of the agent of session ${id} came first`);
      const { budget: currentBudget, ...item } = current;
      const nextBudget = budget === undefined ? currentBudget : amount;
      const changed = diffLabels(current, changes);
      const update = { ...changed, ...(nextBudget !== currentBudget && { budget: nextBudget ?? null }) };
      return {
        ...item,
        ...(nextBudget !== undefined && { budget: nextBudget }),
        ...changed,
        ...(changed.agent !== undefined && { hasNewAgent: true }),
        ...(before === null && noteUpdate(item, update, this.#parts.ports.now())),
      };
    });
    const found = await this.find(id);
    // A first message has begun the workflow meanwhile.
    if (!hadWorkflow && found.description) await this.bringBudget(id, by, amount);
    return this.show(isTakingUpLabels(before, found) ? { ...found, description: before } : found);
  }

  /**
   * Returns the hashes of the session's agent and of it with other tools and servers, whose options
   * the next message brings. Throws ManagedError unless the session is at rest.
   */
  async #changeAgent(id: string, changes: Overrides): Promise<{ readonly from: Hash; readonly to: Hash }> {
    const { stored } = this.#parts;
    const found = await this.find(id);
    const { item } = found;
    refuseArchived(id, item);
    if (statusOf(found) !== 'idle' || isWaiting(found) || isAtBudget(found))
      throw invalid(
        `Session ${id} has a turn under way: interrupt it, then change the agent`,
        'agent',
        'session_not_idle',
      );
    const own = await stored.sessionAgent(item.agent);
    const agent = withOverrides(own, changes);
    await refuseWrongAgent(this.#parts, agent, await this.environmentOf(item), {
      session: id,
      ...present({ resources: item.resources, vaults: item.vaults }),
    });
    const to = isDeepStrictEqual(agent, own) ? item.agent : await stored.putSessionAgent(agent);
    return { from: item.agent, to };
  }

  /**
   * Tells the session's workflow of labels before they change, so that each stored change has its
   * event. Returns the workflow as it was; null without one. Throws ManagedError, ClientProblem.
   */
  async #tellLabels(
    id: string,
    by: string,
    changes: Parameters<typeof diffLabels>[1],
  ): Promise<FoundSession['description']> {
    const { item, description } = await this.find(id);
    refuseArchived(id, item);
    const labels = diffLabels(item, changes);
    if (description?.status === 'open' && Object.keys(labels).length > 0)
      await this.#parts.ports.relabel(id as SessionId, labels, by);
    return description;
  }

  /**
   * Changes the budget of the session's workflow, which knows what the session has cost. Returns
   * whether there is one. Throws ManagedError, ClientProblem.
   */
  async #changeBudget(id: string, by: string, amount: string | undefined): Promise<boolean> {
    const { item, description } = await this.find(id);
    refuseArchived(id, item);
    if (amount !== undefined && item.budget === undefined) throw createOnly();
    if (amount !== undefined) requirePrice((await this.#parts.stored.sessionAgent(item.agent)).model.id);
    if (description) await this.bringBudget(id, by, amount);
    else if (amount === '0') throw notRaised('give more than the session has cost');
    return description !== null;
  }

  /** Gives a session's workflow a budget in cents, or none. Throws ManagedError, ClientProblem. */
  async bringBudget(id: string, by: string, budget: string | undefined): Promise<void> {
    try {
      await this.#parts.ports.as(by).setOptions(id, { sessionBudgetUsd: budget === undefined ? null : usdOf(budget) });
    } catch (error) {
      if (error instanceof ClientProblem && error.kind === 'refused') throw notRaised(error.message);
      throw error;
    }
  }

  /** Cancels what runs, and ends the session for good (L49). */
  async archive(id: string, by: string): Promise<BetaManagedAgentsSession> {
    const before = await this.find(id);
    await this.cancelOpen(before, by);
    const archivedAt = this.#parts.ports.now();
    await this.change(id, by, (current) => (current.archivedAt === null ? { ...current, archivedAt } : current));
    // A first message may have begun the workflow meanwhile.
    if (before.description === null) await this.cancelOpen(await this.find(id), by);
    return this.show(await this.find(id));
  }

  async cancelOpen({ id, description }: FoundSession, by: string): Promise<void> {
    if (description?.status === 'open') await this.#cancel(id, by);
  }

  async #cancel(id: string, by: string): Promise<void> {
    try {
      await this.#parts.ports.as(by).cancel(id);
    } catch (error) {
      // It has closed, or was removed, meanwhile.
      if (!(error instanceof ClientProblem) || !(error.kind === 'closed' || error.kind === 'no_session')) throw error;
    }
  }

  /** Removes the session and its workflow. Throws ManagedError 409 while it runs. */
  async delete(id: string, by: string): Promise<void> {
    const found = await this.find(id);
    const status = statusOf(found);
    if (status === 'running' || status === 'rescheduling')
      throw conflict('session_running', `session ${id} is running: interrupt or archive it first`);
    if (found.description) await this.#removeWorkflows(found);
    const log = this.#parts.stored.sessionLog(id);
    // Before nobody can ask for it again, and after nothing can be attached to it.
    await this.#parts.files.release(id, by);
    await this.#parts.skills.release(id, by);
    await log.append(by, (all) => {
      const now = all.get(id);
      return now && now.isStarting === found.item.isStarting ? { id, item: null } : null;
    });
    await this.#parts.files.release(id, by);
    await this.#parts.skills.release(id, by);
    // A first message may have begun the workflow meanwhile, which is looked at then.
    if ((await log.read()).has(id)) await this.delete(id, by);
  }

  /** Removes the workflows of threads first: the session's own is what finds them. */
  async #removeWorkflows(found: FoundSession): Promise<void> {
    const { ports } = this.#parts;
    const { projection } = await this.timeline(found);
    for (const { session } of projection.threads)
      if ((await this.look(session, found.item)).description) await ports.removeWorkflow(session as SessionId);
    await ports.removeWorkflow(found.id as SessionId);
  }

  /**
   * Notes an outcome before it is sent. Throws ManagedError when the session has ended, or another
   * outcome is open.
   */
  async noteOutcome(found: FoundSession, by: string, outcome: NonNullable<SessionItem['outcome']>): Promise<void> {
    await this.change(found.id, by, (now) => {
      if (now.archivedAt !== null) throw archivedProblem(found.id);
      if (now.outcome?.event === outcome.event) return now;
      if (now.outcome?.event !== found.item.outcome?.event) throw outcomeProblem('another one was just sent');
      return { ...now, outcome };
    });
  }

  /** Takes back the note of an outcome that could not be sent. Throws ManagedError. */
  dropOutcome({ id }: FoundSession, by: string, event: string): Promise<void> {
    return this.change(id, by, (now) => {
      const { outcome, ...rest } = now;
      return outcome?.event === event ? rest : now;
    });
  }

  /** Notes that the workflow is about to start. Throws ManagedError when the session has ended. */
  async noteStart(id: string, by: string): Promise<void> {
    await this.change(id, by, (now) => {
      if (now.archivedAt !== null) throw archivedProblem(id);
      return now.isStarted || now.isStarting ? now : { ...now, isStarting: true };
    });
  }

  /**
   * Notes that the workflow has started. Where the session was archived or deleted meanwhile, the
   * workflow is cancelled and it throws ManagedError.
   */
  async noteStarted(id: string, by: string): Promise<void> {
    try {
      await this.change(id, by, (now) => {
        if (now.archivedAt !== null) throw archivedProblem(id);
        return now.isStarted ? now : { ...now, isStarted: true };
      });
    } catch (error) {
      if (error instanceof ManagedError) await this.#cancel(id, by);
      throw error;
    }
  }

  /** Changes a session of the log; the same item changes nothing. */
  change(id: string, by: string, change: (item: SessionItem) => SessionItem): Promise<void> {
    return this.#parts.stored.sessionLog(id).append(by, (all) => {
      const item = all.get(id);
      if (!item) throw notFound('Session', id);
      const next = change(item);
      return next === item ? null : { id, item: { ...next, updatedAt: this.#parts.ports.now() } };
    });
  }

  /** Lists sessions that a query chooses by what the log holds, in its order. */
  async list(query: z.output<typeof sessionList>): Promise<readonly FoundSession[]> {
    const chosen = (await this.#parts.stored.listSessions()).filter(([, item]) => isChosen(item, query));
    return sortByCreation(chosen, query.order).map(([id, item]) => ({ id, item, description: null }));
  }

  /** Tells whether a session needs no more workers; a deleted one is over. */
  async isOver(id: string): Promise<boolean> {
    const item = (await this.#parts.stored.sessionLog(id).read()).get(id);
    return item === undefined || statusOf(await this.look(id, item)) === 'terminated';
  }

  /** Looks at the workflows of sessions that were listed. */
  lookAt(listed: readonly FoundSession[]): Promise<readonly FoundSession[]> {
    return Promise.all(listed.map(({ id, item }) => this.#few(() => this.look(id, item))));
  }

  /** The events of the session as a stream reads them. */
  source(id: string): EventSource {
    const end = 'session.status_terminated';
    return { session: id, end, find: () => this.find(id), timeline: (found) => this.timeline(found) };
  }

  /** Returns the session's events as they stand. Throws ManagedError, StoreError. */
  async timeline(found: FoundSession): Promise<Timeline> {
    const { id, description } = found;
    const { timelines } = this.#parts;
    const timeline = description === null ? await timelines.upTo(id, null) : await timelines.newest(id);
    const { stored } = this.#parts;
    const { name } = await stored.sessionAgent(found.item.agent);
    const own = timeline.facts.map((fact) => withAgentName(fact, name));
    const all = [...earlyUpdates(id, found.item, own[0]), ...own];
    const facts = await withNewAgents(all, (hash) => stored.sessionAgent(hash));
    return { ...timeline, facts: [...facts, ...endOutside(found, facts)] };
  }
}

/** Foreign clients match these words. */
export const archivedProblem = (session: string): ManagedError =>
  invalid(`Cannot send events to archived session: ${session}`, undefined, 'session_archived');

function refuseArchived(id: string, { archivedAt }: Pick<SessionItem, 'archivedAt'>): void {
  if (archivedAt !== null) throw invalid(`Session ${id} is archived and cannot be changed`);
}

/** Names the agent of the session's own thread, which no transcript knows. */
function withAgentName(fact: EventFact, name: string): EventFact {
  if (fact.type !== 'session.thread_status_idle') return fact;
  const named = (event: ReturnType<EventFact['make']>) =>
    event.type === 'session.thread_status_idle' && event.agent_name === '' ? { ...event, agent_name: name } : event;
  return { ...fact, make: (bodies) => named(fact.make(bodies)) };
}

function isChosen(item: SessionItem, query: z.output<typeof sessionList>): boolean {
  const { agent_id, agent_version, include_archived, deployment_id, memory_store_id } = query;
  return (
    (include_archived === true || item.archivedAt === null) &&
    (agent_id === undefined || agent_id === item.agentId) &&
    (agent_version === undefined || agent_version === item.agentVersion) &&
    (deployment_id === undefined || deployment_id === item.deployment) &&
    (memory_store_id === undefined || attachesStore(item, memory_store_id)) &&
    isWithin(item.createdAt * 1000, query)
  );
}

const attachesStore = ({ resources = [] }: SessionItem, id: string): boolean =>
  resources.some(({ memory_store_id }) => memory_store_id === id);

const isPresent = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

/** Refuses by name what cannot be changed of a session (G4). Throws ManagedError. */
function refuseUnservedParts({ vault_ids }: z.output<typeof sessionUpdate>): void {
  if (isPresent(vault_ids)) throw unsupported('vault_ids', 'a session keeps the vaults that it was created with');
}
