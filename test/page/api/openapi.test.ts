// The OpenAPI document: the file is what the schemas say, and what it describes is what is served.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { eventSchema } from '../../../client/event-schema.ts';
import { openapiDocument } from '../../../page/api/openapi.ts';
import { routes } from '../../../page/api/routes.ts';
import { PAGE_HOST, stagedPage } from '../../support/page-ports.ts';

type Union = {
  readonly oneOf: readonly { readonly $ref: string }[];
  readonly discriminator: { readonly propertyName: string; readonly mapping: Readonly<Record<string, string>> };
};
type Described = Readonly<Record<string, { readonly operationId: string; readonly 'x-role': string }>>;
const document = openapiDocument() as {
  readonly paths: Readonly<Record<string, Described>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
};

test('docs/openapi.v1.json is what the schemas say: `npx vitest run --project fast test/page/api -u` (Q11)', async () => {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  await expect(text).toMatchFileSnapshot('../../../docs/openapi.v1.json');
  const { ask } = await stagedPage();
  const served = await ask('/api/v1/openapi.json', { headers: { authorization: 'Bearer secret', host: PAGE_HOST } });
  expect(await served.json()).toEqual(document);
});

test('each operation is described once, with its role, and each reference leads to a schema that compiles (Q11)', () => {
  const described = Object.values(document.paths).flatMap((path) => Object.values(path));
  expect(described.map((one) => one.operationId).toSorted()).toEqual(
    [...routes.map(({ name }) => name), 'follow'].toSorted(),
  );
  const ajv = new Ajv2020({ strict: false }).addSchema(document, 'openapi');
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"(#[^"]+)"/g)].map(([, reference]) => reference);
  expect(Object.keys(document.components.schemas)).toContain('Event');
  for (const reference of new Set(references))
    expect(ajv.compile({ $ref: `openapi${reference ?? ''}` })).toBeTypeOf('function');
});

test('each kind of event has a name, and the document tells which by its type (Q11)', () => {
  const { Event, ...others } = document.components.schemas as Readonly<Record<string, Union>>;
  const { propertyName, mapping } = Event?.discriminator ?? { mapping: {} };
  expect(propertyName).toBe('type');
  const kinds = eventSchema.options.flatMap(({ shape: { type } }) =>
    'options' in type ? type.options : [...type.values],
  );
  expect(Object.keys(mapping)).toEqual(kinds);
  expect(mapping).toMatchObject({ tool_use: '#/components/schemas/ToolUseEvent' });
  expect(Event?.oneOf.map(({ $ref }) => $ref)).toEqual([...new Set(Object.values(mapping))]);
  for (const reference of Object.values(mapping)) expect(Object.keys(others)).toContain(reference.split('/').at(-1));
});

test('bodies are required where an empty one is refused; numbers of an address are integers, switches booleans (Q11)', () => {
  type Operation = { readonly requestBody?: { readonly required?: true }; readonly parameters: readonly Parameter[] };
  type Parameter = { readonly name: string; readonly schema: object; readonly description?: string };
  const described = document.paths as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  for (const { path, method, body } of routes) {
    const { required } = described[path]?.[method]?.requestBody ?? {};
    expect([path, required]).toEqual([path, body?.safeParse({}).success === false ? true : undefined]);
  }
  expect(described['/sessions']?.['get']?.parameters).toEqual([
    expect.objectContaining({ name: 'filter', schema: { type: 'string' } }),
    expect.objectContaining({ name: 'open', schema: { type: 'boolean' } }),
    expect.objectContaining({ name: 'size', schema: { type: 'integer', minimum: 0 } }),
    expect.objectContaining({ name: 'after', description: '`next` of the page before' }),
  ]);
  expect(described['/sessions/{session}/transcript']?.['get']?.parameters).toContainEqual(
    expect.objectContaining({ name: 'from', schema: { type: 'integer', minimum: 0 } }),
  );
});
