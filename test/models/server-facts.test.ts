// A model's server tells of it by the Models API, and its answer is kept (X1).
import { expect, test } from 'vitest';
import { createModels, createServerFacts, parseServerModel } from '../../models/models.ts';

const yes = { supported: true };
const no = { supported: false };
const answer = {
  type: 'model',
  id: 'claude-opus-6',
  max_input_tokens: 2_000_000,
  max_tokens: 256_000,
  lifecycle: 'active',
  retires_at: '2028-01-31T00:00:00Z',
  capabilities: {
    effort: { supported: true, low: yes, medium: yes, high: yes, xhigh: null, max: no },
    thinking: { supported: true, types: { adaptive: yes, enabled: no, disabled: no, between_tools: yes } },
  },
};

test('an answer names sizes, kinds of thinking, levels of effort and the model’s end (X1)', () => {
  expect(parseServerModel(answer)).toEqual({
    window: 2_000_000,
    maxOutput: 256_000,
    retires: '2028-01-31',
    kinds: ['adaptive', 'between_tools'],
    levels: ['low', 'medium', 'high'],
    lifecycle: 'active',
  });
});

test.each([
  ['a page', '<html>'],
  ['a list', [answer]],
  ['nothing', null],
  ['a list of models as others have it', { object: 'list', data: [] }],
  ['a model as others have it', { id: 'x', object: 'model', max_model_len: 32_768 }],
])('%s is no answer (X1)', (_, foreign) => {
  expect(parseServerModel(foreign)).toBeNull();
});

test('sizes that can be none are passed over (X1)', () => {
  const odd = { ...answer, max_input_tokens: -5, max_tokens: '64k', capabilities: null, retires_at: 'soon' };
  expect(parseServerModel(odd)).toEqual({ lifecycle: 'active' });
});

test('what the server says goes before the catalogue, and the configuration before both (X1)', async () => {
  const ask = () => Promise.resolve({ ...answer, max_input_tokens: 400_000, max_tokens: 50_000 });
  const configured = { 'claude-opus-5-5': { maxOutput: 20_000 } };
  const models = createModels({ ask, configured });
  expect(models.facts('claude-sonnet-5-5')).toMatchObject({ window: 1_000_000, maxOutput: 128_000 });
  await models.lookUp(['claude-sonnet-5-5', 'claude-opus-5-5', 'claude-opus-6']);
  expect(models.facts('claude-sonnet-5-5')).toMatchObject({ window: 400_000, maxOutput: 50_000, price: { input: 2 } });
  expect(models.facts('claude-opus-5-5')).toMatchObject({
    window: 400_000,
    maxOutput: 20_000,
    effort: { byDefault: 'medium' },
  });
  const next = models.facts('claude-opus-6');
  expect(next).toMatchObject({
    window: 400_000,
    price: null,
    thinking: { byDefault: true },
    effort: { byDefault: 'high' },
  });
  expect(next).not.toHaveProperty('assumed');
});

test('of a model that nobody knows a window is assumed until its server names it, and its price is not known (X1)', () => {
  const models = createModels();
  expect(models.facts('qwen3-coder:30b')).toEqual({ window: 200_000, maxOutput: 64_000, price: null, assumed: true });
  models.learn('qwen3-coder:30b', 32_768);
  expect(models.facts('qwen3-coder:30b')).toEqual({ window: 32_768, maxOutput: 64_000, price: null });
});

test('a configuration says of a model what it knows, by the longest prefix that fits (X1)', () => {
  const price = { input: 1, output: 2, cacheRead: 0, cacheWrite: 1 };
  const models = createModels({ configured: { qwen3: { window: 32_000 }, 'qwen3-coder': { price } } });
  expect(models.facts('qwen3-coder:30b')).toMatchObject({ window: 200_000, price, assumed: true });
  expect(models.facts('qwen3:8b')).toMatchObject({ window: 32_000, price: null });
});

test('a server is asked once a day of each model, and again sooner where it said nothing (X1)', async () => {
  let now = 0;
  const asked: string[] = [];
  const facts = createServerFacts(
    (name) => {
      asked.push(name);
      return name === 'mute' ? Promise.reject(new Error('404')) : Promise.resolve(answer);
    },
    () => now,
  );
  await facts.lookUp(['known', 'mute']);
  await facts.lookUp(['known', 'mute']);
  expect(asked).toEqual(['known', 'mute']);
  now = 3_600_000;
  await facts.lookUp(['known', 'mute']);
  expect(asked).toEqual(['known', 'mute', 'mute']);
  now = 25 * 3_600_000;
  await facts.lookUp(['known']);
  expect(asked).toEqual(['known', 'mute', 'mute', 'known']);
  expect([facts.known('known')?.window, facts.known('mute')]).toEqual([2_000_000, undefined]);
});

test('a run does not wait for a server that takes its time, and the next one knows what it said (X1)', async () => {
  let say = (_answer: unknown): void => {};
  const facts = createServerFacts(() => new Promise((resolve) => (say = resolve)));
  const began = performance.now();
  await facts.lookUp(['slow']);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(facts.known('slow')).toBeUndefined();
  say(answer);
  await facts.lookUp(['slow']);
  expect(facts.known('slow')?.window).toBe(2_000_000);
});

test('a model that was lost is known to be, for a while, and said once (X1)', () => {
  const models = createModels();
  expect([models.isLost('gone'), models.lose('gone'), models.lose('gone'), models.isLost('gone')]).toEqual([
    false,
    true,
    false,
    true,
  ]);
});

test('whether a model searches the web is its server’s to say, else the catalogue’s (X1 L88)', async () => {
  const capabilities = { server_tools: { ...yes, code_execution: yes, web_search: no } };
  expect(parseServerModel({ ...answer, capabilities })).toMatchObject({ webSearch: false });
  const models = createModels({ ask: () => Promise.resolve({ ...answer, capabilities }) });
  expect(models.facts('claude-sonnet-5-5').webSearch).toBe(true);
  await models.lookUp(['claude-sonnet-5-5']);
  expect(models.facts('claude-sonnet-5-5').webSearch).toBe(false);
  expect(models.facts('qwen3-coder').webSearch).toBeUndefined();
});
