// Handlers of work items, for workers of self-hosted environments and for people.
import type { BetaSelfHostedWork } from '@anthropic-ai/sdk/resources/beta/environments';
import { beginRun, recordFenced, wasOffered } from '../../client/faces/work-items.ts';
import { invalid, ManagedError } from '../errors.ts';
import { formatTime } from '../ids.ts';
import { type ListRequest, pageOf } from '../pages.ts';
import {
  environmentIn,
  type Handler,
  idIn,
  type ManagedRequest,
  type Paged,
  pageIn,
  type Parts,
  sessionIn,
} from '../request.ts';
import { parseBody, parseQuery } from '../shapes/parse.ts';
import * as shapes from '../shapes/work.ts';
import type { ServedName } from '../surface.ts';
import { makeEnvironmentKey, sessionToken, workSecret } from './credentials.ts';
import { showRefused } from './refused.ts';
import { lookAfterLease } from './results.ts';
import { isLive, openCall } from './view.ts';
import type { FoundItem } from './work.ts';

const workIn = (request: ManagedRequest): string => idIn(request, 'work_id', 'work', 'Work item');

export function workHandlers(parts: Parts) {
  const { work, stored, environments } = parts;
  const secretOf = async ({ id, environment, item }: FoundItem, origin: string): Promise<string> => {
    const lease = { environment, session: item.session, work: id, g: item.lease!.g };
    return workSecret(sessionToken(await stored.secret(), lease), origin);
  };
  /** Checks for people that the environment exists; a worker's credentials prove it. */
  const queueIn = async (request: ManagedRequest): Promise<string> => {
    const environment = environmentIn(request);
    if (request.caller.kind === 'person') await environments.retrieve(environment);
    return environment;
  };
  return {
    'environments.work.poll': async (request): Promise<BetaSelfHostedWork | null> => {
      const { block_ms: blockMs = 0, reclaim_older_than_ms: reclaimMs } = parseQuery(shapes.workPoll, request.query);
      const environment = environmentIn(request);
      if ((await environments.retrieve(environment)).archived_at !== null) return null;
      const { workerId: worker, closing, origin } = request;
      const found = await work.poll(environment, { worker, blockMs, reclaimMs }, closing);
      return found ? await work.show(found, await secretOf(found, parts.ports.publicUrl ?? origin)) : null;
    },
    'environments.work.ack': async (request) =>
      work.show(await work.ack(await queueIn(request), workIn(request), request.lease?.g)),
    'environments.work.heartbeat': async (request) => {
      const { expected_last_heartbeat: expected } = parseQuery(shapes.workHeartbeat, request.query);
      const [environment, id] = [await queueIn(request), workIn(request)];
      const { item } = await work.find(environment, id);
      const g = request.lease?.g ?? item.lease?.g ?? 0;
      const isRetry = request.retries > 0 && request.lease !== undefined;
      const answer = await work.beat({ environment, work: id, g }, { expected, isRetry });
      void lookAfterLease(parts, { environment, session: item.session, work: id, g });
      return answer;
    },
    'environments.work.stop': async (request) => {
      const { force = false } = parseBody(shapes.workStop, request.body);
      const isDispatcher = request.caller.kind === 'environment key';
      const stopping = { force, isDispatcher, g: request.lease?.g };
      return work.show(await work.stop(await queueIn(request), workIn(request), stopping));
    },
    'environments.work.retrieve': async (request) =>
      work.show(await work.find(await queueIn(request), workIn(request))),
    'environments.work.update': async (request) => {
      const { metadata } = parseBody(shapes.workUpdate, request.body);
      return work.show(await work.update(await queueIn(request), workIn(request), metadata));
    },
    'environments.work.list': async (request): Promise<Paged<BetaSelfHostedWork>> => {
      const query = parseQuery(shapes.workList, request.query);
      const environment = await queueIn(request);
      const list: ListRequest = { list: `work ${environment}`, order: 'desc', filter: null, ...pageIn(query) };
      const placeOf = ({ id, item }: FoundItem): string => `${formatTime(item.createdAt)} ${id}`;
      const items = (await work.list(environment)).toSorted((a, b) => (placeOf(a) < placeOf(b) ? 1 : -1));
      const page = pageOf(await parts.cursors(), list, items, placeOf);
      const data: BetaSelfHostedWork[] = [];
      for (const found of page.items) data.push(await work.show(found));
      return { data, next_page: page.next };
    },
    'environments.work.stats': async (request) => {
      const environment = environmentIn(request);
      await environments.retrieve(environment);
      return work.stats(environment);
    },
    'perdure.environments.keys': async (request) => {
      const { only = false } = parseBody(shapes.keyCreate, request.body);
      const environment = await environments.retrieve(environmentIn(request));
      if (environment.config.type !== 'self_hosted')
        throw invalid(`environment ${environment.id} is not self_hosted: it has no workers of its own`);
      const key = await makeEnvironmentKey(stored, environment.id, { by: request.person, only });
      return { type: 'environment_key', environment_id: environment.id, key };
    },
    'perdure.refused': async (request) => {
      const session = sessionIn(request);
      await parts.sessions.item(session);
      return { data: await showRefused(parts.ports.store, session) };
    },
    'perdure.fence': async (request) => {
      const { call: id, run } = parseQuery(shapes.fence, request.query);
      const lease = request.lease!;
      const found = await parts.sessions.find(lease.session);
      const { projection } = await parts.sessions.timeline(found);
      const call = openCall(projection, id);
      const { store } = parts.ports;
      const mayRun =
        call !== undefined &&
        !call.isStopping &&
        (await isLive(parts, lease)) &&
        (await wasOffered(store, { session: lease.session, ...call }, lease));
      if (!mayRun) throw new ManagedError(403, `Not run: call ${id} is over, or your lease is`);
      if (run !== undefined && !(await beginRun(store, { session: lease.session, ...call }, lease, run)))
        throw new ManagedError(403, `Not run: call ${id} has begun already`);
      return { type: 'fence', call: id, idempotency_key: `${lease.session}.${id}` };
    },
    'perdure.fenced': async (request) => {
      const { tools } = parseBody(shapes.fenced, request.body);
      const lease = request.lease!;
      await recordFenced(parts.ports.store, lease.session, lease, tools);
      return { type: 'fenced', tools };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}
