// How long a stream may be silent: before its first byte, between bytes, between events. By a clock
// of the test's own.
import Anthropic from '@anthropic-ai/sdk';
import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createAccumulator } from '../../../activities/model/stream/accumulate.ts';
import { StalledStream } from '../../../activities/model/classify.ts';
import { anthropicModel, streamReply, type StreamLimits } from '../../../activities/model/stream/stream.ts';
import { waitLimitsOf } from '../../../store/configuration.ts';
import type { ModelPort, ModelRequest } from '../../../activities/model-deps.ts';

const MINUTE = 60_000;
const LIMITS: StreamLimits = { firstByteMs: 10 * MINUTE, stallMs: 5 * MINUTE };
const body: ModelRequest = { model: 'm', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'go' }] };
const nothing = (): void => {};
const handlers = { onStart: nothing, onText: nothing, onThinking: nothing, onBlock: nothing };

const message = { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [], usage: {} };
const events = {
  start: { type: 'message_start', message },
  block: { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi.' } },
  closed: { type: 'content_block_stop', index: 0 },
  stop: { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} },
} as const;

/** A model that says what it is told to, and a call of it. */
function call(limits: StreamLimits) {
  const queue: RawMessageStreamEvent[] = [];
  let wake = nothing;
  let given: { signal: AbortSignal; alive: () => void } | undefined;
  const model: ModelPort = (_body, signal, alive = nothing) => {
    given = { signal, alive };
    return Promise.resolve(
      (async function* () {
        for (;;) {
          const next = queue.shift();
          if (next) yield next;
          else if (signal.aborted) return;
          else {
            await new Promise<void>((resolve) => {
              wake = resolve;
              signal.addEventListener('abort', () => resolve(), { once: true });
            });
          }
        }
      })(),
    );
  };
  const into = createAccumulator();
  const outcome = streamReply({ model, body, ...limits, signal: new AbortController().signal }, into, handlers).then(
    () => 'whole' as const,
    (error: unknown) => error,
  );
  return {
    into,
    outcome,
    ping: () => given?.alive(),
    ended: () => given?.signal.aborted === true,
    say(...names: (keyof typeof events)[]) {
      queue.push(...names.map((name) => structuredClone(events[name]) as unknown as RawMessageStreamEvent));
      wake();
    },
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('a stream that is silent', () => {
  test('is waited for longer before its first byte than after it (X4)', async () => {
    const one = call(LIMITS);
    await pass(9.9 * MINUTE);
    expect(one.ended()).toBe(false);
    one.say('start');
    await pass(4.9 * MINUTE);
    expect(one.ended()).toBe(false);
    await pass(0.2 * MINUTE);
    expect(one.ended()).toBe(true);
    expect(await one.outcome).toBeInstanceOf(StalledStream);
  });

  test('is not what ends one that goes on and on: the time of the whole request is (L14)', async () => {
    const one = call({ ...LIMITS, requestMs: 8 * MINUTE });
    one.say('start');
    await pass(4 * MINUTE);
    one.ping();
    one.say('block');
    await pass(3.9 * MINUTE);
    one.ping();
    expect(one.ended()).toBe(false);
    await pass(0.2 * MINUTE);
    expect(String(await one.outcome)).toContain('not whole within 480 s (`requestMs` of the configuration)');
    const ended = call({ ...LIMITS, requestMs: 8 * MINUTE });
    ended.say('start', 'block', 'closed', 'stop');
    await pass(8.1 * MINUTE);
    expect(await ended.outcome).toBe('whole');
  });

  test('before its first byte is given up in words that name the setting (X4)', async () => {
    const one = call(LIMITS);
    await pass(10.1 * MINUTE);
    expect(String(await one.outcome)).toContain('sent nothing for 600 s (`firstByteMs` of the configuration)');
  });

  test('of events, but not of pings, is thinking: it goes on, and is not taken for a stall (X4)', async () => {
    const one = call(LIMITS);
    one.say('start');
    for (let n = 0; n < 50; n += 1) {
      await pass(MINUTE);
      one.ping();
    }
    expect(one.ended()).toBe(false);
    one.say('block', 'closed', 'stop');
    await pass(6 * MINUTE);
    expect(await one.outcome).toBe('whole');
  });

  test.each(['start', null] as const)(
    'after a sleep of the machine is given up at once, when nothing comes of it (after %s) (X4)',
    async (heard) => {
      const one = call(LIMITS);
      if (heard) one.say(heard);
      await pass(1_000);
      // The timers of a machine that sleeps stand still.
      vi.setSystemTime(Date.now() + 45 * MINUTE);
      await pass(20_000);
      expect(one.ended()).toBe(false);
      await pass(2_000);
      expect(String(await one.outcome)).toMatch(
        /this machine slept, or its clock was set, by 2700 s, and nothing came/,
      );
    },
  );

  test('after a sleep of the machine, of which bytes come, has its usual time again (X4)', async () => {
    const one = call(LIMITS);
    one.say('start');
    await pass(1_000);
    vi.setSystemTime(Date.now() + 45 * MINUTE);
    await pass(10_000);
    one.ping();
    await pass(4.9 * MINUTE);
    expect(one.ended()).toBe(false);
    one.say('block', 'closed', 'stop');
    await pass(6 * MINUTE);
    expect(await one.outcome).toBe('whole');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('by a clock that is set back, or a process that was busy for some seconds, is no reason to end it', async () => {
    const one = call(LIMITS);
    one.say('start');
    await pass(1_000);
    vi.setSystemTime(Date.now() - 45 * MINUTE);
    await pass(4_000);
    vi.setSystemTime(Date.now() + 20_000);
    await pass(4.5 * MINUTE);
    expect(one.ended()).toBe(false);
  });

  test('of events for an hour is given up, however it pings (X4)', async () => {
    const one = call(LIMITS);
    one.say('start');
    for (let n = 0; n < 61; n += 1) {
      await pass(MINUTE);
      one.ping();
    }
    expect(String(await one.outcome)).toContain('open for 3600 s without an event');
  });

  test('after it said why it stops is whole, and not asked again (X4)', async () => {
    const one = call(LIMITS);
    one.say('start', 'block', 'closed', 'stop');
    await pass(5.1 * MINUTE);
    expect(await one.outcome).toBe('whole');
    expect(one.into.message()).toMatchObject({ stop_reason: 'end_turn', content: [{ text: 'Hi.' }] });
  });

  test('is measured in a run of a release that had one limit by that and by the default for the other (X4 L57)', () => {
    expect(waitLimitsOf({ stallMs: 120_000 })).toEqual({ firstByteMs: 10 * MINUTE, stallMs: 120_000 });
  });
});

test('a ping, which the SDK keeps to itself, is told of as any other byte; the header of an answer is not (X4)', async () => {
  vi.useRealTimers();
  let sent: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({ start: (controller) => void (sent = controller) });
  const fetch = () => Promise.resolve(new Response(stream, { headers: { 'content-type': 'text/event-stream' } }));
  const model = anthropicModel(new Anthropic({ apiKey: 'k', baseURL: 'http://model.invalid', logLevel: 'off', fetch }));
  let told = 0;
  const answer = await model(body, new AbortController().signal, () => void (told += 1));
  expect(told).toBe(0);
  const first = answer[Symbol.asyncIterator]().next();
  sent?.enqueue(Buffer.from('event: ping\ndata: {"type":"ping"}\n\n'));
  await vi.waitFor(() => expect(told).toBe(1));
  sent?.close();
  expect(await first).toMatchObject({ done: true });
});
