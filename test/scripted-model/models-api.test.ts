import { expect, test } from 'vitest';
import { hello, headers, model, sdk } from './support.ts';

test('a model is described by its window, output, kinds of thinking and levels (Models API, 2026-11)', async () => {
  const found = await sdk(await model([])).models.retrieve('claude-opus-4-6');
  expect(found).toMatchObject({
    type: 'model',
    max_input_tokens: 1_000_000,
    max_tokens: 128_000,
    lifecycle: 'active',
    line: 'opus',
  });
  expect(found.capabilities?.thinking.types).toEqual({
    adaptive: { supported: true },
    between_tools: { supported: false },
    disabled: { supported: true },
    enabled: { supported: true },
  });
  expect(found.capabilities?.effort).toMatchObject({ xhigh: { supported: false }, max: { supported: true } });
  expect(found.capabilities).not.toHaveProperty('compaction');
});

test('an alias is answered with its dated id, and the end of a deprecated model is said (Models API, 2026-11)', async () => {
  const client = sdk(await model([]));
  expect((await client.models.retrieve('claude-haiku-4-5')).id).toBe('claude-haiku-4-5-20251001');
  expect(await client.models.retrieve('claude-sonnet-4-5')).toMatchObject({
    lifecycle: 'deprecated',
    retires_at: '2026-11-30T00:00:00Z',
  });
});

test('with betas it says whether there are summaries on demand, and fallbacks (Models API, 2026-11)', async () => {
  const server = await model([]);
  const found = await sdk(server).beta.models.retrieve('claude-fable-5-2', { betas: ['compact-2026-09-04'] });
  expect(found.capabilities?.compaction).toEqual({ supported: true, summarize: { supported: true } });
  expect(found.allowed_fallback_models).toEqual(['claude-opus-5']);
  const old = await sdk(server).beta.models.retrieve('claude-haiku-4-5', { betas: ['compact-2026-09-04'] });
  expect(old.capabilities?.compaction?.supported).toBe(false);
});

test('models are listed newest first, page by page (Models API, 2026-11)', async () => {
  const server = await model([]);
  const ids: string[] = [];
  for await (const { id } of sdk(server).models.list({ limit: 5 })) ids.push(id);
  expect(ids.slice(0, 3)).toEqual(['claude-fable-5-2', 'claude-mythos-5-2', 'claude-haiku-5-5']);
  expect(ids).toContain('claude-sonnet-4-5-20250929');
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(15);
  const { 'x-api-key': _key, ...keyless } = headers;
  expect((await fetch(`${server.url}/v1/models`, { headers: keyless })).status).toBe(401);
});

test('a model that the documents do not name has the limits of the server, and nothing is known of it', async () => {
  const server = await model({ replies: [], window: 50_000 });
  expect(await sdk(server).models.retrieve(hello.model)).toMatchObject({
    max_input_tokens: 50_000,
    capabilities: null,
  });
  expect(await sdk(server).models.retrieve('claude-opus-5-5')).toMatchObject({
    max_input_tokens: 50_000,
    max_tokens: 128_000,
  });
});
