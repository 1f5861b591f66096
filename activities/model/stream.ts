// One streamed request, from first byte to message_stop. The stall timer runs on events: pings keep bytes flowing but are none.
import Anthropic, { AnthropicError } from '@anthropic-ai/sdk';
import type { Message, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import { GarbledStream, type Accumulator, type BlockState } from './accumulate.ts';
import { StalledStream } from './classify.ts';
import type { ModelRequest, ModelPort } from '../deps.ts';
import { TASK_BUDGETS_BETA, THINKING_BINDING_BETA } from './request.ts';

/** The official SDK, its own retries off: Temporal alone retries (L14). */
export function anthropicModel(client: Anthropic): ModelPort {
  return (body, signal) => {
    const betas = [
      ...(body.output_config?.task_budget ? [TASK_BUDGETS_BETA] : []),
      ...(body.thinking?.block_binding ? [THINKING_BINDING_BETA] : []),
    ];
    const headers = betas.length > 0 ? { 'anthropic-beta': betas.join(',') } : {};
    return client.messages.create(body, { signal, headers, maxRetries: 0, timeout: 24 * 3_600_000 });
  };
}

export type StreamHandlers = {
  onStart(usage: Message['usage']): void;
  onText(index: number, text: string): void;
  onThinking(index: number, text: string): void;
  onBlock(index: number, state: BlockState): void;
};

/**
 * Streams until message_stop or until `signal` aborts, feeding `into`. Throws what `classify` understands when the attempt
 * died, and nothing when it was aborted: the caller knows why it was.
 */
export async function streamReply(
  model: ModelPort,
  body: ModelRequest,
  into: Accumulator,
  { signal, stallMs }: { readonly signal: AbortSignal; readonly stallMs: number },
  handlers: StreamHandlers,
): Promise<void> {
  const stall = new AbortController();
  const stalled = (): void => stall.abort(new StalledStream(`no event from the model for ${stallMs / 1_000} s`));
  let timer = setTimeout(stalled, stallMs);
  const either = AbortSignal.any([signal, stall.signal]);
  try {
    const stream = await opened(model(body, either));
    for await (const event of brokenAsGarbled(stream)) {
      clearTimeout(timer);
      timer = setTimeout(stalled, stallMs);
      feed(into, event, handlers);
      if (into.ended || signal.aborted) break;
    }
    if (!into.ended && !signal.aborted) {
      throw stall.signal.reason ?? new GarbledStream('the stream was cut before its end');
    }
  } catch (error) {
    if (signal.aborted) return;
    throw stall.signal.aborted ? stall.signal.reason : error;
  } finally {
    clearTimeout(timer);
  }
}

function feed(into: Accumulator, event: RawMessageStreamEvent, handlers: StreamHandlers): void {
  const done = into.push(event);
  if (event.type === 'message_start') handlers.onStart(event.message.usage);
  if (event.type === 'content_block_delta') {
    if (event.delta.type === 'text_delta') handlers.onText(event.index, event.delta.text);
    if (event.delta.type === 'thinking_delta') handlers.onThinking(event.index, event.delta.thinking);
  }
  if (done) handlers.onBlock(done.index, done.state);
}

/** Turns the errors that fetch and the SDK throw when bytes stop or are broken into one failure; the SDK's own errors stay. */
async function* brokenAsGarbled<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await opened(iterator.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // A connection that breaks after its last event takes nothing of the reply with it.
    await iterator.return?.().catch(() => undefined);
  }
}

async function opened<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof AnthropicError || !(error instanceof Error)) throw error;
    // The words of JSON.parse hold a piece of the text, perhaps of a key.
    const why = error instanceof SyntaxError ? 'an event is no JSON' : error.message;
    throw new GarbledStream(`the stream broke: ${why}`, { cause: error });
  }
}
