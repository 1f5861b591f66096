// A reply that does not arrive as it should: whatever its bytes, nothing partial is stored as
// whole, and the attempt can be made again. Through the official SDK, without a socket.
import Anthropic from '@anthropic-ai/sdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { callModel } from '../../activities/call-model.ts';
import { anthropicModel } from '../../activities/model/stream/stream.ts';
import type { Store } from '../../store/values/store.ts';
import { memoryStore } from '../support/memory-store.ts';
import { reply, startScriptedModel, text, thinking, toolUse } from '../../scripted-model/index.ts';
import type { ModelCallAnswer } from '../../workflows/contract/activities.ts';
import { MODEL_ATTEMPT_DIED } from '../../workflows/contract/failures.ts';
import { benchDeps, fakeAttempt } from '../support/bench-deps.ts';
import { thrown } from '../support/thrown.ts';

const ENDINGS = ['reset', 'end', 'error'] as const;
type Ending = (typeof ENDINGS)[number];

const OVERLOADED =
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n';

/**
 * A bench whose model answers with the bytes that `serve` was last given, and which counts what is
 * stored.
 */
async function byteBench() {
  const inner = memoryStore();
  let stored = 0;
  const store: Store = { ...inner, writeStep: (step) => ((stored += 1), inner.writeStep(step)) };
  const bench = await benchDeps({ script: [], store });
  let body: () => ReadableStream<Uint8Array> = () => new ReadableStream();
  const answer = (): Response => new Response(body(), { headers: { 'content-type': 'text/event-stream' } });
  const client = new Anthropic({
    apiKey: 'test',
    baseURL: 'http://model.invalid',
    logLevel: 'off',
    fetch: () => Promise.resolve(answer()),
  });
  const call = callModel({ ...bench.deps, model: anthropicModel(client) });
  return {
    ...bench,
    stored: () => stored,
    served(bytes: Uint8Array, ending: Ending, step: number): Promise<ModelCallAnswer> {
      body = () => streamed(bytes, ending);
      return call(fakeAttempt(), bench.input({ step }));
    },
  };
}

function streamed(bytes: Uint8Array, ending: Ending): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
      if (ending === 'error') controller.enqueue(Buffer.from(`\n\n${OVERLOADED}`));
      if (ending !== 'reset') controller.close();
    },
    pull(controller) {
      if (ending === 'reset') controller.error(new TypeError('terminated'));
    },
  });
}

/** The bytes of a reply as the API streams it. */
async function bytesOf(content: Parameters<typeof reply>[0]): Promise<Buffer> {
  const server = await startScriptedModel({ script: [reply(content, { deltaChars: 300 })] });
  const headers = { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2026-10-21' };
  const body = { model: 'claude-haiku-4-5', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'go' }] };
  const answer = await fetch(`${server.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) });
  const bytes = Buffer.from(await answer.arrayBuffer());
  await server.close();
  return bytes;
}

describe('a reply of 4 KB', () => {
  let whole: Uint8Array = new Uint8Array();
  beforeAll(async () => {
    const words = 'Ünïcödé 🙂 '.repeat(28);
    whole = await bytesOf([thinking(words), text(words), toolUse('look', { n: words }), toolUse('look', { n: 2 })]);
    expect(whole.length).toBeGreaterThan(4_000);
  });

  test.each(ENDINGS)('that is whole is stored, also when a %s follows its last byte (L16)', async (ending) => {
    const bench = await byteBench();
    expect(await bench.served(whole, ending, 5)).toMatchObject({ kind: 'message' });
  });

  test('cut at any byte, by a reset, an end or an error, dies and stores nothing, but for its last events (L14 L16)', async () => {
    const bench = await byteBench();
    // The end of what says why it stops: an error after it still ends the attempt.
    const stop = Buffer.from(whole).indexOf('\n\n', Buffer.from(whole).lastIndexOf('event: message_delta')) + 1;
    const last = Buffer.from(whole).lastIndexOf('event: message_stop');
    let wholes = 0;
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const ending = ENDINGS[cut % ENDINGS.length] ?? 'end';
      const outcome = await bench.served(whole.subarray(0, cut), ending, 10 + cut).catch((error: unknown) => error);
      const mayBeWhole = cut > (ending === 'error' ? last : stop);
      if (mayBeWhole && (outcome as ModelCallAnswer).kind === 'message') wholes += 1;
      else expect([cut, outcome]).toMatchObject([cut, { type: MODEL_ATTEMPT_DIED }]);
    }
    expect(wholes).toBeGreaterThan(0);
    expect(bench.stored()).toBe(wholes);
    // Some 4,500 calls: seconds on a quiet machine.
  });

  test.each(['reset', 'end'] as const)(
    'that said why it stops is whole without its message_stop, when a %s comes instead (X4 L16)',
    async (ending) => {
      const bench = await byteBench();
      const last = Buffer.from(whole).lastIndexOf('event: message_stop');
      expect(await bench.served(whole.subarray(0, last), ending, 5)).toMatchObject({ kind: 'message' });
      expect(bench.stored()).toBe(1);
    },
  );
});

describe('a stream that is not one', () => {
  const event = (type: string, data: unknown): string => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [], usage: { input_tokens: 1 } };
  const start = event('message_start', { type: 'message_start', message });
  const block = (content_block: unknown) =>
    event('content_block_start', { type: 'content_block_start', index: 0, content_block });
  const delta = (change: unknown) =>
    event('content_block_delta', { type: 'content_block_delta', index: 0, delta: change });
  const textBlock = block({ type: 'text', text: '' });
  const stop = event('message_delta', { type: 'message_delta', delta: { stop_reason: 'end_turn' } });
  const end = event('message_stop', { type: 'message_stop' });
  const closed = event('content_block_stop', { type: 'content_block_stop', index: 0 });
  const counted = event('message_delta', { type: 'message_delta', delta: { stop_reason: null }, usage: {} });
  const started = event('message_start', { type: 'message_start', message: { ...message, stop_reason: 'end_turn' } });

  test.each<[string, string]>([
    ['nothing', ''],
    ['HTML', '<html><body>502 Bad Gateway</body></html>'],
    ['bytes that are no text', '\u0000\ufffd\u0007\n\n\n\ndata'],
    ['JSON that is no stream', JSON.stringify(message)],
    ['two starts', start + start + stop + end],
    ['a block before the start', textBlock + end],
    ['a delta of a block that is not there', start + delta({ type: 'text_delta', text: 'a' }) + stop + end],
    ['an end within a block', start + textBlock + delta({ type: 'text_delta', text: 'Half a' }) + stop + end],
    ['an end within a call', start + block({ type: 'tool_use', id: 'a', name: 'look', input: {} }) + stop + end],
    ['nothing after counts without a reason to stop', start + textBlock + closed + counted],
    ['a start that says why it stopped', started + textBlock + closed],
    ['a stop within a call, and no more', start + block({ type: 'tool_use', id: 'a', name: 'look', input: {} }) + stop],
    ['an error that is no JSON', `${start}event: error\ndata: <html>\n\n`],
  ])('of %s died, and stores nothing (L14)', async (_name, bytes) => {
    const bench = await byteBench();
    expect(await thrown(bench.served(Buffer.from(bytes), 'end', 5))).toMatchObject({ type: MODEL_ATTEMPT_DIED });
    expect(bench.stored()).toBe(0);
  });

  test.each<[string, string]>([
    ['events that are null', event('message_start', null) + end],
    ['an event that is a number', start + event('content_block_start', 5)],
    ['a start without a message', event('message_start', { type: 'message_start' }) + end],
    ['a block without a type', start + block({}) + end],
    ['no block where one begins', start + block(undefined) + end],
    ['a call without a name', start + block({ type: 'tool_use', id: 'a', input: {} }) + end],
    ['a call whose id is a number', start + block({ type: 'tool_use', id: 5, name: 'look', input: {} }) + end],
    ['a delta without a delta', start + textBlock + delta(undefined) + stop + end],
    ['a text that is a number', start + textBlock + delta({ type: 'text_delta', text: 5 }) + stop + end],
    ['an event without a type', event('message_start', {}) + end],
    ['a type that is a number', start + event('content_block_stop', { type: 7, index: 0 }) + end],
    [
      'the end of a block that has no number',
      start + textBlock + event('content_block_stop', { type: 'content_block_stop', index: '__proto__' }) + end,
    ],
  ])('of %s would come so again: the call fails at once, and no reply is stored (L14)', async (_name, bytes) => {
    const bench = await byteBench();
    const result = await bench.served(Buffer.from(bytes), 'end', 5);
    expect(result).toMatchObject({ kind: 'failed', detail: expect.stringContaining('the reply has ') });
    expect(result).not.toHaveProperty('head');
  });

  test('events and deltas of kinds that nobody knows are passed over (L15 L58)', async () => {
    const bench = await byteBench();
    const odd = event('novelty', { type: 'novelty' }) + event('ping', { type: 'ping' });
    const said = textBlock + delta({ type: 'novel_delta', x: 1 }) + delta({ type: 'text_delta', text: 'Yes.' });
    const stopped = event('content_block_stop', { type: 'content_block_stop', index: 0 });
    const result = await bench.served(Buffer.from(odd + start + odd + said + stopped + stop + end), 'end', 5);
    expect(result).toMatchObject({ kind: 'message' });
    if (result.kind !== 'message') return;
    expect((await bench.entries(result.head)).at(-1)).toMatchObject({ message: { content: [{ text: 'Yes.' }] } });
  });

  test('a call that begins without an input has the one that its deltas say (L15 L16)', async () => {
    const bench = await byteBench();
    const began = block({ type: 'tool_use', id: 'a', name: 'look' });
    const input = delta({ type: 'input_json_delta', partial_json: '{"n":1}' });
    const stopped = event('content_block_stop', { type: 'content_block_stop', index: 0 });
    const result = await bench.served(Buffer.from(start + began + input + stopped + stop + end), 'end', 5);
    if (result.kind !== 'message') throw new Error(result.kind);
    const stored = (await bench.entries(result.head)).find(({ kind }) => kind === 'reply');
    expect(stored).toMatchObject({ message: { content: [{ id: 'a', input: { n: 1 } }] } });
  });
});
