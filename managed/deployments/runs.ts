// Runs of deployments (G71). A firing has one run by its id, which is claimed in the log before its
// session is created. When a server dies in between, another finds the session and the events under
// the same ids, so each firing has one session.
import type { z } from 'zod';
import { ClientProblem } from '../../client/faces/start.ts';
import { createLimit, pause } from '../../system/async.ts';
import { lineOf, ManagedError } from '../errors.ts';
import { eventId, firingId, sessionOfRun } from '../ids.ts';
import { type DeploymentItem, type DeploymentRunItem, LIST_AGE_MS, type RunError } from '../log/stored.ts';
import { sortByCreation } from '../pages.ts';
import type { Parts } from '../request.ts';
import { checkOpening, sendEvents } from '../send.ts';
import { isWithin } from '../shapes/sessions.ts';
import type { deploymentRunList } from '../shapes/deployments.ts';
import { type Deployments, type NamedDeployment, partsOfSession } from './deployments.ts';
import { dueFiring, nextFiring } from './schedule.ts';

/** Milliseconds between looks at what is due; each minute begins with one. */
const LOOK_MS = 5_000;
const MINUTE = 60_000;
/** Milliseconds for which a run is left to the server that has claimed it, or that failed at it. */
const OWN_MS = 30_000;
/** Milliseconds after which a run is given up. */
const GIVEN_UP_MS = 24 * 60 * MINUTE;
/** Runs that one server works on at once. */
const AT_ONCE = 16;

/** Errors of requests that a run has a type for. */
const RUN_ERRORS: Readonly<Record<string, RunError['type']>> = {
  agent_archived: 'agent_archived_error',
  environment_archived: 'environment_archived_error',
  environment_not_found: 'environment_not_found_error',
  file_not_found: 'file_not_found_error',
  mcp_egress_blocked: 'mcp_egress_blocked_error',
  memory_store_archived: 'memory_store_archived_error',
  memory_store_not_found: 'session_resource_not_found_error',
  self_hosted_resources_unsupported: 'self_hosted_resources_unsupported_error',
  skill_not_found: 'skill_not_found_error',
  vault_archived: 'vault_archived_error',
  vault_not_found: 'vault_not_found_error',
};

/** Errors after which the schedule fires all the same. */
const PASSING: ReadonlySet<RunError['type']> = new Set([
  'session_creation_rejected_error',
  'session_rate_limited_error',
]);

/** A run with its id. */
export type NamedRun = readonly [id: string, item: DeploymentRunItem];
type FiringParts = Parts & { readonly deployments: Deployments };
type Claim = Pick<DeploymentRunItem, 'deployment' | 'scheduledAt'> & Pick<DeploymentItem, 'config'>;

export class DeploymentRuns {
  readonly #parts: FiringParts;
  readonly #few = createLimit(AT_ONCE);
  /** Runs that this server works on. */
  readonly #open = new Map<string, Promise<DeploymentRunItem>>();
  /** Until when runs rest that could not be brought to an end. */
  readonly #rests = new Map<string, number>();
  readonly #next = new WeakMap<DeploymentItem, number | null>();

  constructor(parts: FiringParts) {
    this.#parts = parts;
  }

  /** Runs a deployment on request; a repeat with the same `id` finds its run. */
  async run(id: string, by: string, deployment: string): Promise<NamedRun> {
    if (!(await this.#read()).has(id)) {
      const { config } = await this.#parts.deployments.requireOpen(deployment);
      await this.#claim(id, by, { deployment, config, scheduledAt: null });
    }
    return [id, await this.#finish(id)];
  }

  /** Returns a run that is over, or undefined. */
  async find(id: string): Promise<NamedRun | undefined> {
    const item = (await this.#read()).get(id);
    return item && isOver(item) ? [id, item] : undefined;
  }

  /** Lists runs that a query chooses, newest first. */
  async list(query: z.output<typeof deploymentRunList>): Promise<readonly NamedRun[]> {
    const { deployment_id, has_error, trigger_type } = query;
    const isChosen = ([, run]: NamedRun): boolean =>
      isOver(run) &&
      (deployment_id === undefined || deployment_id === run.deployment) &&
      (has_error === undefined || has_error === (run.error !== null)) &&
      (trigger_type === undefined || (trigger_type === 'manual') === (run.scheduledAt === null)) &&
      isWithin(run.createdAt * 1000, query);
    return sortByCreation([...(await this.#read(LIST_AGE_MS))].filter(isChosen));
  }

  /** Fires until the signal aborts. */
  async keepFiring(closing: AbortSignal): Promise<void> {
    const { now, log } = this.#parts.ports;
    while (await pause(Math.min(LOOK_MS, MINUTE - (now() % MINUTE)), closing))
      void this.fire().catch((error: unknown) => log(`deployments: ${lineOf(error)}`));
  }

  /** Fires what is due, and brings runs to an end that another server has left. */
  async fire(): Promise<void> {
    const { ports, stored } = this.#parts;
    const due = [...(await stored.deployments.read())].map((one) => this.#fireDue(one));
    const isLeft = ([id, run]: NamedRun): boolean =>
      !isOver(run) &&
      !this.#open.has(id) &&
      ports.now() - run.createdAt >= OWN_MS &&
      ports.now() >= (this.#rests.get(id) ?? 0);
    const left = [...(await this.#read())].filter(isLeft).map(([id]) => id);
    await Promise.all([...due, ...left.map((id) => this.#finishLater(id))]);
  }

  async #fireDue([id, item]: NamedDeployment): Promise<void> {
    const at = this.#dueAt(item);
    if (at === null) return;
    try {
      if (await this.#claimFiring(id, item, at)) await this.#finishLater(firingId(id, at));
    } catch (error) {
      this.#parts.ports.log(`deployments: ${id} could not fire: ${lineOf(error)}`);
    }
  }

  #dueAt(item: DeploymentItem): number | null {
    const { schedule, paused, archivedAt, firedUntil } = item;
    if (schedule === null || paused !== null || archivedAt !== null) return null;
    const now = this.#parts.ports.now();
    const next = this.#next.get(item) ?? nextFiring(schedule, firedUntil);
    this.#next.set(item, next);
    return next !== null && next <= now ? dueFiring(schedule, firedUntil, now) : null;
  }

  /** Returns whether this server has the run. */
  async #claimFiring(deployment: string, { config }: DeploymentItem, at: number): Promise<boolean> {
    const isOwn = await this.#claim(firingId(deployment, at), deployment, { deployment, config, scheduledAt: at });
    await this.#parts.deployments.change(deployment, deployment, (item) =>
      item.firedUntil >= at ? item : { ...item, firedUntil: at },
    );
    return isOwn;
  }

  /** Returns whether it was claimed here; it is claimed once. */
  async #claim(id: string, by: string, { deployment, config, scheduledAt }: Claim): Promise<boolean> {
    const { ports, stored } = this.#parts;
    const { agent } = await stored.deployment(config);
    let isOwn = false;
    await stored.deploymentRuns.append(by, (all) => {
      isOwn = !all.has(id);
      const createdAt = ports.now();
      return isOwn ? { id, item: { createdAt, deployment, agent, config, scheduledAt } } : null;
    });
    return isOwn;
  }

  async #finishLater(id: string): Promise<void> {
    const { ports } = this.#parts;
    try {
      await this.#few(() => this.#finish(id));
      this.#rests.delete(id);
    } catch (error) {
      this.#rests.set(id, ports.now() + OWN_MS);
      ports.log(`deployments: run ${id} is tried again: ${lineOf(error)}`);
    }
  }

  /** Brings a run to its end, once in this process. Throws for another try. */
  #finish(id: string): Promise<DeploymentRunItem> {
    const known = this.#open.get(id);
    if (known) return known;
    const work = this.#work(id).finally(() => this.#open.delete(id));
    this.#open.set(id, work);
    return work;
  }

  async #work(id: string): Promise<DeploymentRunItem> {
    const { stored } = this.#parts;
    const run = (await this.#read()).get(id)!;
    if (isOver(run)) return run;
    const error = await this.#openSession(id, run);
    await this.#noteEnd(run, error);
    await stored.deploymentRuns.append(run.deployment, (all) => {
      const current = all.get(id);
      return current && !isOver(current) ? { id, item: { ...current, error } } : null;
    });
    return (await this.#read()).get(id)!;
  }

  /** Creates the run's session and sends its events. Returns why that was refused, or null. */
  async #openSession(id: string, run: DeploymentRunItem): Promise<RunError | null> {
    const { deployment, config, createdAt, scheduledAt } = run;
    const { stored, sessions, ports } = this.#parts;
    const session = sessionOfRun(id);
    const { body, events } = partsOfSession(await stored.deployment(config));
    const log = stored.sessionLog(session);
    try {
      const created = (await log.read()).get(session);
      if (scheduledAt !== null && !created?.isStarted) await this.#parts.deployments.requireOpen(deployment);
      if (!created) {
        const { model } = await sessions.check(body);
        await checkOpening(this.#parts, model.id, events);
        await sessions.create(session, deployment, body, deployment);
      }
      const ids = events.map((_, at) => eventId(id, at));
      await sendEvents(this.#parts, { session, by: deployment, lease: undefined, events, ids });
      return null;
    } catch (error) {
      const refusal = refusalOf(error, ports.now() - createdAt >= GIVEN_UP_MS);
      if (refusal === null) throw error;
      const item = (await log.read()).get(session);
      if (!item) return refusal;
      // Once it has begun, the run has its session.
      if (item.isStarted || (await sessions.look(session, item)).description) return null;
      await sessions.delete(session, deployment);
      return refusal;
    }
  }

  /** A firing that failed pauses its deployment, unless the next one may succeed. */
  async #noteEnd({ deployment, scheduledAt }: DeploymentRunItem, error: RunError | null): Promise<void> {
    if (scheduledAt === null) return;
    await this.#parts.deployments.change(deployment, deployment, (item, now) => ({
      ...item,
      lastRunAt: now,
      ...(error && !PASSING.has(error.type) && item.archivedAt === null && { paused: item.paused ?? error.type }),
    }));
  }

  #read(maxAgeMs = 0) {
    return this.#parts.stored.deploymentRuns.read(maxAgeMs);
  }
}

const isOver = ({ error }: DeploymentRunItem): boolean => error !== undefined;

/** Returns what a run records of an error; null for one that another try may not meet. */
function refusalOf(error: unknown, isGivenUp: boolean): RunError | null {
  const message = lineOf(error);
  if (error instanceof ManagedError && error.status < 500) {
    const type = RUN_ERRORS[String(error.details?.['error_code'])] ?? 'session_creation_rejected_error';
    return { type, message };
  }
  if (error instanceof ClientProblem && error.kind === 'refused')
    return { type: 'session_creation_rejected_error', message };
  return isGivenUp ? { type: 'unknown_error', message } : null;
}
