// The Managed Agents API as an app below `/v1` (G4, G13–G20): lets people in by their tokens, finds
// the route in the table, and answers with bodies of the SDK's types or its error envelope.
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { DEEPEST_JSON, isDeeperThan } from '../system/json.ts';
import { streamCounts } from '../page/api/api-app.ts';
import { type Access, HEADERS, isFromProxy, isJson, isOwnHost, isOwnOrigin } from '../page/hosting/access.ts';
import { mayDo, OWNER, type Person, personWith, type Role } from '../page/hosting/people.ts';
import { sendStream } from '../page/event-frames.ts';
import type { MountedApp } from '../page/page-app.tsx';
import { errorAnswer, invalid, lineOf, ManagedError, notServed } from './errors.ts';
import { newId } from './ids.ts';
import { createHandlers, type Handler, type ManagedRequest } from './handlers.ts';
import { ManagedStore } from './log/stored.ts';
import type { ManagedPorts } from './ports.ts';
import { queryOf } from './shapes/parse.ts';
import { agentViews } from './views.tsx';
import { refusedPaths, routerPath, servedRoutes } from './surface.ts';

const PATH = '/v1';
/** Bytes of a body (G95). */
const LARGEST_BODY = 8 * 1024 * 1024;
const BETA = 'managed-agents-2026-04-01';

type Vars = { readonly Variables: { person: Person; requestId: string } };
type Request = Context<Vars>;

export function managedApp(ports: ManagedPorts, access: Access): MountedApp {
  const app = new Hono<Vars>();
  const closing = new AbortController();
  const streams = streamCounts();
  const stored = new ManagedStore(ports.store, ports.now);
  const handlers = createHandlers(ports, stored);
  app.onError((error, context) => answerError(context as Request, error, ports));
  app.use(async (context, next) => {
    const requestId = newId('req');
    context.set('requestId', requestId);
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
    context.header('request-id', requestId);
    context.header('anthropic-workspace-id', 'default');
    context.set('person', authenticate(context, access));
    refuseOtherBeta(context.req.header('anthropic-beta'));
    await next();
  });
  app.use(bodyLimit({ maxSize: LARGEST_BODY, onError: tooLarge }));
  for (const { name, method, path, role } of servedRoutes) {
    const handler: Handler = handlers[name];
    app[method](routerPath(path), async (context) => {
      const caller = requireRole(context.get('person'), role);
      const { name: person } = caller;
      const left = name === 'sessions.events.stream' ? streams.open(person ?? OWNER) : (): void => undefined;
      try {
        const requires = (needed: Role): void => void requireRole(caller, needed);
        const facts = { person: person ?? OWNER, requires, closing: closing.signal, left };
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
    views: { path: '/agents', app: agentViews(stored, ports.now) },
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

/**
 * Lets a request in by its token, never by a browser's cookie (G19, G20): `Authorization: Bearer`
 * goes before `x-api-key`, as helpers of the SDKs send both. Throws ManagedError.
 */
function authenticate(context: Request, access: Access): Person {
  const origin = context.req.header('origin');
  if (!isFromProxy(context, access)) throw new ManagedError(403, 'Only the proxy of this server may ask');
  if (!isOwnHost(context, access)) throw new ManagedError(421, 'This is another host than the one that is served here');
  if (origin !== undefined && !isOwnOrigin(context, access, origin))
    throw new ManagedError(403, 'Pages of other sites may not ask');
  const header = context.req.header('authorization') ?? '';
  const bearer = /^Bearer /i.test(header) ? header.slice('Bearer '.length).trim() : undefined;
  const { owner, people } = access;
  const token = bearer ?? context.req.header('x-api-key') ?? '';
  const person = personWith(owner ? [owner.person, ...people] : people, token);
  if (person === null)
    throw new ManagedError(401, 'invalid x-api-key: `perdure serve --token` prints the token of this server');
  return person;
}

function requireRole(person: Person, needed: Role): Person {
  if (mayDo(person.role, needed)) return person;
  throw new ManagedError(403, `That needs the role ${needed}, and yours is ${person.role}: nothing was done`);
}

/** Any other beta means nothing here and is passed over (G17, G18). */
function refuseOtherBeta(header = ''): void {
  const names = header.split(',').map((name) => name.trim());
  const other = names.find((name) => name.startsWith('managed-agents-') && name !== BETA);
  if (other !== undefined) throw invalid(`anthropic-beta: "${other.slice(0, 80)}" is not served, ${BETA} is`);
}

function tooLarge(): never {
  throw new ManagedError(413, `The body is over ${LARGEST_BODY / 1024 / 1024} MB`);
}

async function requestOf(
  context: Request,
  facts: Pick<ManagedRequest, 'person' | 'requires' | 'closing' | 'left'>,
): Promise<ManagedRequest> {
  const { method, path } = context.req;
  return {
    ...facts,
    path,
    params: context.req.param() as Readonly<Record<string, string>>,
    query: queryOf(context.req.url),
    body: method === 'POST' ? await bodyOf(context) : undefined,
    key: context.req.header('idempotency-key'),
    retries: Number(/^\d{1,3}$/.exec(context.req.header('x-stainless-retry-count') ?? '')?.[0] ?? 0),
    lastEventId: context.req.header('last-event-id'),
  };
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
