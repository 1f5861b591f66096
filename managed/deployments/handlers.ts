// The handlers of deployments and their runs, and how both are shown (G71).
import type {
  BetaManagedAgentsDeployment,
  BetaManagedAgentsDeploymentPausedReason,
} from '@anthropic-ai/sdk/resources/beta/deployments';
import type { BetaManagedAgentsDeploymentRun } from '@anthropic-ai/sdk/resources/beta/deployment-runs';
import { notFound } from '../errors.ts';
import { formatTime, sessionOfRun } from '../ids.ts';
import type { DeploymentItem } from '../log/stored.ts';
import { type ListRequest, pageOf, placeOf } from '../pages.ts';
import { filterOf, type Handler, idIn, type ManagedRequest, type Paged, pageIn, type Parts } from '../request.ts';
import { reserveId } from '../request-log.ts';
import * as shapes from '../shapes/deployments.ts';
import { parseBody, parseQuery } from '../shapes/parse.ts';
import type { ServedName } from '../surface.ts';
import { type Deployments, type NamedDeployment, statusOfDeployment } from './deployments.ts';
import type { DeploymentRuns, NamedRun } from './runs.ts';
import { upcomingFirings } from './schedule.ts';

const UPCOMING = 5;

/** The parts of deployments, which are made of all others. */
export type DeploymentParts = { readonly deployments: Deployments; readonly runs: DeploymentRuns };

const deploymentIn = (request: ManagedRequest): string =>
  idIn(request, 'deployment_id', 'depl', 'Deployment', 'deployment_not_found');
const runIn = (request: ManagedRequest): string => idIn(request, 'deployment_run_id', 'drun', 'Deployment run');

export function deploymentHandlers(parts: Parts & DeploymentParts) {
  const { deployments, runs } = parts;
  const show = (one: NamedDeployment) => showDeployment(parts, one);
  return {
    'deployments.create': async (request) => {
      const body = parseBody(shapes.deploymentCreate, request.body);
      return show(await deployments.create(await reserveId(parts.ports, request, 'depl'), request.person, body));
    },
    'deployments.retrieve': async (request) => show(await deployments.retrieve(deploymentIn(request))),
    'deployments.update': async (request) => {
      const body = parseBody(shapes.deploymentUpdate, request.body);
      return show(await deployments.update(deploymentIn(request), request.person, body));
    },
    'deployments.pause': async (request) => show(await deployments.pause(deploymentIn(request), request.person)),
    'deployments.unpause': async (request) => show(await deployments.unpause(deploymentIn(request), request.person)),
    'deployments.archive': async (request) => show(await deployments.archive(deploymentIn(request), request.person)),
    'deployments.run': async (request) => {
      const deployment = deploymentIn(request);
      await deployments.requireOpen(deployment);
      return showRun(await runs.run(await reserveId(parts.ports, request, 'drun'), request.person, deployment));
    },
    'deployments.list': async (request): Promise<Paged<BetaManagedAgentsDeployment>> => {
      const query = parseQuery(shapes.deploymentList, request.query);
      const list: ListRequest = { list: 'deployments', order: 'desc', filter: filterOf(query), ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, await deployments.list(query), placeOf);
      return { data: await Promise.all(page.items.map(show)), next_page: page.next };
    },
    'deploymentRuns.retrieve': async (request) => {
      const id = runIn(request);
      const run = await runs.find(id);
      if (!run) throw notFound('Deployment run', id);
      return showRun(run);
    },
    'deploymentRuns.list': async (request): Promise<Paged<BetaManagedAgentsDeploymentRun>> => {
      const query = parseQuery(shapes.deploymentRunList, request.query);
      const list: ListRequest = { list: 'deployment runs', order: 'desc', filter: filterOf(query), ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, await runs.list(query), placeOf);
      return { data: page.items.map(showRun), next_page: page.next };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

async function showDeployment(
  { stored, ports }: Pick<Parts, 'stored' | 'ports'>,
  [id, item]: NamedDeployment,
): Promise<BetaManagedAgentsDeployment> {
  const { schedule, archivedAt, lastRunAt } = item;
  const times = schedule && archivedAt === null ? upcomingFirings(schedule, ports.now(), UPCOMING) : [];
  const dated = { last_run_at: timeOf(lastRunAt), upcoming_runs_at: times.map(formatTime) };
  return {
    id,
    type: 'deployment',
    ...(await stored.deployment(item.config)),
    archived_at: timeOf(archivedAt),
    created_at: formatTime(item.createdAt),
    description: item.description,
    metadata: { ...item.metadata },
    name: item.name,
    paused_reason: showReason(item),
    schedule: schedule && { type: 'cron', ...schedule, ...dated },
    status: statusOfDeployment(item),
    updated_at: formatTime(item.updatedAt),
  };
}

function showReason({ paused }: DeploymentItem): BetaManagedAgentsDeploymentPausedReason | null {
  if (paused === null || paused === 'manual') return paused && { type: paused };
  const error = { type: paused } as Extract<BetaManagedAgentsDeploymentPausedReason, { type: 'error' }>['error'];
  return { type: 'error', error };
}

const timeOf = (ms: number | null): string | null => (ms === null ? null : formatTime(ms));

const showRun = ([id, run]: NamedRun): BetaManagedAgentsDeploymentRun => ({
  id,
  type: 'deployment_run',
  agent: run.agent,
  created_at: formatTime(run.createdAt),
  deployment_id: run.deployment,
  error: run.error ?? null,
  session_id: run.error ? null : sessionOfRun(id),
  trigger_context:
    run.scheduledAt === null ? { type: 'manual' } : { type: 'schedule', scheduled_at: formatTime(run.scheduledAt) },
});
