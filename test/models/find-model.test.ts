// From what a person wrote to the name that is sent, and what is refused on the way (X2).
import { describe, expect, test } from 'vitest';
import { parseBaseName, catalogue, findCatalogueFacts } from '../../models/catalogue.ts';
import { findModel, modelProblem } from '../../models/find-model.ts';

const sent = (name: string, finding = {}): string => {
  const found = findModel(name, finding);
  return 'name' in found ? found.name : `refused: ${found.problem}`;
};

test.each([
  ['sonnet', 'claude-sonnet-5-5'],
  ['opus', 'claude-opus-5-5'],
  ['Haiku', 'claude-haiku-5-5'],
  ['fable', 'claude-fable-5-2'],
  ['sonnet[1m]', 'claude-sonnet-5-5'],
  ['claude-opus-5-5[1m]', 'claude-opus-5-5'],
  ['default', 'claude-sonnet-5-5'],
  ['inherit', 'claude-sonnet-5-5'],
])('%s stands for %s, at every server (X2)', (given, name) => {
  expect([sent(given), sent(given, { official: true })]).toEqual([name, name]);
});

test('default and inherit are the worker’s own model, which may be a short name itself (X2)', () => {
  expect(sent('default', { model: 'opus' })).toBe('claude-opus-5-5');
  expect(sent('inherit', { model: 'qwen3-coder:30b' })).toBe('qwen3-coder:30b');
  expect(sent('default', { model: 'default' })).toBe('claude-sonnet-5-5');
});

test.each([
  ['anthropic/claude-opus-5.5', 'claude-opus-5-5'],
  ['openrouter/anthropic/claude-sonnet-4.6:thinking', 'claude-sonnet-4-6'],
  ['~anthropic/claude-opus-latest', 'claude-opus-5-5'],
  ['us.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5'],
  ['global.anthropic.claude-fable-5-2', 'claude-fable-5-2'],
  ['arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-sonnet-5-5', 'claude-sonnet-5-5'],
  ['anthropic.claude-opus-4-6-v1', 'claude-opus-4-6'],
  ['claude-haiku-4-5@20251001', 'claude-haiku-4-5'],
  ['vertex_ai/claude-opus-5-5@default', 'claude-opus-5-5'],
  ['databricks/databricks-claude-sonnet-5', 'claude-sonnet-5'],
  ['claude-opus-4-1-20250805', 'claude-opus-4-1'],
  ['claude-opus-4-20250514', 'claude-opus-4-0'],
  ['claude-4-opus', 'claude-opus-4-0'],
  ['claude-3-7-sonnet-20250219', 'claude-sonnet-3-7'],
  ['claude-4.5-haiku', 'claude-haiku-4-5'],
])('%s is %s to the catalogue (X1 X2)', (name, base) => {
  expect(parseBaseName(name).base).toBe(base);
  expect(findCatalogueFacts(name)).toBeDefined();
  expect(sent(name)).toBe(name);
});

test('the maker’s own API is sent its own names (X2)', () => {
  expect(sent('anthropic/claude-opus-5.5', { official: true })).toBe('claude-opus-5-5');
  expect(sent('us.anthropic.claude-haiku-4-5-20251001-v1:0', { official: true })).toBe('claude-haiku-4-5-20251001');
  expect(sent('claude-haiku-4-5', { official: true })).toBe('claude-haiku-4-5');
});

test('endpoints of one region, batches and fast models have their own prices, where the name says so (X1)', () => {
  const input = (name: string) => findCatalogueFacts(name)?.price?.input;
  expect(input('us.anthropic.claude-opus-5-5')).toBeCloseTo(4.4);
  expect(input('global.anthropic.claude-opus-5-5')).toBe(4);
  expect(input('us-gov.anthropic.claude-haiku-4-5-20251001-v1:0')).toBeCloseTo(1.2);
  expect(input('anthropic/claude-opus-5.5-fast')).toBe(8);
  expect(input('anthropic/claude-opus-5.5:batch')).toBe(2);
  const { price } = findCatalogueFacts('eu.anthropic.claude-haiku-5-5') ?? {};
  expect(price?.above).toMatchObject({ tokens: 100_000, input: expect.closeTo(0.55) as number });
});

describe('a name that is no model', () => {
  test.each([
    ['sonet', 'did you mean sonnet?'],
    ['opuss', 'did you mean opus?'],
    ['claude-sonet-5-5', 'did you mean claude-sonnet-5-5'],
    ['claude-haiku-5', 'did you mean claude-haiku-5-5 or claude-haiku-4-5?'],
    ['claude-opus-4-9', 'did you mean claude-opus-5-5'],
    ['claude-sonnet-5.4', 'did you mean claude-sonnet-5-5'],
  ])('%s is refused with the nearest, at every server (X2)', (given, hint) => {
    expect(sent(given)).toContain(`refused: "${given}" is no model: ${hint}`);
    expect(sent(given, { official: true })).toContain(hint);
  });

  test.each(['gpt', 'claude', 'claude-sonnet', 'opusplan'])('%s is refused by the maker’s API alone (X2)', (given) => {
    expect(sent(given)).toBe(given);
    expect(sent(given, { official: true })).toMatch(/^refused: .* is no model: /);
  });

  test.each([
    'claude-opus-6',
    'claude-sonnet-5-6',
    'claude-saga-1',
    'mistral',
    'qwen3-coder:30b',
    'openai/gpt-5.2',
    'my-deployment',
  ])('%s may be one: it goes through as it is (X1 X2)', (given) => {
    expect(sent(given)).toBe(given);
  });

  test('a configuration makes a model of any name (X1)', () => {
    const configured = { sonet: { price: null }, 'claude-haiku-5': {} };
    expect([sent('sonet', { configured }), sent('claude-haiku-5', { configured })]).toEqual([
      'sonet',
      'claude-haiku-5',
    ]);
  });

  test('a client says before it asks a worker only what no worker can have meant (X2)', () => {
    expect(modelProblem({ model: 'sonet' })).toBe('"sonet" is no model: did you mean sonnet?');
    expect(modelProblem({ fallbackModels: ['opus', 'claude-opsu-5-5'] })).toMatch(/^"claude-opsu-5-5" is no model/);
    expect(modelProblem({ model: 'claude-haiku-5', fallbackModels: ['mistral', 'best', 'inherit'] })).toBeUndefined();
    expect(modelProblem({})).toBeUndefined();
  });
});

test('the catalogue says of each kind of fact which page it is from, and its own names lead to models (X1)', () => {
  const kinds = new Set(Object.values(catalogue.models).flatMap((model) => Object.keys(model)));
  kinds.delete('assumed');
  for (const kind of kinds) expect(catalogue.pages[catalogue.from[kind] ?? ''], kind).toMatch(/^https:\/\//);
  for (const name of [catalogue.default, catalogue.small, ...Object.values(catalogue.aliases)])
    expect(catalogue.models).toHaveProperty([name]);
  for (const name of Object.values(catalogue.models).flatMap(({ reads = [] }) => reads))
    expect(catalogue.models).toHaveProperty([name]);
});
