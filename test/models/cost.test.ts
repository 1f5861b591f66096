// The cost of replies by published prices. The table has been worked out by hand from the documents
// of 2026-11-26.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import { expect, test } from 'vitest';
import { contextTokensOf, spendOf } from '../../activities/model/bill.ts';
import { createModels } from '../../models/models.ts';
import { costOf, totalTokens } from '../../workflows/contract/loop.ts';

type Usage = Message['usage'];

type More = {
  readonly read?: number;
  readonly w5?: number;
  readonly w1?: number;
  readonly searches?: number;
  readonly iterations?: readonly Usage[];
} & Readonly<Record<string, unknown>>;

function used(input: number, output: number, { read = 0, w5 = 0, w1 = 0, searches, ...more }: More = {}): Usage {
  return {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: w5 + w1,
    cache_creation: { ephemeral_5m_input_tokens: w5, ephemeral_1h_input_tokens: w1 },
    ...(searches && { server_tool_use: { web_search_requests: searches, web_fetch_requests: 2 } }),
    ...more,
  } as unknown as Usage;
}

const models = createModels();
const priceOf = (name: string) => models.facts(name).price;
const spent = (name: string, usage: Usage | undefined) => spendOf(usage, { price: priceOf(name), priceOf });

/** US dollars. */
const TABLE: readonly (readonly [what: string, model: string, usage: Usage, usd: number])[] = [
  ['a plain reply', 'claude-sonnet-5-5', used(1_000, 500), 0.007],
  ['a warm prefix', 'claude-sonnet-5-5', used(120, 800, { read: 60_000 }), 0.01424],
  ['a prefix kept for five minutes', 'claude-sonnet-5-5', used(50, 800, { w5: 60_000 }), 0.1581],
  ['a prefix kept for an hour', 'claude-sonnet-5-5', used(50, 800, { w1: 60_000 }), 0.2481],
  [
    'both kinds of cache at once',
    'claude-sonnet-5-5',
    used(200, 1_500, { w5: 2_000, w1: 10_000, read: 48_000 }),
    0.0652,
  ],
  ['nearly the whole window, at one price', 'claude-sonnet-5-5', used(0, 2_000, { w5: 4_000, read: 900_000 }), 0.12],
  ['a warm prefix of Opus', 'claude-opus-5-5', used(300, 4_000, { w5: 3_000, read: 250_000 }), 0.1462],
  ['the same, fast', 'claude-opus-5-5', used(300, 4_000, { w5: 3_000, read: 250_000, speed: 'fast' }), 0.2924],
  ['inference in one country', 'claude-opus-5-5', used(10_000, 1_000, { inference_geo: 'us' }), 0.066],
  ['in one country and fast', 'claude-opus-5-5', used(10_000, 1_000, { inference_geo: 'us', speed: 'fast' }), 0.132],
  [
    'a batch with a warm prefix',
    'claude-opus-5-5',
    used(10_000, 5_000, { read: 100_000, service_tier: 'batch' }),
    0.08,
  ],
  [
    'a batch in one country',
    'claude-opus-5-5',
    used(10_000, 5_000, { service_tier: 'batch', inference_geo: 'us' }),
    0.077,
  ],
  ['a warm prefix of Fable 5.2', 'claude-fable-5-2', used(100, 3_000, { read: 700_000 }), 0.2608],
  ['the same prefix, cold', 'claude-fable-5-2', used(100, 3_000, { w5: 700_000 }), 7.1208],
  ['Fable 5.2, fast', 'claude-fable-5-2', used(1_000, 2_000, { read: 50_000, speed: 'fast' }), 0.196],
  ['a warm prefix of Fable 5.1', 'claude-fable-5-1', used(100, 3_000, { read: 700_000 }), 0.326],
  ['Fable 5, whose cache costs a tenth', 'claude-fable-5', used(100, 3_000, { read: 700_000 }), 0.851],
  ['Haiku below its limit', 'claude-haiku-5-5', used(1_000, 400, { read: 90_000 }), 0.0012],
  ['Haiku at its limit, which is still below', 'claude-haiku-5-5', used(1_000, 400, { read: 99_000 }), 0.00129],
  [
    'Haiku one token above it, which is dearer for all',
    'claude-haiku-5-5',
    used(1_001, 400, { read: 99_000 }),
    0.0064505,
  ],
  ['Haiku above its limit, kept for an hour', 'claude-haiku-5-5', used(0, 1_000, { w1: 150_000 }), 0.1525],
  ['Haiku above its limit in a batch', 'claude-haiku-5-5', used(200_000, 2_000, { service_tier: 'batch' }), 0.0525],
  ['the Haiku before', 'claude-haiku-4-5', used(2_500, 600, { read: 7_500 }), 0.00625],
  ['Opus 5', 'claude-opus-5', used(300, 4_000, { read: 250_000 }), 0.2265],
  ['Sonnet 4.6', 'claude-sonnet-4-6', used(1_500, 1_200, { w5: 2_000, read: 180_000 }), 0.084],
  ['three searches of the web', 'claude-sonnet-5', used(8_000, 900, { searches: 3 }), 0.055],
  [
    'a summary on demand, of which the sums know nothing',
    'claude-opus-5-5',
    used(0, 0, { iterations: [used(200, 6_000, { read: 698_000, type: 'compaction' })] }),
    0.2604,
  ],
  [
    'a summary within a reply',
    'claude-opus-5-5',
    used(23_000, 1_000, {
      iterations: [used(180_000, 3_500, { type: 'compaction' }), used(23_000, 1_000, { type: 'message' })],
    }),
    0.902,
  ],
  [
    'a reply that another model took over',
    'claude-fable-5-2',
    used(900, 1_200, {
      read: 40_000,
      iterations: [
        used(900, 300, { read: 40_000, type: 'message', model: 'claude-fable-5-2' }),
        used(900, 1_200, { read: 40_000, type: 'fallback_message', model: 'claude-opus-5' }),
      ],
    }),
    0.0817,
  ],
  [
    'advice by another model',
    'claude-sonnet-5-5',
    used(5_000, 700, {
      iterations: [
        used(2_000, 200, { type: 'message' }),
        used(12_000, 900, { type: 'advisor_message', model: 'claude-opus-5-5' }),
        used(3_000, 500, { type: 'message' }),
      ],
    }),
    0.083,
  ],
];

test.each(TABLE)('%s costs what the documents say (X1)', (_, model, usage, usd) => {
  expect(spent(model, usage).usd).toBeCloseTo(usd, 10);
});

test('tokens of summaries and of other models count as those of the reply (L51)', () => {
  const summary = used(23_000, 1_000, {
    iterations: [used(180_000, 3_500, { type: 'compaction' }), used(23_000, 1_000, { type: 'message' })],
  });
  expect(totalTokens(spent('claude-opus-5-5', summary).usage)).toBe(207_500);
});

test('what is in context is what the last entry of the model itself had, and no summary (L10)', () => {
  const summary = used(5, 1_005, {
    iterations: [
      used(10, 5, { type: 'message', read: 20 }),
      used(180_000, 3_500, { type: 'compaction' }),
      used(23_000, 1_000, { type: 'message', read: 500 }),
      used(90_000, 400, { type: 'advisor_message', model: 'claude-opus-5-5' }),
    ],
  });
  expect(contextTokensOf(summary)).toBe(24_500);
  expect(contextTokensOf(used(10, 5, { read: 100, w5: 7 }))).toBe(122);
});

test('a cost is not known where a model that took over has no price (L51)', () => {
  const taken = used(0, 0, { iterations: [used(1, 1, { type: 'fallback_message', model: 'someone-else-1' })] });
  expect(spent('claude-opus-5-5', taken).usd).toBeNull();
  expect(spent('someone-else-1', used(1, 1)).usd).toBeNull();
});

test('counts that are missing or absurd count as nothing (L51)', () => {
  const odd = { input_tokens: -1, output_tokens: 'x', cache_read_input_tokens: 2e9, iterations: [null, 3] };
  expect(spent('claude-opus-5-5', odd as unknown as Usage)).toMatchObject({ usd: 0, usage: { input: 0, output: 0 } });
  expect(spent('claude-opus-5-5', undefined).usd).toBe(0);
});

test('a price as an earlier release stored it gives the cost to the last bit that it gave then (L57)', () => {
  const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
  const usage = { input: 1_234_567, output: 7_654_321, cacheRead: 333_333, cacheWrite: 98_765 };
  const then = (1_234_567 * 3 + 7_654_321 * 15 + 333_333 * 0.3 + 98_765 * 3.75) / 1_000_000;
  expect(costOf(usage, price)).toBe(then);
});
