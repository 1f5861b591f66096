// Models as the SDK lists them, from the catalogue.
import { expect, test } from 'vitest';
import { catalogue } from '../../models/catalogue.ts';
import { collect, errorOf, stagedManaged } from './staged.ts';

const at = (day: string) => stagedManaged({ now: () => Date.parse(`${day}T12:00:00Z`) }).client.beta.models;

test('the models of the catalogue are listed once each over all pages, retired ones where they are asked for', async () => {
  const models = at('2026-11-30');
  const all = await collect(models.list({ limit: 3, lifecycle: ['active', 'deprecated', 'retired'] }));
  expect(all).toHaveLength(Object.keys(catalogue.models).length);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const current = await collect(models.list());
  expect(current.map(({ lifecycle }) => lifecycle)).not.toContain('retired');
  expect(all.filter(({ lifecycle }) => lifecycle !== 'retired')).toEqual(current);
  const [first, second, third] = current.map(({ id }) => id);
  const before = await models.list({ before_id: third!, limit: 1 });
  expect([before.data.map(({ id }) => id), before.has_more]).toEqual([[second], true]);
  expect((await models.list({ before_id: second! })).data.map(({ id }) => id)).toEqual([first]);
  for (const query of [{ after_id: 'x' }, { after_id: first!, before_id: second! }])
    expect((await errorOf(models.list(query).then())).status).toBe(400);
});

test('a model is found by its aliases and has what the catalogue says of it', async () => {
  const models = at('2026-12-01');
  expect(await models.retrieve('claude-opus-5-5')).toEqual({
    id: 'claude-opus-5-5',
    type: 'model',
    allowed_fallback_models: null,
    capabilities: null,
    created_at: '1970-01-01T00:00:00.000Z',
    deprecated_at: null,
    display_name: 'Claude Opus 5.5',
    lifecycle: 'active',
    line: 'opus',
    max_input_tokens: 1_000_000,
    max_tokens: 128_000,
    retires_at: null,
  });
  expect((await models.retrieve('claude-opus-4-5')).id).toBe('claude-opus-4-5-20251101');
  expect((await models.retrieve('opus')).id).toBe(catalogue.aliases['opus']);
  const sonnet = (day: string) => at(day).retrieve('claude-sonnet-4-5');
  expect(await sonnet('2026-11-30')).toMatchObject({ lifecycle: 'deprecated', retires_at: '2026-11-30T00:00:00Z' });
  expect((await sonnet('2026-12-01')).lifecycle).toBe('retired');
  for (const name of ['gpt-9', 'constructor', 'claude-opus-99'])
    expect((await errorOf(models.retrieve(name))).status).toBe(404);
});
