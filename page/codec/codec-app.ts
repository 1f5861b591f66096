// The codec server of Temporal's UI and command line: it opens sealed payloads for people who may
// see them, and keeps and logs none of them. Bodies are JSON with bytes in base64. A payload that
// can't be opened becomes a value that says so; the others are opened all the same.
import { Hono, type Context, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import type { KeyRing } from '../../connection/payloads/key-ring.ts';
import { isJson } from '../hosting/access.ts';
import { mayDo, personWith, type Person, type Role } from '../hosting/people.ts';
import type { JudgeToken } from './oidc.ts';
import type { Payload } from '@temporalio/common';
import { z } from 'zod';
import { createSealingCodec, openNamedPlace } from '../../connection/payloads/sealing-codec.ts';

export type CodecSettings = {
  readonly keys: KeyRing;
  /** Payloads of other namespaces are not opened. */
  readonly namespace: string;
  readonly people: readonly Person[];
  /** Judges tokens of an OpenID provider; absent: there is none. */
  readonly judge?: JudgeToken | undefined;
  /** Sites whose pages may ask, such as `https://cloud.temporal.io`. */
  readonly origins: readonly string[];
  /** Whether payloads are sealed, too. */
  readonly encodes: boolean;
  /** Writes a line for whoever runs the server; absent: nobody reads it. */
  readonly log?: ((line: string) => void) | undefined;
};

/** Most bytes of a body: a page of a history. */
const LARGEST_BODY = 16 * 1024 * 1024;
/** The UI sends the last one with its access token; it isn't read. */
const SENT_HEADERS = 'Authorization, Content-Type, X-Namespace, Authorization-Extras';

/** Every refusal is one line of text, which Temporal's command line prints. */
export function codecApp(settings: CodecSettings): Hono {
  const app = new Hono();
  app.onError((error, context) => {
    if (error instanceof HTTPException) return context.text(error.message, error.status);
    settings.log?.(`${context.req.method} ${context.req.path} failed: ${traceOf(error)}`);
    return context.text('it failed', 500);
  });
  app.use(async (context, next) => {
    context.header('Cache-Control', 'no-store');
    context.header('X-Content-Type-Options', 'nosniff');
    allowOrigin(context, settings.origins);
    await next();
  });
  app.options('*', answerPreflight);
  app.post('/decode', admit(settings, 'look'), limit, async (context) =>
    context.json(decodeBody(settings.keys, settings.namespace, await readBody(context))),
  );
  app.post('/encode', admit(settings, 'steer'), limit, async (context) => {
    if (!settings.encodes) throw refusal(403, 'this codec server only decodes: --encode changes that');
    return context.json(await encodeBody(settings.keys, placeOf(context, settings), await readBody(context)));
  });
  app.all('*', () => {
    throw refusal(404, 'a codec server answers POST /decode and POST /encode');
  });
  return app;
}

/** Says where an error came from, without its message, which may have a part of a payload. */
function traceOf({ name, stack = '' }: Error): string {
  const frame = stack.split('\n').find((line) => line.trimStart().startsWith('at '));
  return `${name}${frame ? ` ${frame.trim()}` : ''}`;
}

const refusal = (status: 400 | 401 | 403 | 404 | 413 | 415, message: string): HTTPException =>
  new HTTPException(status, { message });

const limit = bodyLimit({
  maxSize: LARGEST_BODY,
  onError: () => {
    throw refusal(413, `the body is over ${LARGEST_BODY / 1024 / 1024} MB`);
  },
});

/** Refuses a page of a site that may not ask, whatever it sends. */
function allowOrigin(context: Context, origins: readonly string[]): void {
  const origin = context.req.header('origin');
  if (origin === undefined) return;
  if (!origins.includes(origin)) throw refusal(403, 'pages of that site may not ask: see --origin');
  context.header('Access-Control-Allow-Origin', origin);
  context.header('Vary', 'Origin');
}

/** A browser asks first whether it may ask, without a token. */
function answerPreflight(context: Context): Response {
  context.header('Access-Control-Allow-Methods', 'POST');
  context.header('Access-Control-Allow-Headers', SENT_HEADERS);
  if (context.req.header('access-control-request-private-network') === 'true')
    context.header('Access-Control-Allow-Private-Network', 'true');
  return context.body(null, 204);
}

/** Judges who asks, and for which namespace, before anything of the body is read. */
function admit(settings: CodecSettings, needed: Role): MiddlewareHandler {
  const { namespace } = settings;
  return async (context, next) => {
    await refuseStranger(context, settings, needed);
    // Temporal's command line sends it empty for the default one. Payloads name theirs, too.
    const named = context.req.header('x-namespace') || namespace;
    if (named !== namespace) throw refusal(403, `only payloads of namespace ${namespace} are opened`);
    if (!isJson(context)) throw refusal(415, 'only application/json');
    await next();
  };
}

/** A token of an OpenID provider may only decode. */
async function refuseStranger(context: Context, { people, judge }: CodecSettings, needed: Role): Promise<void> {
  const [, token = ''] = /^Bearer +([\w.-]+)$/i.exec(context.req.header('authorization') ?? '') ?? [];
  const person = personWith(people, token);
  if (person !== null) {
    if (mayDo(person.role, needed)) return;
    throw refusal(403, `that needs the role ${needed}, and yours is ${person.role}`);
  }
  if (!judge || !token.includes('.'))
    throw refusal(401, 'nobody here has that token: send one as Authorization: Bearer TOKEN');
  const why = await judge(token);
  if (why !== null) throw refusal(401, `the token is refused: ${why}`);
  if (needed !== 'look') throw refusal(403, 'tokens of an OpenID provider may only decode');
}

async function readBody(context: Context): Promise<CodecBody> {
  const body = parseCodecBody(await context.req.text());
  if (body === null) throw refusal(400, 'the body is no {"payloads": […]} of Temporal');
  return body;
}

/** Payloads open only in their workflow, which the protocol does not name. */
function placeOf(context: Context, { namespace }: CodecSettings) {
  const workflowId = context.req.header('x-workflow-id');
  if (workflowId) return { namespace, workflowId };
  throw refusal(400, 'payloads are sealed for one workflow: name it with the header X-Workflow-Id');
}

const payloadSchema = z.looseObject({
  metadata: z.record(z.string(), z.string()).optional(),
  data: z.string().optional(),
});
const bodySchema = z.object({ payloads: z.array(payloadSchema) });
type PayloadJson = z.infer<typeof payloadSchema>;

type CodecBody = { readonly payloads: readonly PayloadJson[] };

/** Returns null for a text that isn't a body of a codec server. */
function parseCodecBody(text: string): CodecBody | null {
  try {
    return bodySchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** Opens payloads that were sealed in the namespace; others are returned as they came. */
function decodeBody(keys: KeyRing, namespace: string, { payloads }: CodecBody): CodecBody {
  return {
    payloads: payloads.map((json) => {
      const payload = payloadOf(json);
      const opened = openNamedPlace(keys, namespace, payload);
      return opened === payload ? json : jsonOf(opened);
    }),
  };
}

/** Seals payloads for one workflow. Throws for an encoding that isn't the SDK's. */
async function encodeBody(
  keys: KeyRing,
  { namespace, workflowId }: { readonly namespace: string; readonly workflowId: string },
  { payloads }: CodecBody,
): Promise<CodecBody> {
  const codec = createSealingCodec(keys, () => undefined);
  const sealed = await codec.encode(payloads.map(payloadOf), { type: 'workflow', namespace, workflowId });
  return { payloads: sealed.map(jsonOf) };
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text, 'base64');
const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function payloadOf({ metadata = {}, data = '' }: PayloadJson): Payload {
  const entries = Object.entries(metadata).map(([name, value]) => [name, bytesOf(value)] as const);
  return { metadata: Object.fromEntries(entries), data: bytesOf(data) };
}

function jsonOf({ metadata, data }: Payload): PayloadJson {
  const entries = Object.entries(metadata ?? {}).map(([name, value]) => [name, base64Of(value)] as const);
  return { metadata: Object.fromEntries(entries), ...(data && { data: base64Of(data) }) };
}
