// The OpenAPI document: the file is what the schemas say, and what it describes is what is served.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { openapiDocument } from '../../../../client/page/api/openapi.ts';
import { operations } from '../../../../client/page/api/operations.ts';
import { PAGE_HOST, stagedPage } from '../../../support/page-ports.ts';

type Described = Readonly<Record<string, { readonly operationId: string; readonly 'x-role': string }>>;
const document = openapiDocument() as {
  readonly paths: Readonly<Record<string, Described>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
};

test('docs/openapi.v1.json is what the schemas say: `npx vitest run --project fast test/client/page/api -u` (Q11)', async () => {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  await expect(text).toMatchFileSnapshot('../../../../docs/openapi.v1.json');
  const { ask } = await stagedPage();
  const served = await ask('/api/v1/openapi.json', { headers: { authorization: 'Bearer secret', host: PAGE_HOST } });
  expect(await served.json()).toEqual(document);
});

test('each operation is described once, with its role, and each reference leads to a schema that compiles (Q11)', () => {
  const described = Object.values(document.paths).flatMap((path) => Object.values(path));
  expect(described.map((one) => one.operationId).toSorted()).toEqual(
    [...operations.map(({ name }) => name), 'follow'].toSorted(),
  );
  const ajv = new Ajv2020({ strict: false }).addSchema(document, 'openapi');
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"(#[^"]+)"/g)].map(([, reference]) => reference);
  expect(new Set(references)).toContain('#/components/schemas/Event');
  for (const reference of new Set(references))
    expect(ajv.compile({ $ref: `openapi${reference ?? ''}` })).toBeTypeOf('function');
});
