// The Managed Agents API as an app below `/v1` (G4, G13–G20): authenticates, finds the route in the
// table, and answers with the SDK's types or its error envelope.
import { setMaxListeners } from 'node:events';
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { DEEPEST_JSON, isDeeperThan } from '../system/json.ts';
import { streamCounts } from '../page/api/api-app.ts';
import { type Access, HEADERS, isJson } from '../page/hosting/access.ts';
import { sendStream } from '../page/event-frames.ts';
import type { Role } from '../page/hosting/people.ts';
import type { MountedApp } from '../page/page-app.tsx';
import { authenticate, authorize, type Caller, nameOf, requireRole } from './callers.ts';
import { errorAnswer, invalid, lineOf, ManagedError, notServed } from './errors.ts';
import { newId } from './ids.ts';
import { LARGEST_FILE } from './files/file-resources.ts';
import { createHandlers, createParts } from './handlers.ts';
import { ManagedStore } from './log/stored.ts';
import type { ManagedPorts } from './ports.ts';
import { type Handler, LONGEST_WORKER_ID, type ManagedRequest } from './request.ts';
import { queryOf } from './shapes/parse.ts';
import { ownRoutes, refusedPaths, routerPath, servedRoutes } from './surface.ts';
import { agentViews } from './views.tsx';

const PATH = '/v1';
/** Bytes of a body (G95). */
const LARGEST_BODY = 8 * 1024 * 1024;
/** Bytes of an upload: its parts have headers. */
const LARGEST_UPLOAD = LARGEST_FILE + 64 * 1024;
const BETA = 'managed-agents-2026-04-01';
/** Programs of its preview send this besides. */
const PREVIEW = `${BETA}-research-preview`;
const STREAMS: ReadonlySet<string> = new Set(['sessions.events.stream', 'sessions.threads.events.stream']);

type Vars = { readonly Variables: { caller: Caller; requestId: string } };
type Request = Context<Vars>;

/** `fire`: fires deployments that are due. `keepFiring`: does so until it's closed. */
type ManagedApp = MountedApp & { fire(): Promise<void>; keepFiring(): void };

export function managedApp(ports: ManagedPorts, access: Access): ManagedApp {
  const app = new Hono<Vars>();
  const closing = new AbortController();
  // Each poll that waits listens to it.
  setMaxListeners(0, closing.signal);
  const streams = streamCounts();
  const parts = createParts(ports, new ManagedStore(ports.store, ports.now));
  const handlers = createHandlers(parts);
  app.onError((error, context) => answerError(context as Request, error, ports));
  app.use(async (context, next) => {
    const requestId = newId('req');
    context.set('requestId', requestId);
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
    context.header('request-id', requestId);
    context.header('anthropic-workspace-id', 'default');
    context.set('caller', await authenticate(context, access, parts));
    refuseOtherBeta(context.req.header('anthropic-beta'));
    await next();
  });
  app.use(async (context, next) => {
    const maxSize = isUpload(context.req) ? LARGEST_UPLOAD : LARGEST_BODY;
    return bodyLimit({ maxSize, onError: () => refuseLarger(maxSize) })(context, next);
  });
  for (const route of [...servedRoutes, ...ownRoutes]) {
    const { name, method, path } = route;
    const handler: Handler = handlers[name];
    app[method](routerPath(path), async (context) => {
      const caller = context.get('caller');
      const lease = await authorize(parts, caller, route, context.req.param());
      const person = nameOf(caller);
      const requires = (needed: Role): void => requireRole(caller, needed);
      const left = STREAMS.has(name) ? streams.open(person) : (): void => undefined;
      try {
        const facts = { caller, lease, person, requires, closing: closing.signal, left };
        const request = await requestOf(context, facts);
        const answer = await handler(request);
        return answer instanceof Response ? sendStream(context, answer) : context.json(answer);
      } catch (error) {
        left();
        throw error;
      }
    });
  }
  for (const { capability, paths } of refusedPaths)
    for (const path of paths)
      app.all(routerPath(path), () => {
        throw notServed(capability);
      });
  app.all('*', (context) => {
    throw new ManagedError(404, `There is no ${context.req.method} ${context.req.path}`);
  });
  return {
    path: PATH,
    app: app as unknown as Hono,
    views: { path: '/agents', app: agentViews(parts) },
    fire: () => parts.runs.fire(),
    keepFiring: () => void parts.runs.keepFiring(closing.signal),
    close: () => closing.abort(),
  };
}

function answerError(context: Request, error: unknown, { log }: Pick<ManagedPorts, 'log'>): Response {
  const requestId = context.get('requestId');
  const { status, headers, body } = errorAnswer(error, requestId);
  if (status >= 500) log(`managed agents: request ${requestId} failed: ${lineOf(error)}`);
  for (const [name, value] of Object.entries(headers)) context.header(name, value);
  if (status === 401) context.header('WWW-Authenticate', 'Bearer');
  return context.json(body, status);
}

/** Any other beta means nothing here and is passed over (G17, G18). */
function refuseOtherBeta(header = ''): void {
  const names = header.split(',').map((name) => name.trim());
  const other = names.find((name) => name.startsWith('managed-agents-') && name !== BETA && name !== PREVIEW);
  if (other !== undefined) throw invalid(`anthropic-beta: "${other.slice(0, 80)}" is not served, ${BETA} is`);
}

function refuseLarger(bytes: number): never {
  throw new ManagedError(413, `The body is over ${Math.floor(bytes / 1024 / 1024)} MB`);
}

const isUpload = (request: Request['req']): boolean =>
  request.method === 'POST' &&
  /\/(?:files|skills|skills\/[^/]+\/versions)$/.test(request.path) &&
  /^multipart\/form-data/i.test(request.header('content-type') ?? '');

async function requestOf(
  context: Request,
  facts: Pick<ManagedRequest, 'caller' | 'lease' | 'person' | 'requires' | 'closing' | 'left'>,
): Promise<ManagedRequest> {
  const { method, path } = context.req;
  return {
    ...facts,
    path,
    params: context.req.param() as Readonly<Record<string, string>>,
    query: queryOf(context.req.url),
    body: isUpload(context.req) ? await formOf(context) : method === 'POST' ? await bodyOf(context) : undefined,
    key: context.req.header('idempotency-key'),
    retries: Number(/^\d{1,3}$/.exec(context.req.header('x-stainless-retry-count') ?? '')?.[0] ?? 0),
    lastEventId: context.req.header('last-event-id'),
    workerId: context.req.header('anthropic-worker-id')?.slice(0, LONGEST_WORKER_ID),
    origin: new URL(context.req.url).origin,
  };
}

async function formOf({ req }: Request): Promise<FormData> {
  try {
    return await req.formData();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw invalid(`The body is no multipart/form-data: ${error.message}`);
  }
}

async function bodyOf(context: Request): Promise<unknown> {
  const text = await context.req.text();
  if (text === '') return {};
  if (!isJson(context)) throw new ManagedError(415, 'The body is not application/json: send it as that');
  const body = parseJson(text);
  if (isDeeperThan(body, DEEPEST_JSON)) throw invalid(`The body is nested more than ${DEEPEST_JSON} levels deep`);
  return body;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw invalid(`The body is not JSON: ${error.message}`);
  }
}
