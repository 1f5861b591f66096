// The handlers of served routes. Each parses its query and body by their schemas and calls its
// resource.
import type {
  BetaManagedAgentsDeletedSession,
  BetaManagedAgentsSession,
  BetaManagedAgentsSessionEvent,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import type { BetaManagedAgentsSessionThread } from '@anthropic-ai/sdk/resources/beta/sessions/threads';
import type { BetaManagedAgentsAgent } from '@anthropic-ai/sdk/resources/beta/agents';
import type { BetaEnvironment, BetaEnvironmentDeleteResponse } from '@anthropic-ai/sdk/resources/beta/environments';
import { WorkQueues } from '../client/faces/work-items.ts';
import { Agents } from './agents.ts';
import { Deployments } from './deployments/deployments.ts';
import { deploymentHandlers, type DeploymentParts } from './deployments/handlers.ts';
import { DeploymentRuns } from './deployments/runs.ts';
import { Environments } from './environments.ts';
import { EventBus } from './events/bus.ts';
import { FileResources } from './files/file-resources.ts';
import { fileHandlers } from './files/handlers.ts';
import { awaitRest, openStream } from './events/stream.ts';
import { Timelines } from './events/timelines.ts';
import { formatMicros, newId } from './ids.ts';
import { LIST_AGE_MS, type ManagedStore } from './log/stored.ts';
import { memoryHandlers } from './memory/handlers.ts';
import { MemoryStores } from './memory/stores.ts';
import { modelHandlers } from './models.ts';
import { type Cursors, cursors, type ListRequest, pageOf, pageOfChosen, placeOf, placeOfDated } from './pages.ts';
import type { ManagedPorts } from './ports.ts';
import {
  agentIn,
  environmentIn,
  filterOf,
  type Handler,
  type Paged,
  pageIn,
  type Parts,
  sessionIn,
  threadIn,
} from './request.ts';
import { reserveId, reserveIds } from './request-log.ts';
import { sendEvents } from './send.ts';
import { skillHandlers } from './skills/handlers.ts';
import { SkillResources } from './skills/skill-resources.ts';
import { type FoundSession, statusOf } from './session-status.ts';
import { Sessions } from './sessions.ts';
import * as agentShapes from './shapes/agents.ts';
import * as environmentShapes from './shapes/environments.ts';
import { parseBody, parseQuery } from './shapes/parse.ts';
import * as shapes from './shapes/sessions.ts';
import type { ServedName } from './surface.ts';
import { idOfThread, Threads } from './threads.ts';
import { vaultHandlers } from './vaults/handlers.ts';
import { VaultResources } from './vaults/vaults.ts';
import { workHandlers } from './work/handlers.ts';
import { listForWorker, offerToWorker } from './work/view.ts';
import { Work } from './work/work.ts';

type AllParts = Parts & DeploymentParts;

export function createParts(ports: ManagedPorts, stored: ManagedStore): AllParts {
  const agents = new Agents(stored, ports.now);
  const environments = new Environments(stored, ports.now);
  const memoryStores = new MemoryStores(stored, ports.now);
  const skills = new SkillResources(stored.skills, ports.now);
  const vaults = new VaultResources(ports);
  const timelines = new Timelines(ports);
  const files = new FileResources(ports);
  const sessions = new Sessions({
    ports,
    stored,
    agents,
    environments,
    files,
    memoryStores,
    skills,
    vaults,
    timelines,
  });
  const sealing = async (): Promise<Cursors> => cursors(await stored.secret());
  const queues = new WorkQueues(ports);
  const { leases, leaseMs, now } = ports;
  const work = new Work({ queues, leases, leaseMs, now, isOver: (session) => sessions.isOver(session) });
  const bus = new EventBus();
  const threads = new Threads({ ports, stored, sessions });
  const deployments = new Deployments({ stored, agents, sessions, files, now });
  const own = {
    agents,
    environments,
    files,
    memoryStores,
    skills,
    vaults,
    timelines,
    sessions,
    threads,
    bus,
    queues,
    work,
  };
  const parts = { ports, stored, ...own, deployments, cursors: sealing };
  return { ...parts, runs: new DeploymentRuns(parts) };
}

export function createHandlers(parts: AllParts): Readonly<Record<ServedName, Handler>> {
  return {
    ...agentHandlers(parts),
    ...environmentHandlers(parts),
    ...workHandlers(parts),
    ...sessionHandlers(parts),
    ...eventHandlers(parts),
    ...threadHandlers(parts),
    ...memoryHandlers(parts),
    ...vaultHandlers(parts),
    ...fileHandlers(parts),
    ...deploymentHandlers(parts),
    ...skillHandlers(parts),
    ...modelHandlers(parts.ports),
  };
}

function agentHandlers(parts: Parts) {
  const { agents } = parts;
  return {
    'agents.create': async (request) => {
      const body = parseBody(agentShapes.agentCreate, request.body);
      return agents.create(await reserveId(parts.ports, request, 'agent'), request.person, body);
    },
    'agents.retrieve': (request) => {
      const { version } = parseQuery(agentShapes.agentRetrieve, request.query);
      return agents.retrieve(agentIn(request), version);
    },
    'agents.update': (request) =>
      agents.update(agentIn(request), request.person, parseBody(agentShapes.agentUpdate, request.body)),
    'agents.archive': (request) => agents.archive(agentIn(request), request.person),
    'agents.list': async (request): Promise<Paged<BetaManagedAgentsAgent>> => {
      const query = parseQuery(agentShapes.agentList, request.query);
      const list: ListRequest = { list: 'agents', order: 'desc', filter: filterOf(query), ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, await agents.list(query), placeOf);
      const data = await Promise.all(page.items.map(([id, item]) => agents.show(id, item)));
      return { data, next_page: page.next };
    },
    'agents.versions.list': async (request): Promise<Paged<BetaManagedAgentsAgent>> => {
      const query = parseQuery(agentShapes.pageQuery, request.query);
      const id = agentIn(request);
      const { versions } = await agents.item(id);
      const numbers = versions.map((_, at) => at + 1).toReversed();
      const list: ListRequest = { list: `versions ${id}`, order: 'desc', filter: null, ...pageIn(query) };
      const page = pageOf(await parts.cursors(), list, numbers, (n) => String(n).padStart(9, '0'));
      return { data: await Promise.all(page.items.map((n) => agents.retrieve(id, n))), next_page: page.next };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

function environmentHandlers(parts: Parts) {
  const { environments } = parts;
  return {
    'environments.create': async (request) => {
      const body = parseBody(environmentShapes.environmentCreate, request.body);
      return environments.create(await reserveId(parts.ports, request, 'env'), request.person, body);
    },
    'environments.retrieve': (request) => environments.retrieve(environmentIn(request)),
    'environments.update': (request) => {
      const body = parseBody(environmentShapes.environmentUpdate, request.body);
      return environments.update(environmentIn(request), request.person, body);
    },
    'environments.archive': (request) => environments.archive(environmentIn(request), request.person),
    'environments.delete': async (request): Promise<BetaEnvironmentDeleteResponse> => {
      const id = environmentIn(request);
      await environments.delete(id, request.person);
      return { id, type: 'environment_deleted' };
    },
    'environments.list': async (request): Promise<Paged<BetaEnvironment>> => {
      const query = parseQuery(agentShapes.listQuery, request.query);
      const list: ListRequest = { list: 'environments', order: 'desc', filter: filterOf(query), ...pageIn(query) };
      const all = await environments.list(query.include_archived === true);
      const page = pageOf(await parts.cursors(), list, all, placeOfDated);
      return { data: page.items, next_page: page.next };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

function sessionHandlers(parts: Parts) {
  const { sessions, bus } = parts;
  return {
    'sessions.create': async (request): Promise<BetaManagedAgentsSession> => {
      const body = parseBody(shapes.sessionCreate, readableEvents(request.body, 'initial_events'));
      const { initial_events: events = [] } = body;
      const makeIds = () => [newId('sesn'), ...events.map(() => newId('sevt'))];
      const [id = '', ...ids] = await reserveIds(parts.ports, request, makeIds);
      await sessions.create(id, request.person, body);
      if (events.length > 0)
        await sendEvents(parts, { session: id, by: request.person, lease: undefined, events, ids });
      return sessions.show(await sessions.find(id));
    },
    'sessions.retrieve': async (request) => sessions.show(await sessions.find(sessionIn(request))),
    'sessions.update': async (request) => {
      const id = sessionIn(request);
      const body = parseBody(shapes.sessionUpdate, request.body);
      if (body.agent) await awaitRest(sessions.source(id), request.closing);
      const session = await sessions.update(id, request.person, body);
      bus.publish(id, {});
      return session;
    },
    'sessions.archive': async (request) => {
      const id = sessionIn(request);
      const session = await sessions.archive(id, request.person);
      bus.publish(id, {});
      return session;
    },
    'sessions.delete': async (request): Promise<BetaManagedAgentsDeletedSession> => {
      const id = sessionIn(request);
      await awaitRest(sessions.source(id), request.closing);
      await sessions.delete(id, request.person);
      bus.publish(id, {});
      return { id, type: 'session_deleted' };
    },
    'sessions.list': async (request): Promise<Paged<BetaManagedAgentsSession> & { prev_page: string | null }> => {
      const query = parseQuery(shapes.sessionList, request.query);
      const { order = 'desc' } = query;
      const list: ListRequest = { list: 'sessions', order, filter: filterOf(query), ...pageIn(query) };
      const all = await sessions.list(query);
      const { statuses } = query;
      const placeOfFound = ({ id, item }: FoundSession): string => placeOf([id, item]);
      const choose = async (some: readonly FoundSession[]): Promise<readonly FoundSession[]> =>
        (await sessions.lookAt(some)).filter((one) => statuses?.includes(statusOf(one)));
      const page = statuses?.length
        ? await pageOfChosen(await parts.cursors(), list, all, placeOfFound, choose)
        : pageOf(await parts.cursors(), list, all, placeOfFound);
      const found = statuses?.length ? page.items : await sessions.lookAt(page.items);
      const data = await Promise.all(found.map((one) => sessions.show(one, LIST_AGE_MS)));
      return { data, next_page: page.next, prev_page: page.prev };
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

/** Events page by a thousand unless a request says otherwise. */
const EVENTS_LIMIT = 1_000;

function eventHandlers(parts: Parts) {
  const { sessions, timelines } = parts;
  return {
    'sessions.events.send': async (request) => {
      const { events } = parseBody(shapes.eventSend, readableEvents(request.body, 'events'));
      // Confirmations need only the role that decides; all other events steer.
      if (events.some(({ type }) => type !== 'user.tool_confirmation')) request.requires('steer');
      const session = sessionIn(request);
      await sessions.item(session);
      const ids = await reserveIds(parts.ports, request, () => events.map(() => newId('sevt')));
      const { lease, person: by } = request;
      return { data: await sendEvents(parts, { session, by, lease, events, ids }) };
    },
    'sessions.events.list': async (request): Promise<Paged<BetaManagedAgentsSessionEvent>> => {
      const query = parseQuery(shapes.eventList, request.query);
      const { order = 'asc', types, limit = EVENTS_LIMIT } = query;
      const found = await sessions.find(sessionIn(request));
      const { lease } = request;
      const timeline = await sessions.timeline(found);
      const chosen = (lease ? listForWorker(timeline) : timeline.facts).filter(
        ({ type, at }) =>
          (types === undefined || types.length === 0 || types.includes(type)) && shapes.isWithin(at, query),
      );
      const list: ListRequest = { list: `events ${found.id}`, order, filter: filterOf(query), ...pageIn(query), limit };
      const sorted = order === 'asc' ? chosen : chosen.toReversed();
      const page = pageOf(await parts.cursors(), list, sorted, ({ at }) => formatMicros(at));
      const visible = lease ? await offerToWorker(parts, lease, timeline, page.items) : page.items;
      return { data: await timelines.write(visible), next_page: page.next };
    },
    'sessions.events.stream': async (request) => {
      const { event_deltas: deltas = [] } = parseQuery(shapes.eventStream, request.query);
      const { lease, closing, left, lastEventId: last } = request;
      const source = sessions.source(sessionIn(request));
      return openStream(parts, { source, last, deltas, lease, closing, left });
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

function threadHandlers(parts: Parts) {
  const { threads, timelines, bus } = parts;
  return {
    'sessions.threads.list': async (request): Promise<Paged<BetaManagedAgentsSessionThread>> => {
      const query = parseQuery(shapes.threadList, request.query);
      const { statuses = [] } = query;
      const id = sessionIn(request);
      const all = (await threads.list(id)).map((thread, at) => ({ thread, at }));
      const placeOfThread = ({ at }: (typeof all)[number]): string => String(at).padStart(9, '0');
      const list: ListRequest = { list: `threads ${id}`, order: 'asc', filter: filterOf(query), ...pageIn(query) };
      const choose = async (some: typeof all): Promise<typeof all> => {
        const now = await Promise.all(some.map(({ thread }) => threads.status(thread)));
        return some.filter((_, at) => statuses.includes(now[at]!));
      };
      const page =
        statuses.length > 0
          ? await pageOfChosen(await parts.cursors(), list, all, placeOfThread, (some) => choose([...some]))
          : pageOf(await parts.cursors(), list, all, placeOfThread);
      return { data: await Promise.all(page.items.map(({ thread }) => threads.show(thread))), next_page: page.next };
    },
    'sessions.threads.retrieve': async (request) => threads.show(await threadIn(request, threads)),
    'sessions.threads.archive': async (request) => {
      const found = await threadIn(request, threads);
      await threads.archive(found, request.person);
      bus.publish(found.session.id, {});
      return threads.show(await threadIn(request, threads));
    },
    'sessions.threads.events.list': async (request): Promise<Paged<BetaManagedAgentsSessionEvent>> => {
      const query = parseQuery(agentShapes.pageQuery, request.query);
      const { limit = EVENTS_LIMIT } = query;
      const found = await threadIn(request, threads);
      const { facts } = await threads.timeline(found);
      const name = `thread events ${idOfThread(found)}`;
      const list: ListRequest = { list: name, order: 'asc', filter: null, ...pageIn(query), limit };
      const page = pageOf(await parts.cursors(), list, facts, ({ at }) => formatMicros(at));
      return { data: await timelines.write(page.items), next_page: page.next };
    },
    'sessions.threads.events.stream': async (request) => {
      const { event_deltas: deltas = [] } = parseQuery(shapes.eventStream, request.query);
      const { closing, left, lastEventId: last } = request;
      const source = threads.source(await threadIn(request, threads));
      return openStream(parts, { source, last, deltas, lease: undefined, closing, left });
    },
  } satisfies Partial<Record<ServedName, Handler>>;
}

/** A call is found by its id, and clients send the thread back all the same (G17). */
const ROUTED_EVENTS: ReadonlySet<unknown> = new Set([
  'user.tool_confirmation',
  'user.custom_tool_result',
  'user.tool_result',
]);

/** Leaves out fields that mean nothing here. */
function readableEvents(body: unknown, field: 'events' | 'initial_events'): unknown {
  const events = (body as Readonly<Record<string, unknown>> | null)?.[field];
  if (!Array.isArray(events)) return body;
  return { ...(body as object), [field]: events.map(readableEvent) };
}

function readableEvent(event: unknown): unknown {
  const { type } = (event ?? {}) as { readonly type?: unknown };
  if (!ROUTED_EVENTS.has(type)) return event;
  const { session_thread_id: _, ...rest } = event as Readonly<Record<string, unknown>>;
  return rest;
}
