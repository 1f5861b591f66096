// What the routes of deployments and their runs do (G71).
import type { BetaManagedAgentsDeployment } from '@anthropic-ai/sdk/resources/beta/deployments';
import type { BetaManagedAgentsDeploymentRun } from '@anthropic-ai/sdk/resources/beta/deployment-runs';
import { notFound } from '../errors.ts';
import { type ListRequest, pageOf, placeOf } from '../pages.ts';
import { filterOf, type Handler, idIn, type ManagedRequest, type Paged, pageIn, type Parts } from '../request.ts';
import { reserveId } from '../request-log.ts';
import * as shapes from '../shapes/deployments.ts';
import { parseBody, parseQuery } from '../shapes/parse.ts';
import type { ServedName } from '../surface.ts';
import { showRun } from './runs.ts';

const deploymentIn = (request: ManagedRequest): string =>
  idIn(request, 'deployment_id', 'depl', 'Deployment', 'deployment_not_found');
const runIn = (request: ManagedRequest): string => idIn(request, 'deployment_run_id', 'drun', 'Deployment run');

export function deploymentHandlers(parts: Parts) {
  const { deployments, runs } = parts;
  return {
    'deployments.create': async (request) => {
      const body = parseBody(shapes.deploymentCreate, request.body);
      return deployments.create(await reserveId(parts.ports, request, 'depl'), request.person, body);
    },
    'deployments.retrieve': (request) => deployments.retrieve(deploymentIn(request)),
    'deployments.update': (request) => {
      const body = parseBody(shapes.deploymentUpdate, request.body);
      return deployments.update(deploymentIn(request), request.person, body);
    },
    'deployments.pause': (request) => deployments.pause(deploymentIn(request), request.person),
    'deployments.unpause': (request) => deployments.unpause(deploymentIn(request), request.person),
    'deployments.archive': (request) => deployments.archive(deploymentIn(request), request.person),
    'deployments.run': async (request) => {
      const deployment = deploymentIn(request);
      await deployments.requireOpen(deployment);
      return runs.run(await reserveId(parts.ports, request, 'drun'), request.person, deployment);
    },
    'deployments.list': async (request): Promise<Paged<BetaManagedAgentsDeployment>> => {
      const query = parseQuery(shapes.deploymentList, request.query);
      const list: ListRequest = { list: 'deployments', order: 'desc', filter: filterOf(query), ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, await deployments.list(query), placeOf);
      return { data: await Promise.all(page.items.map((one) => deployments.show(one))), next_page: page.next };
    },
    'deploymentRuns.retrieve': async (request) => {
      const id = runIn(request);
      const run = await runs.find(id);
      if (!run) throw notFound('Deployment run', id);
      return run;
    },
    'deploymentRuns.list': async (request): Promise<Paged<BetaManagedAgentsDeploymentRun>> => {
      const query = parseQuery(shapes.deploymentRunList, request.query);
      const list: ListRequest = { list: 'deployment runs', order: 'desc', filter: filterOf(query), ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, await runs.list(query), placeOf);
      return { data: page.items.map(showRun), next_page: page.next };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}
