// The HTTP API: what the client offers, as JSON and server-sent events, for programs with a token.
// It is part of the page's app.
import { createHash } from 'node:crypto';
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { DEEPEST_JSON, isDeeperThan } from '../../system/json.ts';
import { isTraceparent } from '../../client/faces/contract.ts';
import { LONGEST_ID, parseSessionId } from '../../client/faces/basics.ts';
import type { MessageId, SessionId } from '../../client/faces/types.ts';
import { ClientProblem } from '../../client/faces/start.ts';
import { type Access, HEADERS, isFromProxy, isJson, isOwnHost, isOwnOrigin } from '../hosting/access.ts';
import { OWNER, type Person, personWith, type Role } from '../hosting/people.ts';
import { identityOfPerson, type PagePorts } from '../ports.ts';
import { sendStream } from '../event-frames.ts';
import { openEventStream } from './event-stream.ts';
import { openapiDocument } from './openapi.ts';
import { type Route, readShape } from './route.ts';
import { routes } from './routes.ts';
import { problemResponse, HttpProblem, refuseUnless } from './problems.ts';
import { following } from './schemas.ts';

export const API = '/api/v1';

/** Most bytes of a body: an image in base64 and some text. */
const LARGEST_BODY = 8 * 1024 * 1024;
/** Most open streams of all listeners, and of one person: each follows its session. */
const MOST_STREAMS = 500;
const MOST_OF_ONE = 100;

type Vars = { readonly Variables: { person: Person } };

/** `listeners` counts open streams. */
export type Api = { readonly app: Hono<Vars>; readonly listeners: number; close(): void };

export function apiApp(ports: PagePorts, access: Access): Api {
  const app = new Hono<Vars>();
  const closing = new AbortController();
  const streams = streamCounts();
  app.onError((error, context) => problemResponse(context, error));
  app.use(async (context, next) => {
    context.set('person', authenticate(context, access));
    await next();
  });
  app.use(bodyLimit({ maxSize: LARGEST_BODY, onError: tooLarge }));
  /** Throws HttpProblem when the person's role is too low. */
  const person = (context: Context<Vars>, needed: Role): Person => requireRole(context.get('person'), needed);
  app.get('/openapi.json', (context) => (person(context, 'look'), context.json(openapiDocument())));
  for (const route of routes)
    app[route.method](pathOf(route), async (context) => {
      const { name, role } = person(context, route.role);
      return carryOut(context, route, { ports, name: name ?? OWNER, role });
    });
  app.get('/sessions/:session/events', async (context) => {
    const listener = person(context, 'look');
    const { message, after } = readShape('the address', following, context.req.query());
    const last = context.req.header('last-event-id');
    const left = streams.open(listener.name ?? OWNER);
    const request = { session: sessionOf(context), message, after, last: last === '' ? undefined : last };
    const stream = await openEventStream(ports, { ...request, closing: closing.signal, left });
    return stream === null ? context.body(null, 204) : sendStream(context, stream);
  });
  app.all('*', (context) => {
    throw new HttpProblem(
      'not_found',
      `there is no ${context.req.method} ${context.req.path}: see ${API}/openapi.json`,
    );
  });
  return {
    app,
    get listeners() {
      return streams.count;
    },
    close: () => closing.abort(),
  };
}

type StreamCounts = {
  /** Number of open streams. */
  readonly count: number;
  /**
   * Counts a new stream and returns the function to call once when it is closed. Throws
   * HttpProblem.
   */
  open(name: string): () => void;
};

/** Counts the open streams of one API. */
export function streamCounts(): StreamCounts {
  const open = new Map<string, number>();
  const count = (): number => [...open.values()].reduce((sum, one) => sum + one, 0);
  return {
    get count() {
      return count();
    },
    open(name) {
      const own = open.get(name) ?? 0;
      const all = count();
      if (own >= MOST_OF_ONE) throw new HttpProblem('busy', `${own} streams of ${name} are open: close some`);
      if (all >= MOST_STREAMS) throw new HttpProblem('busy', `${all} streams are open: close some`);
      open.set(name, own + 1);
      return () => void open.set(name, (open.get(name) ?? 1) - 1);
    },
  };
}

/**
 * Lets a request in by its token. A browser's cookies do not count here, since a site can send a
 * token in a header only on purpose. Throws HttpProblem.
 */
function authenticate(context: Context, access: Access): Person {
  for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
  const { method } = context.req;
  const origin = context.req.header('origin');
  if (!isFromProxy(context, access)) throw new HttpProblem('forbidden', 'only the proxy of this page may ask');
  if (!isOwnHost(context, access))
    throw new HttpProblem('wrong_host', 'this is another host than the one that is served here');
  if (origin !== undefined && !isOwnOrigin(context, access, origin))
    throw new HttpProblem('forbidden', 'pages of other sites may not ask');
  const [, token = ''] = /^Bearer +([\w-]+)$/i.exec(context.req.header('authorization') ?? '') ?? [];
  const { owner, people } = access;
  const person = personWith(owner ? [owner.person, ...people] : people, token);
  if (person === null)
    throw new HttpProblem('no_token', 'nobody here has that token: send one as Authorization: Bearer TOKEN');
  if (method !== 'GET' && method !== 'POST') throw new HttpProblem('wrong_method', 'only GET and POST are answered');
  return person;
}

function requireRole(person: Person, needed: Role): Person {
  refuseUnless(person.role, needed, 'that');
  return person;
}

function tooLarge(): never {
  throw new HttpProblem('too_large', `the body is over ${LARGEST_BODY / 1024 / 1024} MB: put it in a file and name it`);
}

const pathOf = ({ path }: Route): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

async function carryOut(
  context: Context,
  route: Route,
  { ports, name, role }: { readonly ports: PagePorts; readonly name: string; readonly role: Role },
): Promise<Response> {
  const request = {
    ports,
    acting: ports.as(name, 'over HTTP'),
    by: identityOfPerson(name, 'over HTTP'),
    role,
    session: route.path.includes('{session}') ? sessionOf(context) : '',
    call: context.req.param('call') ?? '',
    schedule: context.req.param('schedule') ?? '',
    key: ownKey(name, keyOf(context)),
    traceparent: traceOf(context),
    signal: context.req.raw.signal,
  };
  const body = route.body && (await bodyOf(context));
  return context.json(await route.run(request, context.req.query(), body), route.status);
}

/** Throws ClientProblem `refused`. */
function sessionOf(context: Context): SessionId {
  return parseSessionId(context.req.param('session') ?? '');
}

/** Ignores an invalid header, as W3C Trace Context asks. */
function traceOf(context: Context): string | undefined {
  const traceparent = context.req.header('traceparent');
  return isTraceparent(traceparent) ? traceparent : undefined;
}

/**
 * Makes keys of different people differ. Only the owner's key becomes the message's id unchanged.
 */
function ownKey(name: string, key: MessageId | undefined): MessageId | undefined {
  if (key === undefined || name === OWNER) return key;
  const digest = createHash('sha256')
    .update(JSON.stringify([name, key]))
    .digest('hex');
  return `${key.slice(0, LONGEST_ID - 17)}.${digest.slice(0, 16)}` as MessageId;
}

/** Accepts the key in quotes, as the draft has it, or without. */
function keyOf(context: Context): MessageId | undefined {
  const header = context.req.header('idempotency-key');
  if (header === undefined) return undefined;
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= LONGEST_ID) return key as MessageId;
  throw new ClientProblem(
    'refused',
    `Idempotency-Key has ${key.length} characters, or blanks in it: give 1 to ${LONGEST_ID} printable ones`,
  );
}

async function bodyOf(context: Context): Promise<unknown> {
  const text = await context.req.text();
  if (text === '') return {};
  if (!isJson(context)) throw new HttpProblem('not_json', 'the body is not application/json: send it as that');
  const body = parseBody(text);
  if (isDeeperThan(body, DEEPEST_JSON))
    throw new ClientProblem('refused', `the body is nested more than ${DEEPEST_JSON} levels deep`);
  return body;
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ClientProblem('refused', `the body is not JSON: ${error.message}`);
  }
}
