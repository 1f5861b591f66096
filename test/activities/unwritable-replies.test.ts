// Replies that cannot be taken or written: what the next would meet as well is paid for once, and
// each attempt counts with what it was billed.
import { ApplicationFailure } from '@temporalio/common';
import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import { expect, test } from 'vitest';
import { callModel } from '../../activities/call-model.ts';
import type { ModelPort } from '../../activities/model-deps.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';

const RETRIES = 10;
const DEEP: unknown = JSON.parse('['.repeat(20_000) + ']'.repeat(20_000));

const start = (more: object = {}) => ({
  type: 'message_start',
  message: { id: 'm', role: 'assistant', model: 'x', usage: { input_tokens: 100, output_tokens: 1 }, ...more },
});
const block = (content_block: object, delta?: object) => [
  { type: 'content_block_start', index: 0, content_block },
  ...(delta ? [{ type: 'content_block_delta', index: 0, delta }] : []),
  { type: 'content_block_stop', index: 0 },
];
const said = { type: 'text', text: 'x' };
const end = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' } }, { type: 'message_stop' }];
const manyBlocks = Array.from({ length: 5_001 }, (_, index) => [
  { type: 'content_block_start', index, content_block: said },
  { type: 'content_block_stop', index },
]).flat();
const largeCall = [
  { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'look', input: {} } },
  ...Array.from({ length: 8 }, () => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: 'x'.repeat(1024 * 1024) },
  })),
  { type: 'content_block_stop', index: 0 },
];
/** What no JSON can hold stands for a defect that nobody knows of yet. */
const unwritable = [start(), ...block({ type: 'novelty', value: 1n }), ...end];
const untakable = {
  type: 'content_block_start',
  get index(): number {
    throw new TypeError('unforeseen');
  },
};

/**
 * Attempts as Temporal makes them, until one comes to a value; `served` is given each one's number
 * of the request.
 */
async function attempts(events: readonly object[], onEvent: () => void = () => undefined, first = fakeAttempt()) {
  const bench = await benchDeps({ script: [] });
  let requests = 0;
  const model: ModelPort = () => {
    requests += 1;
    async function* stream(): AsyncGenerator<RawMessageStreamEvent> {
      for (const event of events) {
        yield await Promise.resolve(event as RawMessageStreamEvent);
        onEvent();
      }
    }
    return Promise.resolve(stream());
  };
  const call = callModel({ ...bench.deps, model });
  for (let attempt = first; attempt.number <= 2 * RETRIES; attempt = fakeAttempt(attempt.number + 1, attempt.left)) {
    try {
      return { result: await call(attempt, bench.input()), requests, warnings: bench.warnings };
    } catch (error) {
      if (!(error instanceof ApplicationFailure)) throw error;
    }
  }
  throw new Error(`${requests} requests and no end`);
}

test.each<[string, readonly object[], string]>([
  [
    'a block of a kind that nobody knows, too deep',
    [start(), ...block({ type: 'novelty', value: DEEP }), ...end],
    'deep',
  ],
  [
    'a call whose input comes at its start, too deep',
    [start(), ...block({ type: 'tool_use', id: 'a', name: 'look', input: { value: DEEP } }), ...end],
    'deep',
  ],
  ['a field that nobody knows, too deep', [start({ novelty: DEEP }), ...block(said), ...end], 'deep'],
  ['citations that are a text', [start(), ...block({ ...said, citations: 'abc' }), ...end], 'citations'],
  ['citations that are no list', [start(), ...block({ ...said, citations: {} }), ...end], 'citations'],
  ['a list of no citations', [start(), ...block({ ...said, citations: [5] }), ...end], 'citations'],
  ['no citation where one is said', [start(), ...block(said, { type: 'citations_delta' }), ...end], 'citation'],
  [
    'a citation of null',
    [start(), ...block(said, { type: 'citations_delta', citation: null }), ...end],
    'without a citation',
  ],
  [
    'a model that is no name',
    [start(), ...block(said), { type: 'message_delta', delta: { stop_reason: 'end_turn', model: 5 } }, ...end],
    'model',
  ],
  ['more blocks than we take', [start(), ...manyBlocks, ...end], 'more than 5000 blocks'],
  ['an input of a call that is larger than we take', [start(), ...largeCall, ...end], 'larger than 4194304 characters'],
])('a reply with %s is paid for once, and fails the call with the reason (L14 L51)', async (_name, events, why) => {
  const { result, requests, warnings } = await attempts(events);
  expect(requests).toBe(1);
  expect(result).toMatchObject({ kind: 'failed', detail: expect.stringContaining(why) });
  expect(result).toMatchObject({ spend: { usage: { input: 100 } } });
  expect(warnings).toEqual([]);
});

test.each([
  ['taken', [start(), untakable], 'TypeError: unforeseen'],
  ['written', unwritable, 'BigInt'],
])(
  'one that a defect keeps from being %s is asked for three times, and the log says where (L14 L51)',
  async (_what, events, why) => {
    const { result, requests, warnings } = await attempts(events);
    expect(requests).toBe(3);
    expect(result).toMatchObject({ kind: 'failed', spend: { usage: { input: 300 } } });
    expect('detail' in result && result.detail).toContain(why);
    expect('detail' in result && result.detail).toContain('a defect of Perdure');
    expect(warnings).toHaveLength(3);
    expect(warnings[0]).toMatch(/a defect of Perdure.* \(session s-test, .*iteration 1, attempt 1\)\n[^]*at /);
  },
);

test('an interrupted reply that cannot be written is not kept, and what it was billed counts (L16 L47 L51)', async () => {
  const attempt = fakeAttempt();
  let left = unwritable.length - 1;
  const stopBeforeTheEnd = (): void => {
    if ((left -= 1) === 0) attempt.abort('stop');
  };
  const { result, requests, warnings } = await attempts(unwritable, stopBeforeTheEnd, attempt);
  expect({ result, requests }).toMatchObject({
    result: { kind: 'nothing', spend: { usage: { input: 100 } } },
    requests: 1,
  });
  expect(warnings).toHaveLength(1);
});
