// Reads one streamed request from its first byte to its end. Any byte keeps it alive, including the
// pings that the SDK does not pass on.
import type { Anthropic, Middleware } from '@anthropic-ai/sdk';
import { AnthropicError } from '@anthropic-ai/sdk/core/error';
import type { Message, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import { type Accumulator, type BlockState, GarbledStream, UnusableReply } from './accumulate.ts';
import { StalledStream } from '../classify.ts';
import type { ModelPort, ModelRequest } from '../../model-deps.ts';
import { betasOf } from '../request.ts';
import { listenForWakes } from '../../../system/async.ts';
import { PartedBody } from '../../../system/network.ts';

/** Wraps the official SDK with its own retries off: Temporal alone retries (L14). */
export function anthropicModel(client: Anthropic): ModelPort {
  return (body, signal, alive = () => {}) => {
    const betas = betasOf(body);
    const headers = {
      'content-type': 'application/json',
      ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
    };
    const middleware = [createByteReporter(alive)];
    const options = { signal, headers, middleware, maxRetries: 0, timeout: 24 * 3_600_000 };
    // `client.messages.create` would write the whole conversation as one text.
    return client.post('/v1/messages', { ...options, body: encodeRequest(body), stream: true });
  };
}

/**
 * Reports each byte of the body. Headers do not count, since servers send them before they look at
 * the prompt.
 */
function createByteReporter(alive: () => void): Middleware {
  return async (request, next) => {
    const response = await next(request);
    if (response.body === null) return response;
    const reporter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        alive();
        controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(reporter), { status, statusText, headers });
  };
}

type StreamHandlers = {
  onStart(usage: Message['usage']): void;
  onText(index: number, text: string): void;
  onThinking(index: number, text: string): void;
  onBlock(index: number, state: BlockState): void;
};

/** Limits in milliseconds. */
export type StreamLimits = {
  /** The wait for the first byte of the body: a cold start or a long prompt may take minutes. */
  readonly firstByteMs: number;
  /** The longest silence between two bytes after it. */
  readonly stallMs: number;
  /** The longest time for the whole request, even while it progresses. Absent: unlimited. */
  readonly requestMs?: number;
};

type StreamedRequest = StreamLimits & {
  readonly model: ModelPort;
  readonly body: ModelRequest;
  readonly signal: AbortSignal;
};

/**
 * Milliseconds in which a stream must show that it has outlived a sleep of the machine: most have
 * not, and their end never arrives. Servers send pings more often.
 */
const WAKE_MS = 20_000;

/** The longest that a reply can think without an event: 128,000 tokens at some 40 a second. */
const MOST_EVENT_MS = 3_600_000;

/**
 * Streams into `into` until the reply ends or `signal` aborts. Throws errors that `classify`
 * understands when the attempt died, and nothing when it was aborted, since the caller knows the
 * reason.
 */
export async function streamReply(
  { model, body, signal, ...limits }: StreamedRequest,
  into: Accumulator,
  handlers: StreamHandlers,
): Promise<void> {
  const life = watchLife(limits);
  const either = AbortSignal.any([signal, life.signal]);
  try {
    const stream = await openStream(model(body, either, life.byte));
    for await (const event of brokenAsGarbled(stream)) {
      life.event();
      feedEvent(into, event, handlers);
      if (into.ended || signal.aborted) break;
    }
    if (!signal.aborted && !into.close()) {
      throw life.signal.reason ?? new GarbledStream('the stream was cut before its end');
    }
  } catch (error) {
    // Some servers stay silent, or hang up, where message_stop was due (X4).
    if (signal.aborted || (isCut(error, life.signal) && into.close())) return;
    throw life.signal.aborted ? life.signal.reason : error;
  } finally {
    life.end();
  }
}

/** Tells silence from a broken stream. */
function isCut(error: unknown, life: AbortSignal): boolean {
  return life.aborted || (error instanceof GarbledStream && error.cause instanceof TypeError);
}

type Life = { readonly signal: AbortSignal; byte(): void; event(): void; end(): void };

/**
 * Watches a stream. The returned signal aborts with a reason when it was silent or took too long.
 */
function watchLife({ firstByteMs, stallMs, requestMs }: StreamLimits): Life {
  const stall = new AbortController();
  const within = (ms: number, what: string): NodeJS.Timeout =>
    setTimeout(() => stall.abort(new StalledStream(what)), ms);
  const seconds = (ms: number): string => `${ms / 1_000} s`;
  let bytes = within(
    firstByteMs,
    `the model sent nothing for ${seconds(firstByteMs)} (\`firstByteMs\` of the configuration)`,
  );
  const events = within(MOST_EVENT_MS, `the model kept the stream open for ${seconds(MOST_EVENT_MS)} without an event`);
  const whole =
    requestMs === undefined
      ? undefined
      : within(requestMs, `the reply was not whole within ${seconds(requestMs)} (\`requestMs\` of the configuration)`);
  /** `bytes` is the limit between two bytes, and each refreshes it. */
  let isKept = false;
  const wakes = listenForWakes((ms) => {
    isKept = false;
    clearTimeout(bytes);
    const slept = `this machine slept, or its clock was set, by ${seconds(Math.round(ms / 1_000) * 1_000)}`;
    bytes = within(WAKE_MS, `${slept}, and nothing came from the model for ${seconds(WAKE_MS)} after that`);
  });
  const byte = (): void => {
    if (isKept) return void bytes.refresh();
    isKept = true;
    clearTimeout(bytes);
    bytes = within(
      stallMs,
      `no byte from the model for ${seconds(stallMs)} in the middle of a reply (\`stallMs\` of the configuration)`,
    );
  };
  return {
    signal: stall.signal,
    byte,
    event() {
      byte();
      events.refresh();
    },
    end() {
      wakes.stop();
      clearTimeout(bytes);
      clearTimeout(events);
      clearTimeout(whole);
    },
  };
}

function feedEvent(into: Accumulator, event: RawMessageStreamEvent, handlers: StreamHandlers): void {
  const done = into.push(event);
  if (event.type === 'message_start') handlers.onStart(event.message.usage);
  if (event.type === 'content_block_delta') {
    if (event.delta.type === 'text_delta') handlers.onText(event.index + into.before, event.delta.text);
    if (event.delta.type === 'thinking_delta') handlers.onThinking(event.index + into.before, event.delta.thinking);
  }
  if (done) handlers.onBlock(done.index, done.state);
}

/**
 * Turns the errors that fetch and the SDK throw when bytes stop or are broken into one failure; the
 * SDK's own errors stay.
 */
async function* brokenAsGarbled<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await openStream(iterator.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // A connection that breaks after its last event does not harm the reply.
    await iterator.return?.().catch(() => undefined);
  }
}

async function openStream<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof AnthropicError || error instanceof UnusableReply || !(error instanceof Error)) throw error;
    // The message of JSON.parse quotes the text, which may hold a key.
    const why = error instanceof SyntaxError ? 'an event is no JSON' : error.message;
    throw new GarbledStream(`the stream broke: ${why}`, { cause: error });
  }
}

/** The JSON of each message, which never changes. */
const known = new WeakMap<object, Buffer>();

const COMMA = Buffer.from(',');

/**
 * Writes a request as JSON, in UTF-8. A conversation is sent anew with each request, and grows: a
 * message that was sent before is not written again.
 */
export function encodeRequest({ messages, ...fields }: ModelRequest): PartedBody {
  const parts: Buffer[] = [Buffer.from(`${JSON.stringify(fields).slice(0, -1)},"messages":[`)];
  for (const [index, message] of messages.entries()) {
    if (index > 0) parts.push(COMMA);
    parts.push(encodeMessage(message));
  }
  parts.push(Buffer.from(']}'));
  return new PartedBody(parts);
}

function encodeMessage(message: object): Buffer {
  const found = known.get(message);
  if (found) return found;
  const bytes = Buffer.from(JSON.stringify(message));
  known.set(message, bytes);
  return bytes;
}
