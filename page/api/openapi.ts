// Makes docs/openapi.v1.json from the table of routes and the schemas of requests.
import { z } from 'zod';
import type { Route } from './route.ts';
import { routes } from './routes.ts';
import { eventKinds, following, named } from './schemas.ts';
import { present } from '../../client/faces/basics.ts';

type Json = Readonly<Record<string, unknown>>;

const registry = z.registry<{ readonly id: string }>();
for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });

/**
 * Converts a schema. `input` is what a request may carry; `output` is what an answer has, to which
 * a later version may add.
 */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', isNamed = true): Json {
  const {
    $schema: _,
    $defs: __,
    ...json
  } = z.toJSONSchema(schema, {
    io,
    ...(isNamed ? { metadata: registry } : {}),
    override: ({ jsonSchema, zodSchema }) => {
      const { description, written } = z.globalRegistry.get(zodSchema as unknown as z.ZodType) ?? {};
      if (written !== undefined) {
        for (const key of ['pattern', 'enum', 'written']) delete jsonSchema[key];
        Object.assign(jsonSchema, written);
      }
      if (description !== undefined) jsonSchema.description ??= description;
      delete jsonSchema.readOnly;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (io === 'output') delete jsonSchema.additionalProperties;
    },
  });
  return JSON.parse(JSON.stringify(json).replaceAll('#/$defs/', '#/components/schemas/')) as Json;
}

const refOf = (schema: z.ZodType): Json => {
  const name = Object.keys(named).find((key) => named[key] === schema);
  return name === undefined ? schemaOf(schema, 'output') : { $ref: refTo(name) };
};

const refTo = (name: string): string => `#/components/schemas/${name}`;

/** Names each kind of event, so that generated code has a type for each. */
function eventUnion(): Json {
  const mapping = eventKinds.flatMap(({ kinds, name }) => kinds.map((kind) => [kind, refTo(name)] as const));
  return {
    oneOf: eventKinds.map(({ name }) => ({ $ref: refTo(name) })),
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) as Json },
  };
}

const problems: Json = {
  default: {
    description: 'A problem (RFC 9457), with one sentence.',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  },
};

const KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  schema: { type: 'string', minLength: 1, maxLength: 200 },
  description: 'The same on a retry: it counts once.',
};

function parametersOf(path: string, query: z.ZodType): readonly Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const { properties = {} } = schemaOf(query, 'input') as { readonly properties?: Readonly<Record<string, Json>> };
  const inQuery = Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    schema,
    ...present({ description }),
  }));
  return [...inPath, ...inQuery];
}

function describeRoute({ name, method, path, role, says, query, body, status, answer }: Route): Json {
  return {
    operationId: name,
    summary: says,
    'x-role': role,
    parameters: [...parametersOf(path, query), ...(method === 'post' ? [KEY] : [])],
    ...(body && { requestBody: bodyOf(body) }),
    responses: {
      [status]: { description: says, content: { 'application/json': { schema: refOf(answer) } } },
      ...problems,
    },
  };
}

/** An empty body is read as `{}`. */
function bodyOf(body: z.ZodType): Json {
  const required = !body.safeParse({}).success;
  return { ...(required && { required }), content: { 'application/json': { schema: schemaOf(body, 'input') } } };
}

const EVENTS = '/sessions/{session}/events';

const events: Json = {
  operationId: 'follow',
  summary:
    'Events of a run to its end, as server-sent events: each `data` is an Event (of the schemas) as JSON, and its id the place to come again from.',
  'x-role': 'look',
  parameters: [
    ...parametersOf(EVENTS, following),
    {
      name: 'Last-Event-ID',
      in: 'header',
      schema: { type: 'string' },
      description: 'The id of the last event that was received: the stream goes on behind it.',
    },
  ],
  responses: {
    '200': {
      description: 'Events; `event: trouble` and `event: problem` tell why none come.',
      // Generators make of the schema what the whole answer is read as.
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    '204': { description: 'Nothing is to come: the result was received, or there is no such run.' },
    ...problems,
  },
};

export function openapiDocument(): Json {
  const paths: Record<string, Record<string, Json>> = { [EVENTS]: { get: events } };
  for (const route of routes) {
    const path = (paths[route.path] ??= {});
    path[route.method] = describeRoute(route);
  }
  const schemas = Object.entries(named).map(([name, schema]) => [
    name,
    name === 'Event' ? eventUnion() : schemaOf(schema, 'output', false),
  ]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Perdure',
      version: '1',
      description:
        'Durable agent sessions over HTTP. Within this version operations and fields are added, never taken away.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(schemas) as Json,
    },
  };
}
